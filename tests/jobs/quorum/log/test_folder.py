"""A log folder as one history: which snapshot begins it, what is missing, what is damaged."""

import json
import os
import shutil
import tempfile
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.quorum.log.folder import BadFolder, read_folder
from jobs.wire.batches.log_batches import DamageKind, LogDamage
from jobs.wire.metadata.log import Gap, LogRecord
from jobs.wire.metadata.records import encode_metadata_record
from tests.examples import examples
from tests.jobs.wire.kraft_dump import expected_dump
from tests.jobs.wire.metadata.snapshot_writer import (
    SnapshotWriter,
    segment_file_name,
    snapshot_file_name,
)
from tests.jobs.wire.metadata_values import data_batch, log_of
from tests.support import KRAFT_LOG, METADATA_FOLDER

BATCH_BYTES = len(log_of(0, 1)[0])
SNAPSHOT_TIME = 1_699_999_999_000


def write_segment(folder, start, count, *, end=b""):
    """A segment of `count` batches of two records each."""
    (folder / segment_file_name(start)).write_bytes(b"".join(log_of(start, count)) + end)


def write_snapshot(folder, offset, *, epoch=7, cut=None):
    writer = SnapshotWriter(
        epoch=epoch, last_contained_log_timestamp_ms=SNAPSHOT_TIME, written_at_ms=SNAPSHOT_TIME + 9
    )
    writer.append([encode_metadata_record("TOPIC_RECORD", 0, {"name": f"at-{offset}"})])
    (folder / snapshot_file_name(offset, epoch)).write_bytes(writer.freeze()[:cut])


def story(folder, from_offset=None) -> list:
    """The history in short: ("snapshot", offset), offsets of records as ranges, gaps, kinds of damage."""
    told: list = []
    for found in read_folder(folder).records(from_offset):
        if isinstance(found, Gap):
            told.append(("gap", found.from_offset, found.to_offset))
        elif isinstance(found, LogDamage):
            told.append((str(found.kind), found.file))
        elif found.type == "SNAPSHOT_HEADER":
            told.append(("snapshot", found.offset + 1))
        elif found.timestamp_ms == SNAPSHOT_TIME:
            continue
        elif told and told[-1][0] == "records" and told[-1][2] == found.offset:
            told[-1] = ("records", told[-1][1], found.offset + 1)
        else:
            told.append(("records", found.offset, found.offset + 1))
    return told


def test_a_log_from_the_start_needs_no_snapshot(tmp_path):
    write_segment(tmp_path, 0, 3)
    write_segment(tmp_path, 6, 2)
    write_snapshot(tmp_path, 6)
    assert story(tmp_path) == [("records", 0, 10)]


def test_the_first_snapshot_of_a_quorum_begins_its_history(tmp_path):
    write_segment(tmp_path, 0, 3)
    write_snapshot(tmp_path, 0, epoch=0)
    assert story(tmp_path) == [("snapshot", 0), ("records", 0, 6)]
    first = next(read_folder(tmp_path).records())
    assert (first.offset, first.epoch) == (-1, 0)


def test_a_log_that_was_cut_begins_with_its_oldest_snapshot(tmp_path):
    write_segment(tmp_path, 10, 5)
    write_snapshot(tmp_path, 13)
    write_snapshot(tmp_path, 17)
    assert story(tmp_path) == [("snapshot", 13), ("records", 13, 20)]
    assert read_folder(tmp_path).log_start_offset == 13


def test_records_of_a_snapshot_have_its_place_and_its_one_time(tmp_path):
    write_segment(tmp_path, 10, 2)
    write_snapshot(tmp_path, 10, epoch=4)
    records = list(read_folder(tmp_path).records())[:3]
    assert [one.type for one in records] == ["SNAPSHOT_HEADER", "TOPIC_RECORD", "SNAPSHOT_FOOTER"]
    assert {(one.offset, one.epoch, one.timestamp_ms) for one in records} == {(9, 4, SNAPSHOT_TIME)}


