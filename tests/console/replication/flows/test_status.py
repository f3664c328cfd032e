from datetime import timedelta

import pytest

from console.replication.flows.models import ReplicationFlow
from console.replication.flows.status import SILENT_AFTER, FlowState, in_short, judge_flow
from console.runs.models import Run, RunState
from jobs.severity import Severity
from jobs.spark.flow_driver.pause_rules import PAUSED_BY_USER
from tests.console.making import NOW, make_flow, make_run


def live(**fields):
    values = {"state": RunState.RUNNING, "created_at": NOW, "started_at": NOW, "reported_at": NOW}
    return Run(**values | fields)


def flow(**fields):
    values = {"is_wanted": True, "partition_count": 4, "states": {"copying": 4}, "run": live()}
    return ReplicationFlow(**values | fields)


@pytest.mark.parametrize(
    ("row", "state"),
    [
        pytest.param(flow(), FlowState.RUNNING, id="copies"),
        pytest.param(flow(is_wanted=False), FlowState.STOPPING, id="unwanted, still going"),
        pytest.param(flow(is_wanted=False, run=None), FlowState.STOPPED, id="unwanted"),
        pytest.param(flow(run=None), FlowState.STARTING, id="wanted, no run yet"),
        pytest.param(flow(run=live(reported_at=None)), FlowState.STARTING, id="spark comes up"),
        pytest.param(
            flow(run=live(cancel_requested_at=NOW)), FlowState.STARTING, id="new settings"
        ),
        pytest.param(flow(run=None, failures=3, failure="x"), FlowState.FAILING, id="keeps dying"),
        pytest.param(
            flow(run=live(reported_at=None), failures=3, failure="x"),
            FlowState.FAILING,
            id="tries again",
        ),
        pytest.param(flow(states={"copying": 3, "failed": 1}), FlowState.DEGRADED, id="one failed"),
        pytest.param(
            flow(states={"copying": 3, "retrying": 1}), FlowState.DEGRADED, id="one retries"
        ),
        pytest.param(flow(states={"retrying": 4}), FlowState.WAITING, id="all retry"),
        pytest.param(
            flow(states={"retrying": 3, "failed": 1}), FlowState.WAITING, id="all open ones retry"
        ),
        pytest.param(flow(states={"starting": 4}), FlowState.STARTING, id="tasks come up"),
        pytest.param(flow(states={"paused": 4}), FlowState.PAUSED, id="all paused"),
        pytest.param(
            flow(states={"paused": 2, "stopped": 2}), FlowState.PAUSED, id="all open ones paused"
        ),
        pytest.param(flow(states={"paused": 3, "copying": 1}), FlowState.RUNNING, id="some paused"),
        pytest.param(
            flow(states={"paused": 3, "failed": 1}), FlowState.DEGRADED, id="paused and failed"
        ),
        pytest.param(flow(deletion_asked_at=NOW), FlowState.DELETING, id="to be deleted"),
    ],
)
def test_a_flow_has_one_word(row, state):
    assert judge_flow(row, NOW).state == state


def test_a_failing_flow_says_why_and_when_it_is_tried_again():
    row = flow(run=None, failures=3, failure="no java\nlog", next_try_at=NOW + timedelta(seconds=8))
    status = judge_flow(row, NOW)
    assert status.reason == "3 runs failed in a row. The last one: no java"
    assert "in 8\N{NO-BREAK SPACE}s" in status.hint


def test_a_flow_that_can_never_start_says_why_and_that_it_is_not_tried_again():
    ended = live(state=RunState.FAILED, summary={"is_final": True})
    status = judge_flow(flow(run=ended, failures=1, failure="west: too old. Update it."), NOW)
    assert status.state == FlowState.FAILING
    assert status.reason == "The run failed. The last one: west: too old. Update it."
    assert status.hint.startswith("It is not retried automatically. Change the settings, or start")


