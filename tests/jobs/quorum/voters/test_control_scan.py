"""Passing data batches by changes nothing about a voter timeline."""

import pytest

from jobs.quorum.log.folder import read_folder
from jobs.quorum.timeline.voter_timeline import read_voter_timeline
from jobs.quorum.voters.control_scan import control_items, items_before, items_of_all_segments
from jobs.wire.metadata.log import PassedBatch
from tests.jobs.quorum.log_files import write_folder
from tests.jobs.quorum.voter_sets import Log, minus, plus, voters
from tests.jobs.wire.metadata.snapshot_writer import SnapshotWriter, snapshot_file_name
from tests.support import KRAFT_LOG

THREE = voters(1, 2, 3)


def started(offset: int = 0) -> Log:
    log = Log(offset, epoch=0).leader(1, [1, 2, 3]).kraft_version(1).voters(THREE)
    return log.together(3).noop(30)


def write_snapshot(folder, offset: int, set_) -> None:
    writer = SnapshotWriter(
        epoch=1,
        last_contained_log_timestamp_ms=1_799_999_000_000,
        written_at_ms=1_799_999_999_000,
        kraft_version=1,
        voters=set_.to_voters_record()["voters"],
    )
    (folder / snapshot_file_name(offset, 1)).write_bytes(writer.freeze())


LOGS = {
    "voters": started().voters(plus(THREE, 4)).feature("metadata.version", 25).noop(3),
    "elections": started()
    .leader(2, [1, 2, 3], after_ms=4_000)
    .noop(9)
    .leader(3, [1, 2, 3], epoch=7),
    "a gap": started().missing(40).noop(3).voters(minus(THREE, 1)),
    "a clock": started().wait(-9_000).noop(3).wait(60_000).noop(),
}


@pytest.mark.parametrize("log", LOGS.values(), ids=LOGS)
def test_the_timeline_is_the_one_of_all_records(log, tmp_path):
    folder = read_folder(write_folder(tmp_path, log))
    assert read_voter_timeline(control_items(folder)) == read_voter_timeline(folder.records())
    assert read_voter_timeline(control_items(folder)) == read_voter_timeline(log)


def test_snapshots_are_read_as_part_of_the_history(tmp_path):
    path = write_folder(tmp_path, started(100))
    write_snapshot(path, 100, plus(THREE, 4))
    write_snapshot(path, 500, minus(THREE, 1))
    folder = read_folder(path)
    timeline = read_voter_timeline(control_items(folder))
    assert timeline == read_voter_timeline(folder.records())
    assert [entry.offset for entry in timeline.entries] == [99, 102, 499]


def test_a_snapshot_that_is_not_whole_is_named_and_not_used(tmp_path):
    path = write_folder(tmp_path, started(100))
    write_snapshot(path, 100, plus(THREE, 4))
    file = next(path.glob("*.checkpoint"))
    file.write_bytes(file.read_bytes()[:-9])
    folder = read_folder(path)
    timeline = read_voter_timeline(control_items(folder))
    assert timeline == read_voter_timeline(folder.records())
    assert [anomaly.code for anomaly in timeline.anomalies] == ["damaged", "unknown_range"]


def test_of_a_real_folder_too():
    folder = read_folder(KRAFT_LOG)
    ours, all_ = (read_voter_timeline(items) for items in (control_items(folder), folder.records()))
    assert ours == all_
    passed = [one for one in control_items(folder) if isinstance(one, PassedBatch)]
    assert sum(one.end_offset - one.offset for one in passed) == 1094 - 765
    assert {one.type for one in passed} == {"NO_OP_RECORD", "DATA"}


def static(tmp_path):
    """A log of kraft.version 0 whose beginning was removed: its snapshot follows the last election."""
    log = Log(500, epoch=6).leader(2, [1, 2, 3], epoch=7).noop(30)
    path = write_folder(tmp_path, log)
    writer = SnapshotWriter(epoch=7, last_contained_log_timestamp_ms=log.records[10].timestamp_ms)
    (path / snapshot_file_name(511, 7)).write_bytes(writer.freeze())
    return path


def test_voters_of_a_static_quorum_are_known_by_an_election_before_the_snapshot(tmp_path):
    folder = read_folder(static(tmp_path))
    assert read_voter_timeline(control_items(folder)).current is None
    timeline = read_voter_timeline(items_of_all_segments(folder))
    assert (timeline.current.voters.ids, timeline.current.is_static) == ({1, 2, 3}, True)
    assert (timeline.kraft_version, timeline.is_current_known) == (0, True)
    assert timeline.anomalies == ()


def test_voters_of_a_dynamic_quorum_are_those_of_the_snapshot(tmp_path):
    path = write_folder(tmp_path, Log(100, epoch=0).leader(1, [1, 2, 3]).noop(30))
    write_snapshot(path, 111, THREE)
    timeline = read_voter_timeline(items_of_all_segments(read_folder(path)))
    assert timeline.current.voters == THREE
    assert timeline.anomalies == ()


@pytest.mark.parametrize(("offset", "until"), [(None, 511), (505, 505)])
def test_what_lies_before_a_snapshot_can_be_read_apart(tmp_path, offset, until):
    before = list(items_before(read_folder(static(tmp_path)), offset))
    assert (before[0].type, before[-1].end_offset) == ("LEADER_CHANGE", until)