def test_a_damaged_snapshot_is_named_and_the_next_one_taken(tmp_path):
    write_segment(tmp_path, 10, 5)
    write_snapshot(tmp_path, 12, cut=-10)
    write_snapshot(tmp_path, 14)
    name = snapshot_file_name(12, 7)
    assert story(tmp_path) == [("unusable_snapshot", name), ("snapshot", 14), ("records", 14, 20)]


def test_without_a_usable_snapshot_the_beginning_is_unknown(tmp_path):
    write_segment(tmp_path, 10, 2)
    assert story(tmp_path) == [("gap", 0, 10), ("records", 10, 14)]


def test_a_missing_segment_is_a_gap(tmp_path):
    write_segment(tmp_path, 0, 2)
    write_segment(tmp_path, 10, 2)
    assert story(tmp_path) == [("records", 0, 4), ("gap", 4, 10), ("records", 10, 14)]


def test_snapshots_inside_a_gap_tell_what_was_true_there(tmp_path):
    write_segment(tmp_path, 0, 2)
    for offset in (2, 6, 8):
        write_snapshot(tmp_path, offset)
    write_segment(tmp_path, 10, 2)
    assert story(tmp_path) == [
        ("records", 0, 4),
        ("gap", 4, 6),
        ("snapshot", 6),
        ("gap", 6, 8),
        ("snapshot", 8),
        ("gap", 8, 10),
        ("records", 10, 14),
    ]


def test_behind_a_gap_the_next_snapshot_makes_it_whole_again(tmp_path):
    write_segment(tmp_path, 0, 2)
    write_segment(tmp_path, 10, 3)
    for offset in (12, 14):
        write_snapshot(tmp_path, offset)
    assert story(tmp_path) == [
        ("records", 0, 4),
        ("gap", 4, 10),
        ("records", 10, 12),
        ("snapshot", 12),
        ("records", 12, 16),
    ]


def test_a_snapshot_older_than_all_segments_begins_with_a_gap_behind_it(tmp_path):
    write_segment(tmp_path, 10, 2)
    write_snapshot(tmp_path, 6)
    assert story(tmp_path) == [("snapshot", 6), ("gap", 6, 10), ("records", 10, 14)]


def test_snapshots_alone_are_a_history_with_gaps(tmp_path):
    for offset in (5, 9):
        write_snapshot(tmp_path, offset)
    assert story(tmp_path) == [("snapshot", 5), ("gap", 5, 9), ("snapshot", 9)]


def test_damage_inside_a_segment_is_named_and_its_offsets_are_a_gap(tmp_path):
    write_segment(tmp_path, 0, 4)
    path = tmp_path / segment_file_name(0)
    content = bytearray(path.read_bytes())
    content[BATCH_BYTES + 65] ^= 1
    path.write_bytes(content)
    assert story(tmp_path) == [
        ("records", 0, 2),
        ("wrong_crc", path.name),
        ("gap", 2, 4),
        ("records", 4, 8),
    ]


@pytest.mark.parametrize("cut", [1, 30, 61, 70])
def test_a_batch_that_a_node_is_writing_is_the_end_of_the_log_and_no_damage(tmp_path, cut):
    write_segment(tmp_path, 0, 2, end=log_of(4, 1)[0][:cut])
    assert story(tmp_path) == [("records", 0, 4), ("truncated_tail", segment_file_name(0))]
    *_, tail = read_folder(tmp_path).records()
    assert (tail.is_tail, tail.expected, tail.position) == (True, 4, 2 * BATCH_BYTES)


def test_reserved_space_behind_a_segment_that_the_next_one_follows_loses_nothing(tmp_path):
    write_segment(tmp_path, 0, 2, end=b"\0" * 4096)
    write_segment(tmp_path, 4, 1)
    assert story(tmp_path) == [
        ("records", 0, 4),
        ("zero_tail", segment_file_name(0)),
        ("records", 4, 6),
    ]


