"""Rules about state: its copies, how far they are, tasks that commit nothing, its size."""

from dataclasses import replace

import pytest

from jobs.streams.application import TasksByRole
from jobs.streams.assembly import application_of
from jobs.streams.audit.conditions import Seen
from jobs.streams.audit.state import (
    judge_commits,
    judge_copies,
    judge_sizes,
    judge_standbys,
)
from jobs.streams.lag import NOT_KEPT
from tests.jobs.streams.written import NOW_MS, TOPICS, facts, observation, two_processes

HOUR_MS = 3_600_000
COMMITS = {("orders", number): (90, "") for number in range(4)}


def seen(group=None, topics=None, commits=COMMITS, racks=(), **fields):
    one = observation(group or two_processes(), topics, commits)
    application = application_of(one)
    if racks:
        threads = zip(application.threads, racks, strict=True)
        application = replace(
            application, threads=tuple(replace(thread, rack=rack) for thread, rack in threads)
        )
    return Seen(application, one.facts, **fields)


def judged(rule, one):
    """Each condition by its check: whether it holds, None for not known."""
    return {found.check.id.removeprefix("streams_"): found.holds for found in rule(one)}


def beyond_limits(one):
    return replace(one, application=replace(one.application, left_out=("3 tasks.",)))


def unread(one):
    first, *rest = one.application.threads
    threads = (replace(first, now=TasksByRole(), problem="short"), *rest)
    return replace(one, application=replace(one.application, threads=threads))


UNSURE = {"no_standby": None, "copies_in_one_rack": None}


@pytest.mark.parametrize(
    ("one", "expected"),
    [
        pytest.param(seen(racks=("a", "b")), {}, id="copies in two racks"),
        pytest.param(seen(two_processes(copies=False), racks=("a", "b")), {"no_standby": True}, id="no copies"),
        pytest.param(seen(racks=("a", "a")), {}, id="one rack in all"),
        pytest.param(seen(), {"copies_in_one_rack": None}, id="racks not known"),
        pytest.param(seen(two_processes(copies=False, sums=False)), UNSURE, id="state not known"),
        pytest.param(beyond_limits(seen()), UNSURE, id="beyond the limits"),
        pytest.param(unread(seen(two_processes(copies=False))), UNSURE, id="bytes that cannot be read"),
    ],
)  # fmt: skip
def test_tasks_with_state_need_a_copy_in_another_rack(one, expected):
    assert judged(judge_copies, one) == expected


def test_tasks_without_a_copy_are_named_with_the_size_of_their_changelogs():
    (found, *_) = judge_copies(seen(two_processes(copies=False)))
    assert found.text == (
        "has 4 of 4 tasks with state on one instance only: 0_0, 0_1, 0_2, 0_3. "
        "Their changelogs have 19.5\N{NO-BREAK SPACE}KiB."
    )
    assert found.evidence["size_bytes"] == 20_000


def test_copies_in_one_rack_are_found_where_the_application_has_several():
    one = seen(racks=("a", "a"))
    other = replace(
        one.application.threads[0], member_id="3", process_id="3", rack="b", now=type(one.application.threads[0].now)()
    )  # fmt: skip
    one = replace(
        one, application=replace(one.application, threads=(*one.application.threads, other))
    )
    assert judged(judge_copies, one) == {"copies_in_one_rack": True}


@pytest.mark.parametrize(
    ("one", "value", "is_at_least"),
    [
        pytest.param(seen(joined=observation(two_processes()).facts), 10, False, id="all known"),
        pytest.param(
            seen(joined=observation(two_processes(), TOPICS | {"app-totals-changelog": facts(3, 60)}).facts),
            20, True, id="one not known",
        ),
    ],
)  # fmt: skip
def test_a_standby_is_as_far_behind_as_at_the_last_rebalance(one, value, is_at_least):
    (found,) = judge_standbys(one)
    assert (found.value, found.is_at_least) == (value, is_at_least)
    assert "when its last rebalance was first seen, 2027-01-15 08:00:00 UTC" in found.text