@pytest.mark.parametrize(
    ("failure", "short"),
    [
        pytest.param("no java", "no java", id="one line"),
        pytest.param(
            "It is gone. Last lines of its log:\nno error found", "It is gone.", id="no error in it"
        ),
        pytest.param(
            "It is gone. Last lines of its log:\nstack\nOutOfMemoryError",
            "It is gone. OutOfMemoryError",
            id="log",
        ),
    ],
)
def test_of_a_log_the_last_line_is_told(failure, short):
    assert in_short(failure) == short


def test_a_degraded_flow_counts_and_gives_the_worst_reason():
    row = flow(states={"copying": 3, "failed": 1}, worst_reason="orders-2: record too large")
    assert judge_flow(row, NOW).reason == "1 failed of 4 partitions. orders-2: record too large"


def test_partitions_of_a_deleted_topic_are_told_although_the_flow_runs():
    row = flow(states={"copying": 3, "stopped": 1}, worst_reason="Topic clicks no longer exists.")
    status = judge_flow(row, NOW)
    assert (status.state, status.is_wrong) == (FlowState.RUNNING, False)
    assert status.reason == "1 of 4 partitions are not replicated. Topic clicks no longer exists."


def test_a_run_that_lives_but_says_nothing_is_a_finding():
    row = flow(run=live(reported_at=NOW - SILENT_AFTER - timedelta(seconds=1)))
    status = judge_flow(row, NOW)
    assert (status.state, status.severity) == (FlowState.SILENT, Severity.CRITICAL)
    assert status.is_wrong


WINDOW = "Waiting for the catch-up window (01:00-05:00)."


@pytest.mark.parametrize(
    ("held_back", "reason"),
    [
        pytest.param(
            {PAUSED_BY_USER: 3}, "3 of 12 partitions are paused by an operator.", id="by a person"
        ),
        pytest.param({WINDOW: 2}, f"2 of 12 partitions are paused. {WINDOW}", id="by a window"),
        pytest.param(
            {WINDOW: 2, PAUSED_BY_USER: 1},
            f"1 of 12 partitions are paused by an operator. 2 of 12 partitions are paused. {WINDOW}",
            id="by both",
        ),
    ],
)
def test_a_flow_that_runs_says_what_of_it_is_paused(held_back, reason):
    number = sum(held_back.values())
    states = {"paused": number, "copying": 12 - number}
    status = judge_flow(flow(partition_count=12, states=states, held_back=held_back), NOW)
    assert (status.state, status.reason, status.is_wrong) == (FlowState.RUNNING, reason, False)


@pytest.mark.parametrize(
    ("why", "hint"),
    [
        (PAUSED_BY_USER, "Resume topics or partitions."),
        (WINDOW, "Replication resumes in the next catch-up window."),
    ],
)
def test_a_paused_flow_says_how_it_resumes(why, hint):
    status = judge_flow(flow(states={"paused": 4}, held_back={why: 4}, worst_since=NOW), NOW)
    assert hint in status.hint
    assert (status.severity, status.since) == (Severity.INFO, NOW)


def at(seconds: float):
    return NOW + timedelta(seconds=seconds)


def ms(seconds: float) -> int:
    return int(at(seconds).timestamp() * 1000)


def starting(stages: dict[str, int], measured: float | None = None, **fields):
    """Make a flow whose run was queued at 0 s and began at 2 s; 10 s later it is judged."""
    told = {name: ms(seconds) for name, seconds in stages.items()}
    run = live(created_at=NOW, started_at=at(2), reported_at=at(9) if stages else None, stages=told)
    seen = {
        "partition_count": 0,
        "states": {},
        "measured_at": None if measured is None else at(measured),
    }
    return flow(run=run, **seen | fields)


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        pytest.param(
            flow(run=live(state=RunState.QUEUED, started_at=None, reported_at=None)),
            "Queued: 10 s so far.",
            id="queued",
        ),
        pytest.param(starting({}), "Spark starting: 8 s so far, after queued 2 s.", id="spark"),
        pytest.param(
            starting({"driver_started": 7}),
            "Reading topics and positions: 3 s so far, after queued 2 s, Spark starting 5 s.",
            id="reads",
        ),
        pytest.param(
            starting({"driver_started": 5}, measured=6),
            "Reading topics and positions: 5 s so far, after queued 2 s, Spark starting 3 s.",
            id="reads, and was measured meanwhile",
        ),
        pytest.param(
            starting({"driver_started": 5, "surveyed": 7}, measured=6),
            "Tasks starting: 3 s so far, after queued 2 s, Spark starting 3 s, "
            "reading topics and positions 2 s.",
            id="has read, and that is not measured yet",
        ),
        pytest.param(
            starting(
                {"driver_started": 5, "surveyed": 7}, 8, partition_count=1, states={"starting": 1}
            ),
            "Tasks starting: 3 s so far, after queued 2 s, Spark starting 3 s, "
            "reading topics and positions 2 s.",
            id="tasks come up",
        ),
    ],
)
def test_a_flow_that_starts_says_the_stage_and_its_seconds_and_never_that_no_topic_matches(
    row, reason
):
    status = judge_flow(row, at(10))
    assert status.state == FlowState.STARTING
    assert status.reason.replace("\N{NO-BREAK SPACE}", " ") == reason


