"""What differs between two moments of an application, and why as far as its group shows it."""

import json
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jobs.streams.application import (
    Application,
    Protocol,
    Role,
    Subtopology,
    TaskId,
    TasksByRole,
    Thread,
)
from jobs.streams.assembly import application_of
from jobs.streams.collection.capture import read_capture
from jobs.streams.rebalances.changes import (
    MOST_MOVES,
    Change,
    Move,
    Place,
    Reason,
    ThreadJoins,
    flapping,
)
from jobs.streams.rebalances.comparison import as_watched, change_between, first_seen
from tests.jobs.streams.written import observation, two_processes
from tests.support import REPORTED

AT_MS = 1_000_000


def ids(numbers):
    return tuple(TaskId("0", number) for number in numbers)


def thread(name, active=(), standby=(), warm_up=(), member=1, number=1, joins=2, **fields):
    tasks = TasksByRole(ids(active), ids(standby), ids(warm_up))
    client = f"app-{name}-StreamThread-{number}-consumer"
    values = {"process_id": name, "endpoint": f"{name}:1", "joins": joins, "now": tasks} | fields
    return Thread(f"{client}-{member}", client, "/10.0.0.1", **values)


def at(name):
    return Place(name, f"{name}:1")


def app(*threads, partitions=4, at_ms=AT_MS, next_ms=None, topics=("orders",), **fields):
    values = {
        "subtopologies": {"0": Subtopology("0", tuple(topics), partitions)},
        "tasks": dict.fromkeys(ids(range(partitions)), ()),
        "topic_partitions": dict.fromkeys(topics, partitions),
        "next_rebalance_ms": next_ms,
    } | fields
    return Application("app", Protocol.CLASSIC, "Stable", at_ms, threads, stores={}, routes=None, **values)  # fmt: skip


A, B = thread("a", (0, 1), (2, 3)), thread("b", (2, 3), (0, 1))
REASONS = {
    "nothing told": (app(A, B), app(A, B), {Reason.UNKNOWN}),
    "first members": (app(), app(A, B), {Reason.FIRST_MEMBERS}),
    "scale out": (
        app(thread("a", range(4))), app(thread("a", (0, 1)), thread("b", (2, 3))), {Reason.JOINED},
    ),
    "kill": (app(A, B), app(thread("a", range(4))), {Reason.LEFT}),
    "restart with another process id": (app(A, B), app(A, thread("c", (2, 3))), {Reason.LEFT, Reason.JOINED}),
    "rolling restart with the same process id": (
        app(A, replace(B, joins=7)), app(A, thread("b", (2, 3), (0, 1), member=2)), {Reason.RESTARTED},
    ),
    "restart where no member counts joins": (
        app(replace(A, joins=None)), app(thread("a", (0, 1), (2, 3), member=2, joins=None)), {Reason.RESTARTED},
    ),
    "member that left and counts on is no restart": (
        app(A, B), app(A, thread("b", (2, 3), (0, 1), member=2, joins=5)), {Reason.UNKNOWN},
    ),
    "replaced thread is no restart": (app(A, B), app(A, thread("b", (2, 3), (0, 1), number=2)), {Reason.UNKNOWN}),
    "warm-up that takes over at a probing rebalance": (
        app(thread("a", range(4)), thread("b", (), (), (2, 3)), next_ms=AT_MS - 1),
        app(thread("a", (0, 1)), thread("b", (2, 3))), {Reason.TOOK_OVER, Reason.PROBING},
    ),
    "probing rebalance that is not due": (app(A, B, next_ms=AT_MS + 1), app(A, B), {Reason.UNKNOWN}),
    "follow-up": (app(A, B, next_ms=0), app(A, B), {Reason.FOLLOW_UP}),
    "shutdown": (app(A, B), app(A, replace(B, error_code=4)), {Reason.SHUTDOWN}),
    "version probing": (app(A, B), app(A, replace(B, error_code=2)), {Reason.VERSION}),
    "other version": (
        app(replace(A, common_version=9)), app(replace(A, common_version=11)), {Reason.VERSION},
    ),
    "partitions added": (app(A, B), app(A, B, partitions=6), {Reason.PARTITIONS}),
    "another input": (app(A, B), app(A, B, topics=("orders", "items")), {Reason.TOPOLOGY}),
    "task that waits for the follow-up is no other topology": (
        app(A, B), app(A, thread("b", (2,)), next_ms=0, tasks=dict.fromkeys(ids(range(3)), ())), {Reason.UNKNOWN},
    ),
}  # fmt: skip


@pytest.mark.parametrize(("before", "after", "reasons"), REASONS.values(), ids=REASONS.keys())
def test_reasons_are_those_that_the_group_shows(before, after, reasons):
    assert set(change_between(before, after).reasons) == reasons


def test_a_task_that_moved_has_source_and_target():
    change = change_between(app(A, B), app(thread("a", (0, 1, 2), (3,)), thread("b", (3,), (0,))))
    assert change.moves == (
        Move("0_2", Role.ACTIVE, at("b"), at("a")),
        Move("0_1", Role.STANDBY, at("b"), None),
        Move("0_2", Role.STANDBY, at("a"), None),
    )
    assert (change.move_count, change.stopped_tasks, change.joined, change.left) == (3, 1, (), ())
    assert [tuple(one)[2:] for one in change.instances] == [(1, 3, 1, 0), (1, 1, 1, 0)]


def test_a_standby_that_becomes_a_warm_up_does_not_move():
    assert change_between(app(A), app(thread("a", (0, 1), (), (2, 3)))).moves == ()


