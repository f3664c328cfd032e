"""A metadata log recorded as that of tests/conformance/kraft_log, with a beginning that was deleted."""

import hashlib

import pytest

from jobs.quorum.log.folder import read_folder
from tests.jobs.wire.kraft_dump import expected_dump, read_as_dumped
from tools.recording.case_files import read_json
from tools.recording.kraft_log import record_kraft_log

pytestmark = pytest.mark.timeout(900)


@pytest.fixture(scope="module")
def recorded(kafka, tmp_path_factory):
    folder = tmp_path_factory.mktemp("recorded")
    record_kraft_log(kafka.release.version, folder)
    return folder


def test_every_file_is_read_as_kafka_dump_log_prints_it(recorded):
    dumped = expected_dump(recorded)
    log = recorded / "node-1" / "__cluster_metadata-0"
    assert {one.suffix for one in log.iterdir()} == {".log", ".checkpoint", ".metadata", ""}
    assert set(dumped) == {
        one.name for one in log.iterdir() if one.suffix in {".log", ".checkpoint"}
    }
    assert {name: read_as_dumped((log / name).read_bytes()) for name in dumped} == dumped


def test_the_log_has_no_beginning_and_no_damage(recorded):
    folder = read_folder(recorded / "node-1")
    assert folder.findings == ()
    assert folder.log_start_offset == read_json(recorded / "facts.json")["log_start_offset"] > 0


def test_the_recording_has_what_the_story_says(recorded):
    records = [record for one in expected_dump(recorded).values() for record in one.records]
    principals = {
        data["principal"] for *_, kind, data in records if kind == "ACCESS_CONTROL_ENTRY_RECORD"
    }
    assert principals == {"User:bob", "User:carol"}
    sums = [line.split("  ") for line in (recorded / "sha256.txt").read_text("utf-8").splitlines()]
    assert len(sums) == sum(path.is_file() for path in (recorded / "node-1").rglob("*"))
    assert all(
        hashlib.sha256((recorded / name).read_bytes()).hexdigest() == one for one, name in sums
    )