@pytest.mark.django_db
def test_only_after_its_run_has_read_the_source_a_flow_says_that_no_topic_matches():
    row = make_flow(is_wanted=True, partition_count=0, measured_at=at(8))
    make_run(row, stages={"driver_started": ms(5), "surveyed": ms(7)}, reported_at=at(9))
    status = judge_flow(row, at(10))
    assert status.state == FlowState.WAITING
    assert "No topic of the source matches" in status.reason


def test_a_run_that_cannot_read_a_cluster_says_so_instead_of_its_stage():
    row = starting({"driver_started": 5}, measured=8, worst_reason="east does not answer.")
    assert judge_flow(row, at(10)).reason == "east does not answer."


def test_a_flow_that_takes_new_settings_says_for_how_long_its_run_stops_already():
    status = judge_flow(flow(run=live(cancel_requested_at=at(-4))), NOW)
    assert status.reason.replace("\N{NO-BREAK SPACE}", " ") == (
        "Restarting with the new settings. Stopping the current run: 4 s so far."
    )


ADA = {"by": "ada", "at": NOW.isoformat()}


@pytest.mark.parametrize(
    ("fields", "words", "severity"),
    [
        pytest.param({}, "", Severity.HEALTHY, id="neither"),
        pytest.param(
            {
                "control": {"paused": ["clicks", "orders:3"]},
                "steered_by": {"paused": {"clicks": ADA}},
            },
            "Paused by ada, 21 Nov 03:12 UTC: clicks. Paused by an operator: orders:3.",
            Severity.INFO,
            id="paused",
        ),
        pytest.param(
            {"control": {"paused": ["a", "b", "c", "d", "e"]}},
            "Paused by an operator: a, b, c and 2 more.",
            Severity.INFO,
            id="much is paused",
        ),
        pytest.param(
            {"control": {"max_bytes_per_s": 2048}, "steered_by": {"limit": ADA}},
            "Limited to 2 KiB/s by ada, 21 Nov 03:12 UTC.",
            Severity.INFO,
            id="limited",
        ),
        pytest.param(
            {"max_bytes_per_s": 1024},
            "Limited to 1 KiB/s by the flow's settings.",
            Severity.HEALTHY,
            id="limited by its settings",
        ),
        pytest.param(
            {"max_bytes_per_s": 1024, "control": {"max_bytes_per_s": None}},
            "",
            Severity.HEALTHY,
            id="the limit of its settings is lifted",
        ),
    ],
)
def test_a_running_flow_that_is_held_back_does_not_look_healthy_and_says_by_whom(
    fields, words, severity
):
    status = judge_flow(flow(**fields), NOW)
    assert status.steered.replace("\N{NO-BREAK SPACE}", " ") == words
    assert (status.state, status.severity) == (FlowState.RUNNING, severity)


def test_a_person_who_paused_partitions_is_named_where_they_are_counted():
    why = "Paused by ada, 21 Nov 03:12 UTC."
    row = flow(partition_count=12, states={"paused": 3, "copying": 9}, held_back={why: 3})
    assert judge_flow(row, NOW).reason == (
        "3 of 12 partitions are paused by ada, 21 Nov 03:12 UTC."
    )