def test_a_cut_batch_in_an_older_segment_is_damage(tmp_path):
    write_segment(tmp_path, 0, 2, end=log_of(4, 1)[0][:30])
    write_segment(tmp_path, 6, 1)
    told = story(tmp_path)
    assert ("cut_off", segment_file_name(0)) in told
    assert ("gap", 4, 6) in told


def test_a_first_batch_of_another_offset_than_its_file_is_a_gap(tmp_path):
    (tmp_path / segment_file_name(0)).write_bytes(b"".join(log_of(4, 2)))
    assert story(tmp_path) == [("gap", 0, 4), ("records", 4, 8)]


def test_a_batch_that_goes_back_is_damage_and_not_told_twice(tmp_path):
    (tmp_path / segment_file_name(0)).write_bytes(b"".join(log_of(0, 2) + log_of(2, 2)))
    assert story(tmp_path)[1:] == [("wrong_offset", segment_file_name(0)), ("records", 4, 6)]


@pytest.mark.parametrize(
    ("from_offset", "expected"),
    [
        (0, [("records", 0, 10)]),
        (3, [("records", 3, 10)]),
        (7, [("records", 7, 10)]),
        (10, []),
        (99, []),
    ],
)
def test_reading_can_begin_at_any_offset(tmp_path, from_offset, expected):
    write_segment(tmp_path, 0, 3)
    write_segment(tmp_path, 6, 2)
    write_snapshot(tmp_path, 6)
    assert story(tmp_path, from_offset) == expected


def test_beginning_where_nothing_is_left_tells_the_gap(tmp_path):
    write_segment(tmp_path, 10, 2)
    write_snapshot(tmp_path, 10)
    assert story(tmp_path, 4) == [("gap", 4, 10), ("snapshot", 10), ("records", 10, 14)]


def test_of_two_snapshots_at_one_offset_the_later_epoch_counts(tmp_path):
    write_snapshot(tmp_path, 5, epoch=2)
    write_snapshot(tmp_path, 5, epoch=3)
    assert [one.epoch for one in read_folder(tmp_path).snapshots] == [3]


def test_unfinished_and_deleted_snapshots_are_not_read(tmp_path):
    write_segment(tmp_path, 0, 1)
    (tmp_path / f"{snapshot_file_name(5, 1)}.deleted").write_bytes(b"x")
    (tmp_path / "00000000000000000005-0000000001-77.checkpoint.part").write_bytes(b"x")
    folder = read_folder(tmp_path)
    assert folder.snapshots == ()
    assert "never finished" in folder.findings[0].problem


def test_a_file_that_went_away_is_damage_not_an_exception(tmp_path):
    write_segment(tmp_path, 0, 2)
    write_segment(tmp_path, 4, 2)
    folder = read_folder(tmp_path)
    (tmp_path / segment_file_name(0)).unlink()
    found = list(folder.records())
    assert (found[0].kind, found[0].file) == (DamageKind.UNREADABLE_FILE, segment_file_name(0))
    assert found[1] == Gap(0, 4)


def test_records_that_are_appended_meanwhile_are_left_for_the_next_reading(tmp_path):
    write_segment(tmp_path, 0, 2)
    reading = read_folder(tmp_path).records()
    first = next(reading)
    with (tmp_path / segment_file_name(0)).open("ab") as file:
        file.write(log_of(4, 1)[0])
    assert [one.offset for one in (first, *reading)] == [0, 1, 2, 3]


def test_a_log_that_is_cut_while_it_is_read_ends_the_reading_only(tmp_path):
    path = tmp_path / segment_file_name(0)
    value = encode_metadata_record("NO_OP_RECORD", 0, {}, {100: bytes(60_000)})
    path.write_bytes(b"".join(data_batch(offset, [value]) for offset in range(40)))
    reading = read_folder(tmp_path).records()
    next(reading)
    os.truncate(path, 1000)
    assert all(isinstance(one, LogRecord | LogDamage) for one in reading)


