"""What `crosslog dump-log` prints, and with which code it ends."""

import json

import pytest

from jobs.cli import main
from jobs.wire.batches.records import PlacedRecord, encode_batch
from jobs.wire.metadata.records import encode_metadata_record
from jobs.wire.mirror_records import OffsetSync, encode_offset_sync
from tests.jobs.wire.kraft_dump import expected_dump
from tests.jobs.wire.metadata_values import TIME, control_batch, data_batch, log_of
from tests.support import METADATA_FOLDER

NAME = "00000000000000000000.log"


@pytest.fixture
def dump(tmp_path, capsys):
    """Dump a file with these bytes; returns exit code, output and errors."""

    def dump(content, *more, name=NAME):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        return main(["dump-log", str(path), *more]), *capsys.readouterr()

    return dump


def rows(out):
    return [json.loads(line) for line in out.splitlines()]


def test_real_files_are_printed_as_kafka_dump_log_prints_them(capsys):
    files = sorted(
        path for path in METADATA_FOLDER.iterdir() if path.suffix in {".log", ".checkpoint"}
    )
    assert main(["dump-log", "--json", *map(str, files)]) == 0
    printed = rows(capsys.readouterr().out)
    dumped = expected_dump()
    for path in files:
        ours = [one for one in printed if one["file"] == str(path)]
        assert [(one["offset"], one["timestamp_ms"], one["type"], one["data"]) for one in ours] == (
            dumped[path.name].records
        )


def test_a_json_line_says_where_its_record_is(dump):
    code, out, errors = dump(control_batch(0, ("KRAFT_VERSION", {"kRaftVersion": 1})), "--json")
    (row,) = rows(out)
    assert row.pop("file").endswith(NAME)
    assert row == {
        "offset": 0,
        "type": "KRAFT_VERSION",
        "version": 0,
        "data": {"version": 0, "kRaftVersion": 1},
        "epoch": 7,
        "timestamp_ms": TIME,
        "is_control": True,
        "batch_offset": 0,
        "position": 0,
    }
    assert (code, errors) == (0, "")


def test_people_see_batches_and_their_records(dump):
    code, out, _ = dump(b"".join(log_of(0, 1)))
    lines = out.splitlines()
    assert code == 0
    assert lines[0].endswith("log of metadata from offset 0")
    assert lines[1].startswith(
        "batch 0 to 1 at byte 0: epoch 7, 2023-11-14T22:13:20.000Z, 2 records"
    )
    assert lines[2:] == ["  0 NO_OP_RECORD v0 {}", "  1 NO_OP_RECORD v0 {}"]


def test_secrets_are_not_printed(dump):
    told = {"resourceType": 4, "resourceName": "1", "name": "ssl.key.password", "value": "hush"}
    content = data_batch(0, [encode_metadata_record("CONFIG_RECORD", 0, told)])
    for more in ([], ["--json"]):
        _, out, _ = dump(content, *more)
        assert "hush" not in out
        assert "(redacted)" in out


def test_damage_is_a_finding_and_the_rest_is_printed(dump):
    first, second, third = log_of(0, 3)
    content = first + second[:-1] + b"\xff" + third
    code, out, errors = dump(content, "--json")
    told = rows(out)
    assert code == 1
    assert [one.get("damage", one["offset"]) for one in told] == [0, 1, "wrong_crc", 4, 5]
    assert "1 places are damaged" in errors
    assert "DAMAGE wrong_crc at byte" in dump(content)[1]


def test_an_unfinished_end_of_the_newest_segment_is_told_and_no_finding(dump):
    content = b"".join(log_of(0, 2))
    code, out, errors = dump(content[:-5], "--json")
    assert (code, rows(out)[-1]["tail"]) == (0, "truncated_tail")
    assert "normal after a kill, before offset 2: " in errors
    assert "TAIL truncated_tail at byte" in dump(content[:-5])[1]


def test_strict_reading_stops_at_the_first_damage(dump):
    first, second, third = log_of(0, 3)
    code, out, errors = dump(first + second[:-1] + b"\xff" + third, "--json", "--strict")
    assert code == 1
    assert [one["offset"] for one in rows(out)] == [0, 1]
    assert "wrong_crc" in errors


def test_unknown_records_and_tags_are_counted_and_no_finding(dump):
    tagged = encode_metadata_record("NO_OP_RECORD", 0, {}, {100: b"secret"})
    code, out, errors = dump(data_batch(0, [b"\1\x63\2secret", tagged]), "--json")
    told = rows(out)
    assert code == 0
    assert told[0]["data"] == {"apiKey": 99, "sizeBytes": 6}
    assert told[1]["unknown_tags"] == [{"path": "", "tag": 100, "size_bytes": 6}]
    assert "apiKey 99 version 2" in errors
    assert "1 tagged fields" in errors
    assert "secret" not in out


def test_a_snapshot_without_a_footer_is_a_finding(dump):
    content = control_batch(0, ("SNAPSHOT_HEADER", {"lastContainedLogTimestamp": 5}))
    name = "00000000000000000010-0000000001.checkpoint"
    code, out, _ = dump(content, "--json", name=name)
    assert (code, rows(out)[-1]["damage"]) == (1, "unusable_snapshot")
    code, _, errors = dump(content, "--strict", name=name)
    assert (code, "never finished" in errors) == (1, True)


SYNCS = encode_batch([PlacedRecord(5, TIME, *encode_offset_sync(OffsetSync("orders", 0, 1, 2)))])


@pytest.mark.parametrize(
    ("name", "more"),
    [
        (f"mm2-offset-syncs.west.internal-0/{NAME}", []),
        (NAME, ["--records", "offset-syncs"]),
    ],
    ids=["by the folder", "by the option"],
)
def test_other_internal_logs_are_read(dump, name, more):
    code, out, _ = dump(SYNCS, "--json", *more, name=name)
    (row,) = rows(out)
    assert (code, row["offset"], row["type"]) == (0, 5, "OFFSET_SYNC")
    assert row["data"]["downstreamOffset"] == 2


@pytest.mark.parametrize(
    ("content", "name", "problem"),
    [
        (b"node.id=1\n" * 20, "meta.properties", "it is no log"),
        (b"\1" * 99, "photo.jpg", "it is no log"),
    ],
)
def test_a_file_of_something_else_is_bad_input(dump, content, name, problem):
    code, _, errors = dump(content, name=name)
    assert (code, problem in errors) == (2, True)


@pytest.mark.parametrize("name", ["absent", "."])
def test_what_cannot_be_opened_is_bad_input(tmp_path, capsys, name):
    assert main(["dump-log", str(tmp_path / name)]) == 2
    assert str(tmp_path) in capsys.readouterr().err


def test_an_empty_segment_is_no_finding(dump):
    assert dump(b"", "--json") == (0, "", "")
