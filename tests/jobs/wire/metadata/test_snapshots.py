"""Snapshots: names, the frame from header to footer, and what is written."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.wire.batches.log_batches import BytesSource
from jobs.wire.errors import RecordFormatError
from jobs.wire.metadata.log import LogRecord, read_log
from jobs.wire.metadata.records import encode_metadata_record
from jobs.wire.metadata.snapshots import (
    SnapshotName,
    check_snapshot,
    parse_segment_name,
    parse_snapshot_name,
    read_bootstrap_features,
)
from tests.examples import examples
from tests.jobs.wire.metadata.snapshot_writer import (
    SnapshotWriter,
    segment_file_name,
    snapshot_file_name,
)
from tests.jobs.wire.metadata_values import NO_OP, control_batch, data_batch
from tests.support import KRAFT_LOG, METADATA_FOLDER, conformance_cases

FILE = "kraft_vectors"
VOTERS = [{"voterId": 1, "voterDirectoryId": "AAAAAAAAAAAAAAAAAAAATQ"}]


def check(content: bytes):
    return check_snapshot(BytesSource(content))


def writer(**changes) -> SnapshotWriter:
    return SnapshotWriter(epoch=3, last_contained_log_timestamp_ms=0xDEADBEEF, **changes)


def types(content: bytes) -> list[list[str]]:
    """The record types of each batch."""
    batches: dict[int, list[str]] = {}
    for found in read_log(content, strict=True):
        assert isinstance(found, LogRecord)
        batches.setdefault(found.position, []).append(found.type)
    return list(batches.values())


@pytest.mark.parametrize("case", conformance_cases(FILE, "file_name"))
def test_names_say_what_a_file_is(case):
    expected = case["expected"]
    snapshot = parse_snapshot_name(case["name"])
    if expected.get("type") == "snapshot":
        deleted = expected.get("deleted", False)
        assert snapshot == SnapshotName(expected["offset"], expected["epoch"], is_deleted=deleted)
    else:
        assert snapshot is None
    if expected.get("type") == "log":
        assert parse_segment_name(case["name"]) == expected["base_offset"]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (
            "00000000000000000010-0000000001-8253421.checkpoint.part",
            SnapshotName(10, 1, is_partial=True),
        ),
        ("00000000000000000010-0000000001.checkpoint.part", SnapshotName(10, 1, is_partial=True)),
        ("0000000000000000010-0000000001.checkpoint", None),
        ("99999999999999999999-0000000001.checkpoint", None),
        ("00000000000000000010-9999999999.checkpoint", None),
        ("00000000000000000010-0000000001.checkpoint.old", None),
        ("../00000000000000000010-0000000001.checkpoint", None),
    ],
)
def test_names_that_are_nearly_those_of_snapshots(name, expected):
    assert parse_snapshot_name(name) == expected


@given(st.integers(0, 2**63 - 1), st.integers(0, 2**31 - 1))
def test_names_are_read_as_they_are_written(offset, epoch):
    assert parse_snapshot_name(snapshot_file_name(offset, epoch)) == SnapshotName(offset, epoch)
    assert parse_segment_name(segment_file_name(offset)) == offset


@pytest.mark.parametrize("case", conformance_cases(FILE, "snapshot"))
def test_the_snapshot_of_the_vectors_is_whole(case):
    content, expected = bytes.fromhex(case["hex"]), case["expected"]
    name = parse_snapshot_name(case["file_name"])
    assert (name.offset, name.epoch) == (expected["end_offset"], expected["epoch"])
    checked = check(content)
    assert checked.problem is None
    assert checked.batches == expected["batches"]
    assert checked.last_contained_log_timestamp_ms == expected["last_contained_log_timestamp"]
    read = list(read_log(content, strict=True))
    numbers = {"SNAPSHOT_HEADER": 3, "SNAPSHOT_FOOTER": 4, "KRAFT_VERSION": 5, "KRAFT_VOTERS": 6}
    assert [numbers[one.type] for one in read] == expected["control_types"]
    assert read[1].data["kRaftVersion"] == expected["kraft_version"]
    ids = [voter["voter_id"] for voter in expected["voters"]]
    assert [voter["voterId"] for voter in read[2].data["voters"]] == ids


def test_real_snapshots_are_whole():
    found = sorted(METADATA_FOLDER.glob("*.checkpoint"))
    assert [check(path.read_bytes()).problem for path in found] == [None] * 3


@pytest.mark.parametrize(
    ("settings", "first"),
    [
        ({}, ["SNAPSHOT_HEADER"]),
        ({"kraft_version": 1}, ["SNAPSHOT_HEADER", "KRAFT_VERSION"]),
        (
            {"kraft_version": 1, "voters": VOTERS},
            ["SNAPSHOT_HEADER", "KRAFT_VERSION", "KRAFT_VOTERS"],
        ),
    ],
    ids=["static", "version", "version and voters"],
)
def test_a_snapshot_begins_with_what_its_quorum_knows(settings, first):
    assert types(writer(**settings).freeze()) == [first, ["SNAPSHOT_FOOTER"]]


def test_voters_without_a_kraft_version_are_refused():
    with pytest.raises(ValueError, match="no voters"):
        writer(voters=VOTERS)


def test_an_empty_snapshot_has_two_records_and_keeps_its_time():
    content = writer().freeze()
    assert len(list(read_log(content))) == 2
    assert check(content).last_contained_log_timestamp_ms == 0xDEADBEEF


def test_three_batches_of_three_records_make_eleven():
    snapshot = writer()
    for _ in range(3):
        snapshot.append([NO_OP] * 3)
    content = snapshot.freeze()
    assert [one.offset for one in read_log(content, strict=True)] == list(range(11))
    assert check(content).problem is None


def test_nothing_is_appended_to_a_finished_snapshot():
    snapshot = writer()
    snapshot.freeze()
    with pytest.raises(RuntimeError, match="finished"):
        snapshot.append([NO_OP])


HEADER = control_batch(0, ("SNAPSHOT_HEADER", {"lastContainedLogTimestamp": 5}))
FOOTER = control_batch(1, ("SNAPSHOT_FOOTER", {}))


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        pytest.param(b"", "never finished", id="empty"),
        pytest.param(HEADER, "never finished", id="no footer"),
        pytest.param(HEADER + data_batch(1, [NO_OP]), "never finished", id="data at the end"),
        pytest.param(data_batch(0, [NO_OP]) + FOOTER, "does not begin", id="no header"),
        pytest.param(control_batch(0, ("KRAFT_VERSION", {})) + FOOTER, "not begin", id="version"),
        pytest.param(HEADER + FOOTER + data_batch(2, [NO_OP]), "behind the footer", id="behind"),
        pytest.param(HEADER[:-1] + b"\1" + FOOTER, "at byte 0", id="wrong CRC"),
        pytest.param(HEADER + FOOTER[:-1], f"at byte {len(HEADER)}", id="cut off"),
    ],
)
def test_a_snapshot_without_its_frame_is_not_whole(content, problem):
    assert problem in check(content).problem


@given(st.data())
@examples(60)
def test_every_flipped_bit_that_a_crc_covers_is_found(data):
    snapshot = writer(kraft_version=1, voters=VOTERS)
    snapshot.append([NO_OP] * 3)
    content = bytearray(snapshot.freeze())
    at = data.draw(st.integers(8 * 16, 8 * 60))
    content[at // 8] ^= 1 << at % 8
    assert check(bytes(content)).problem


def test_a_bootstrap_file_names_features():
    snapshot = writer()
    level = {"name": "metadata.version", "featureLevel": 30}
    snapshot.append([encode_metadata_record("FEATURE_LEVEL_RECORD", 0, level)])
    content = snapshot.freeze()
    assert read_bootstrap_features(list(read_log(content))) == {"metadata.version": 30}
    with pytest.raises(RecordFormatError, match="left out"):
        read_bootstrap_features(list(read_log(content[:-1])))


def test_a_real_bootstrap_file_names_its_features():
    content = (KRAFT_LOG / "bootstrap.checkpoint").read_bytes()
    features = read_bootstrap_features(list(read_log(content, strict=True)))
    assert (features["metadata.version"], features["eligible.leader.replicas.version"]) == (30, 1)
