"""Voters and kraft.version from control records: upstream's own cases M, and those that concern W and R."""

import pytest

from jobs.quorum.voters.voter_sets import VoterSet
from tests.jobs.quorum.voter_sets import Log, plus, voters
from tests.jobs.quorum.voters.control_records import ControlRecords, ControlSnapshot

STATIC = voters(1, 2, 3)
FIRST = voters(4, 5, 6)
LEVEL_1_AND_VOTERS = ControlSnapshot(10, Log().kraft_version(1).voters(FIRST).records)


@pytest.fixture
def three_records():
    """kraft.version 1 at 0, voters 4, 5, 6 at 1, and 7 with them at 2."""
    read = ControlRecords(STATIC)
    read.update(Log().kraft_version(1).voters(FIRST).voters(plus(FIRST, 7)))
    return read


@pytest.mark.parametrize("static", [STATIC, VoterSet()], ids=["static voters", "none"])
def test_an_empty_log_has_the_static_voters(static):  # M1
    read = ControlRecords(static)
    read.update()
    assert (read.last_voter_set, read.last_kraft_version) == (static, 0)


def test_records_of_the_log_win_over_the_static_voters():  # M2
    read = ControlRecords(STATIC)
    log = Log().noop(2).kraft_version(1).voters(FIRST).noop()
    read.update(log)
    assert (read.last_voter_set, read.last_kraft_version) == (FIRST, 1)
    assert read.voter_set_at_offset(log.offset - 1) == FIRST
    assert read.kraft_version_at_offset(log.offset - 1) == 1
    assert read.voter_set_at_offset(2) is None


def test_a_snapshot_without_voters_changes_nothing():  # M3
    read = ControlRecords(STATIC)
    log = Log(10).kraft_version(1).voters(FIRST)
    read.update(log, snapshot=ControlSnapshot(10), log_start_offset=10)
    assert (read.last_voter_set, read.last_kraft_version) == (FIRST, 1)
    assert read.voter_set_at_offset(log.offset - 1) == FIRST


def test_all_of_a_snapshot_holds_from_the_offset_before_its_own():  # M4
    read = ControlRecords(STATIC)
    read.update(snapshot=LEVEL_1_AND_VOTERS, log_start_offset=10)
    assert (read.last_voter_set, read.voter_set_at_offset(9)) == (FIRST, FIRST)
    assert (read.kraft_version_at_offset(9), read.voter_set_at_offset(8)) == (1, None)


def test_the_log_behind_a_snapshot_continues_from_its_voters():  # M5
    read = ControlRecords(STATIC)
    four = plus(FIRST, 7)
    read.update(Log(10).voters(four), snapshot=LEVEL_1_AND_VOTERS, log_start_offset=10)
    assert read.last_voter_set == four
    assert (read.voter_set_at_offset(10), read.voter_set_at_offset(9)) == (four, FIRST)


@pytest.mark.parametrize(
    ("end", "wanted"), [(2, FIRST), (1, STATIC), (0, STATIC)], ids=["M6 at 2", "M6 at 1", "M6 at 0"]
)
def test_a_cut_tail_takes_its_voters_with_it(three_records, end, wanted):
    three_records.truncate_new_entries(end)
    assert three_records.last_voter_set == wanted


def test_what_is_written_after_a_cut_is_read():
    read = ControlRecords(STATIC)
    read.update(Log().kraft_version(1).voters(FIRST).voters(plus(FIRST, 7)))
    read.truncate_new_entries(2)
    other = plus(FIRST, 8)
    read.update(Log(2, epoch=2).voters(other))
    assert read.last_voter_set == other


@pytest.mark.parametrize(
    ("start", "at_1"), [(0, FIRST), (1, FIRST), (2, None)], ids=["M7 at 0", "M7 at 1", "M7 at 2"]
)
def test_a_new_log_start_keeps_what_held_there(three_records, start, at_1):
    three_records.truncate_old_entries(start)
    assert three_records.kraft_version_at_offset(0) == 1
    assert three_records.voter_set_at_offset(1) == at_1
    assert three_records.voter_set_at_offset(2) == three_records.last_voter_set


@pytest.mark.parametrize("at", [3, 4, 100])
def test_nothing_is_said_of_what_was_not_read(three_records, at):
    with pytest.raises(ValueError, match="not read"):
        three_records.voter_set_at_offset(at)
    with pytest.raises(ValueError, match="not read"):
        three_records.kraft_version_at_offset(at)


def test_the_bootstrap_checkpoint_is_before_the_log():  # R1, R2
    first = voters(1, 2)
    read = ControlRecords()
    bootstrap = ControlSnapshot(0, Log().kraft_version(1).voters(first).records)
    read.update(snapshot=bootstrap)
    assert read.voter_set_at_offset(-1) == first
    log = Log().leader(1, [1, 2]).kraft_version(1).voters(plus(first, 3))
    read.update(log)
    assert sorted(read.last_voter_set.ids) == [1, 2, 3]
    assert read.voter_set_at_offset(1) == first


def test_a_static_quorum_writes_leader_changes_only():  # R1 with kraft.version 0
    read = ControlRecords(STATIC)
    read.update(Log().leader(1, [1, 2, 3]).noop(3))
    assert (read.last_voter_set, read.last_kraft_version) == (STATIC, 0)


def test_a_feature_record_of_kraft_version_says_nothing():
    read = ControlRecords()
    read.update(Log().kraft_version(1).feature("kraft.version", 0).feature("kraft.version", 7))
    assert read.last_kraft_version == 1


def test_a_later_snapshot_is_read_only_when_the_log_begins_behind_what_was_read():
    read = ControlRecords()
    read.update(Log().kraft_version(1).voters(FIRST).noop(20))
    older = ControlSnapshot(10, Log().kraft_version(1).voters(voters(9)).records)
    read.update(snapshot=older, log_start_offset=5)
    assert read.last_voter_set == FIRST
    read.update(snapshot=ControlSnapshot(100, older.records), log_start_offset=100)
    assert sorted(read.last_voter_set.ids) == [9]
    assert read.next_offset == 100


def test_before_17973_a_log_whose_voters_do_not_overlap_is_refused():
    log = Log().kraft_version(1).voters(FIRST).voters(plus(FIRST, 7, 8))
    with pytest.raises(ValueError, match="more than one"):
        ControlRecords(is_strict=True).update(log)
    kept = ControlRecords()
    kept.update(log)
    assert kept.voter_sets.non_overlapping == (2,)