@pytest.mark.parametrize(
    ("one", "expected"),
    [
        pytest.param(seen(two_processes(copies=False), joined=seen().facts), {}, id="no standbys"),
        pytest.param(seen(joined=NOT_KEPT), {"standby_behind": None}, id="join not seen"),
    ],
)
def test_without_standbys_or_without_a_join_none_is_behind(one, expected):
    assert judged(judge_standbys, one) == expected


def earlier(end=90, commits=COMMITS, at_ms=NOW_MS - HOUR_MS):
    one = observation(two_processes(), TOPICS | {"orders": facts(4, end)}, commits).facts
    return replace(one, observed_at_ms=at_ms)


def test_a_task_whose_commit_stays_while_its_input_grows_restores_or_is_stuck():
    moved = COMMITS | {("orders", 1): (80, "")}
    one = seen(before=earlier(commits=moved, at_ms=NOW_MS - 60_000))
    (found,) = judge_commits(one)
    assert found.value == 60
    assert found.evidence["tasks"] == ["0_0", "0_2", "0_3"]
    assert "restore or are stuck" in found.text
    assert one.memory["quiet"] == dict.fromkeys(["0_0", "0_2", "0_3"], NOW_MS - 60_000)


def test_of_an_hour_that_was_not_watched_it_is_not_known_when_the_records_came():
    (found,) = judge_commits(seen(before=earlier()))
    assert found.value == 0


def test_the_time_without_a_commit_counts_from_the_first_collection_that_saw_it():
    memory = {"quiet": {"0_2": NOW_MS - 3 * HOUR_MS}}
    (found,) = judge_commits(seen(before=earlier(end=100), memory=memory))
    assert (found.value, found.evidence["tasks"]) == (3 * 3_600, ["0_2"])


@pytest.mark.parametrize(
    ("one", "expected"),
    [
        pytest.param(seen(before=earlier(end=100)), {}, id="input does not grow"),
        pytest.param(seen(commits=dict.fromkeys(COMMITS, (100, "")), before=earlier(commits=dict.fromkeys(COMMITS, (100, "")))), {}, id="nothing to read"),
        pytest.param(seen(), {"restoring_or_stuck": None}, id="first collection"),
        pytest.param(seen(commits={}, before=earlier()), {"restoring_or_stuck": None}, id="commits not read"),
        pytest.param(seen(topics=TOPICS | {"orders": replace(facts(4), ends={})}, before=earlier()), {"restoring_or_stuck": None}, id="ends not read"),
    ],
)  # fmt: skip
def test_a_task_is_not_stuck_without_input_and_not_judged_without_offsets(one, expected):
    assert judged(judge_commits, one) == expected


def test_a_collection_without_commits_forgets_since_when_tasks_are_quiet():
    one = seen(commits={}, before=earlier(), memory={"quiet": {"0_2": 5}})
    list(judge_commits(one))
    assert one.memory == {}


def sized(*sizes):
    return TOPICS | {"app-totals-changelog": replace(facts(4), sizes=dict(enumerate(sizes)))}


def test_state_of_equally_many_tasks_is_compared_with_the_mean():
    (found,) = judge_sizes(seen(topics=sized(900, 50, 900, 150)))
    assert found.value == pytest.approx(1.8)
    assert "on instance h1:1: 1.8 times the mean of 2 instances" in found.text


@pytest.mark.parametrize(
    ("one", "expected"),
    [
        pytest.param(seen(topics=sized(0, 0, 0, 0)), {}, id="no state"),
        pytest.param(seen(topics=sized(1, 2, 3)), {"state_uneven": None}, id="size not known"),
        pytest.param(beyond_limits(seen()), {"state_uneven": None}, id="beyond the limits"),
        pytest.param(unread(seen()), {"state_uneven": None}, id="bytes that cannot be read"),
    ],
)
def test_state_is_not_compared_without_all_sizes(one, expected):
    assert judged(judge_sizes, one) == expected
