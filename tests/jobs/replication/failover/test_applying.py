import pytest

from jobs.cluster.descriptions import CommittedOffset, TopicPartition
from jobs.cluster.errors import Unreachable
from jobs.replication.failover.applying import OutcomeState, apply_group, undo_group
from tests.jobs.replication.failover.making import (
    GROUP,
    REMOTE,
    PaperDoor,
    empty,
    failover_evidence,
    plan_of,
)

OTHER = TopicPartition("east.orders", 1)


def group_plan(**fields):
    return plan_of(failover_evidence(**fields)).group(GROUP)


class Kept:
    """Where the offsets before an apply are kept, as a console does."""

    def __init__(self) -> None:
        self.before = None

    def __call__(self, offsets) -> None:
        self.before = dict(offsets)


def test_offsets_are_stored_set_and_read_back():
    door, kept = PaperDoor({REMOTE: 7, OTHER: 3}), Kept()
    found = apply_group(door, group_plan(before=7), None, kept)
    assert (found.state, door.plain()) == (OutcomeState.APPLIED, {REMOTE: 41, OTHER: 3})
    assert kept.before == {REMOTE: CommittedOffset(7)}
    (one,) = found.items
    assert (one.before, one.wanted, one.after) == (7, 41, 41)


def test_a_second_time_changes_nothing_and_keeps_what_was_before():
    door, kept = PaperDoor(), Kept()
    apply_group(door, group_plan(), None, kept)
    again = apply_group(door, group_plan(), kept.before, kept)
    assert (again.state, again.items[0].before, door.calls) == (
        OutcomeState.APPLIED,
        None,
        ["alter"],
    )


def test_what_was_stored_before_a_crash_is_not_stored_again():
    kept = Kept()
    kept.before = {REMOTE: CommittedOffset(7)}
    found = apply_group(PaperDoor({REMOTE: 41}), group_plan(before=7), kept.before, kept)
    assert (found.state, kept.before) == (OutcomeState.APPLIED, {REMOTE: CommittedOffset(7)})


def test_a_rehearsal_asks_everything_and_changes_nothing():
    door, kept = PaperDoor({REMOTE: 7}), Kept()
    found = apply_group(door, group_plan(before=7), None, kept, rehearse=True)
    assert (found.state, door.calls, kept.before) == (OutcomeState.REHEARSED, [], None)
    assert [(one.before, one.wanted, one.after) for one in found.items] == [(7, 41, 7)]


@pytest.mark.parametrize("rehearse", [False, True], ids=["applied", "rehearsed"])
def test_an_active_group_is_refused(rehearse):
    door, kept = PaperDoor(described=empty(state="Stable", member_count=2)), Kept()
    found = apply_group(door, group_plan(), None, kept, rehearse=rehearse)
    assert (found.state, door.calls, kept.before) == (OutcomeState.REFUSED, [], None)
    assert "stop its consumers" in found.message


def test_a_group_that_moved_there_since_the_plan_is_refused():
    door = PaperDoor({REMOTE: 9})
    found = apply_group(door, group_plan(before=7), None, Kept())
    assert (found.state, door.plain()) == (OutcomeState.REFUSED, {REMOTE: 9})
    assert "east.orders-0 from 7 to 9" in found.message


def test_a_partition_that_is_refused_is_named():
    door = PaperDoor(refuses={REMOTE: "TOPIC_AUTHORIZATION_FAILED"})
    found = apply_group(door, group_plan(), None, Kept())
    assert found.state is OutcomeState.FAILED
    assert "TOPIC_AUTHORIZATION_FAILED" in found.message


def test_a_cluster_that_goes_away_is_an_outcome_and_the_next_try_continues():
    door, kept = PaperDoor(fault=Unreachable("no broker answered", cluster="west")), Kept()
    assert apply_group(door, group_plan(), None, kept).state is OutcomeState.FAILED
    door.fault = None
    assert apply_group(door, group_plan(), kept.before, kept).state is OutcomeState.APPLIED


BEFORE = {REMOTE: CommittedOffset(7), OTHER: CommittedOffset(None)}
WRITTEN = {REMOTE: CommittedOffset(41), OTHER: CommittedOffset(12)}


def test_undoing_gives_offsets_back_and_takes_away_those_that_were_not_there():
    door = PaperDoor({REMOTE: 41, OTHER: 12})
    found = undo_group(door, GROUP, BEFORE, WRITTEN)
    assert (found.state, door.plain()) == (OutcomeState.UNDONE, {REMOTE: 7})


def test_undoing_twice_changes_nothing():
    door = PaperDoor({REMOTE: 41, OTHER: 12})
    undo_group(door, GROUP, BEFORE, WRITTEN)
    calls = list(door.calls)
    assert undo_group(door, GROUP, BEFORE, WRITTEN).state is OutcomeState.UNDONE
    assert door.calls == calls


def test_half_applied_is_undone_too():
    door = PaperDoor({REMOTE: 7, OTHER: 12})
    assert undo_group(door, GROUP, BEFORE, WRITTEN).state is OutcomeState.UNDONE
    assert door.plain() == {REMOTE: 7}


def test_a_group_that_moved_on_is_only_undone_when_that_is_confirmed():
    door = PaperDoor({REMOTE: 60, OTHER: 12})
    refused = undo_group(door, GROUP, BEFORE, WRITTEN)
    assert (refused.state, door.calls) == (OutcomeState.REFUSED, [])
    assert "east.orders-0 from 41 to 60" in refused.message
    done = undo_group(door, GROUP, BEFORE, WRITTEN, even_if_moved=True)
    assert (done.state, door.plain()) == (OutcomeState.UNDONE, {REMOTE: 7})


def test_an_active_group_is_not_undone():
    door = PaperDoor({REMOTE: 41, OTHER: 12}, described=empty(member_count=1, state="Stable"))
    assert undo_group(door, GROUP, BEFORE, WRITTEN).state is OutcomeState.REFUSED