@pytest.mark.slow
def test_a_file_of_two_gigabytes_with_a_hole_is_read_to_its_end(tmp_path):
    path = tmp_path / segment_file_name(0)
    end = b"".join(log_of(6, 2))
    write_segment(tmp_path, 0, 3)
    with path.open("r+b") as file:
        file.seek((2 << 30) - len(end))
        file.write(end)
    told = story(tmp_path)
    assert told == [("records", 0, 6), ("bad_header", path.name), ("records", 6, 10)]


def test_small_files_are_read_and_damaged_ones_are_findings(tmp_path):
    folder = tmp_path / "__cluster_metadata-0"
    folder.mkdir()
    write_segment(folder, 0, 1)
    (folder / "quorum-state").write_bytes(b"{")
    (folder / "leader-epoch-checkpoint").write_bytes(b"0\n1\n3 0\n")
    (tmp_path / "meta.properties").write_bytes(b"version=1\nnode.id=4\n")
    found = read_folder(tmp_path)
    assert (found.path, found.meta_properties.node_id) == (folder, 4)
    assert found.leader_epochs[0].epoch == 3
    assert found.quorum_state is None
    assert [(one.file, "no JSON" in one.problem) for one in found.findings] == [
        ("quorum-state", True)
    ]


@pytest.mark.parametrize("name", ["nothing", "file", "empty"])
def test_what_is_no_log_folder_is_refused_with_a_reason(tmp_path, name):
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(BadFolder, match=name):
        read_folder(tmp_path / name)


def test_a_real_folder_is_one_history(tmp_path):
    folder = read_folder(KRAFT_LOG)
    assert (folder.log_start_offset, folder.findings) == (765, ())
    assert folder.meta_properties.node_id == 1
    assert folder.bootstrap_features["metadata.version"] == 30
    records = list(folder.records())
    assert all(isinstance(one, LogRecord) for one in records)
    snapshot = [one for one in records if one.offset == 764]
    assert len(snapshot) == 179
    assert {one.timestamp_ms for one in snapshot} == {1795245447133}
    behind = [one for one in records if one.offset != 764]
    logs = [dumped for name, dumped in sorted(expected_dump().items()) if name.endswith(".log")]
    dumped = [record for log in logs for record in log.records if record[0] >= 765]
    assert [(one.offset, one.timestamp_ms, one.type, one.data) for one in behind] == dumped


@given(st.data())
@examples(40)
def test_a_real_folder_in_any_state_of_damage_is_read_without_an_exception(data):
    with tempfile.TemporaryDirectory() as temporary:
        copy = Path(shutil.copytree(KRAFT_LOG, Path(temporary) / "copy"))
        files = sorted(path for path in copy.rglob("*") if path.is_file())
        for path in data.draw(st.lists(st.sampled_from(files), max_size=4)):
            content = bytearray(path.read_bytes())
            for _ in range(data.draw(st.integers(0, 3))):
                at = data.draw(st.integers(0, max(0, len(content) - 1)))
                content[at : at + 1] = data.draw(st.binary(min_size=0, max_size=2))
            path.write_bytes(content[: data.draw(st.integers(0, 2 * len(content)))])
        known = expected_offsets()
        for found in read_folder(copy).records():
            assert isinstance(found, LogRecord | LogDamage | Gap)
            if isinstance(found, LogRecord):
                json.dumps(found.data, allow_nan=False)
                assert not (found.offset in known and found.type == "UNDECODABLE")


@cache
def expected_offsets() -> set[int]:
    return {record[0] for dumped in expected_dump().values() for record in dumped.records}


def test_a_real_folder_that_lost_its_first_segment_continues_from_the_next_snapshot(tmp_path):
    copy = shutil.copytree(METADATA_FOLDER, tmp_path / "copy")
    (copy / "00000000000000000648.log").unlink()
    items = list(read_folder(copy).records())
    assert [one for one in items if isinstance(one, Gap)] == [Gap(765, 875)]
    headers = [
        one.offset for one in items if isinstance(one, LogRecord) and one.type == "SNAPSHOT_HEADER"
    ]
    assert headers == [764, 884]