def test_a_task_that_changes_its_thread_within_an_instance_stops_but_does_not_move():
    change = change_between(app(A, B), app(thread("a", (0, 1), (2, 3), member=2, joins=1), B))
    assert (change.move_count, change.stopped_tasks) == (0, 2)


def test_of_many_moves_the_first_are_kept_with_the_count():
    many = {"partitions": 1_000}
    change = change_between(
        app(thread("a", range(1_000)), **many), app(thread("b", range(1_000)), **many)
    )
    assert (len(change.moves), change.move_count) == (MOST_MOVES, 1_000)


def test_beyond_the_limits_who_moved_is_unknown():
    change = change_between(app(A, B), app(A, left_out=("more members",)))
    assert (change.is_partial, change.left, change.reasons) == (True, (), (Reason.UNKNOWN,))
    assert (change.move_count, change.stopped_tasks) == (None, None)


@pytest.mark.parametrize(
    ("joins", "generations", "flaps"),
    [((3, 3), 1, ()), ((5, 3), 1, (3,)), ((2, 3), 0, (1,)), ((1, 1), 255, ())],
    ids=["once each", "one joins more often", "one alone", "modulo 256"],
)
def test_a_thread_flaps_that_joins_more_often_than_its_group_has_generations(
    joins, generations, flaps
):
    after = app(replace(A, joins=joins[0]), replace(B, joins=joins[1]))
    change = change_between(app(A, B), after)
    assert change.generations == generations
    assert tuple(one.joins for one in change.joins) == flaps


def test_with_a_clock_that_was_set_back_how_long_tasks_stopped_is_not_known():
    moved = change_between(app(A), app(B))
    assert watched(moved, moved.at_ms + 30_000).unavailable_ms is None


def test_flapping_is_summed_over_rebalances_without_gaps():
    one = replace(first_seen(app(A)), generations=1, joins=(ThreadJoins("t", "a", 3),))
    (found,) = flapping([one, one, replace(one, is_gap=True), replace(one, joins=())])
    assert (found.client_id, found.joins, found.generations, found.rebalances) == ("t", 6, 2, 2)


def watched(change, since_ms, earlier=None):
    return as_watched(change, since_ms, earlier, is_gap=False, was_empty=False)


def test_a_moved_task_was_without_active_thread_for_at_most_the_time_between_two_whole_moments():
    moved = change_between(app(A, B), app(thread("a", range(4))))
    assert watched(moved, AT_MS - 30_000).unavailable_ms == 30_000


def test_where_no_task_changed_its_thread_nothing_is_said_of_how_long():
    assert watched(change_between(app(A, B), app(A, B)), AT_MS - 30_000).unavailable_ms is None


def test_a_task_that_waits_for_its_next_thread_counts_from_when_it_was_revoked():
    between = app(A, thread("b", (2,)), at_ms=AT_MS + 60_000)
    revoked = watched(change_between(app(A, B), between), AT_MS)
    assert revoked.waiting_since_ms == AT_MS
    taken = app(A, thread("b", (2,)), thread("c", (3,)), at_ms=AT_MS + 90_000)
    change = watched(change_between(between, taken), AT_MS + 60_000, revoked)
    assert (change.unavailable_ms, change.waiting_since_ms) == (90_000, None)


def test_a_group_without_members_between_two_moments_has_first_members():
    change = as_watched(change_between(app(A), app(A)), 0, None, is_gap=False, was_empty=True)
    assert change.reasons == (Reason.FIRST_MEMBERS,)


def test_a_reported_capture_has_no_moves_against_itself():
    (seen,) = read_capture(REPORTED / "streams_topics_of_different_sizes" / "capture.json")
    own = application_of(seen)
    assert change_between(own, own).moves == ()


def test_bytes_of_members_tell_the_rebalance_that_is_planned():
    before = application_of(observation(two_processes()))
    after = application_of(observation(two_processes(next_ms=5, copies=False)))
    change = change_between(before, after)
    assert change.next_rebalance_ms == 5
    assert {one.role for one in change.moves} == {Role.STANDBY}


def test_a_change_of_another_form_is_not_read():
    assert Change.from_json({"form": 99}) is None
    assert Change.from_json(None) is None


NUMBERS = st.sets(st.integers(0, 5))
THREADS = st.builds(
    lambda own, member, joins: [
        thread(f"p{at}", *tasks, member=member, joins=joins) for at, tasks in own.items()
    ],
    st.dictionaries(st.integers(0, 3), st.tuples(NUMBERS, NUMBERS, NUMBERS)),
    st.integers(1, 2),
    st.none() | st.integers(0, 255),
)


def holders(application, task, *roles):
    return {p.process_id for p in application.processes if task in map(str, p.tasks(*roles))}


@settings(deadline=None)
@given(THREADS, THREADS)
def test_every_moved_task_is_moved_and_json_keeps_it(old, new):
    before, after = app(*old, partitions=6), app(*new, partitions=6)
    change = watched(change_between(before, after), 0)
    for one in change.moves:
        assert one.source != one.target
        if one.source is not None:
            assert one.source.process_id in holders(before, one.task, one.role)
            assert one.source.process_id not in holders(after, one.task, one.role)
        if one.target is not None:
            assert one.target.process_id in holders(after, one.task, one.role)
            assert one.target.process_id not in holders(before, one.task, one.role)
    assert Change.from_json(json.loads(json.dumps(change.to_json()))) == change
