from datetime import timedelta

import pytest

from console.frame.pages.timerange import TimeRange
from console.replication.flows.history import draw_states, list_events, segments
from console.replication.flows.status import FlowState, FlowStatus
from console.runs.models import RunState
from jobs.severity import Severity
from tests.console.making import NOW, make_flow, make_run

pytestmark = pytest.mark.django_db
WELL = FlowStatus(FlowState.RUNNING)


def ago(minutes):
    return NOW - timedelta(minutes=minutes)


def run(flow, start, end=None, state=RunState.RUNNING, **fields):
    times = {"created_at": ago(start), "started_at": ago(start)}
    return make_run(
        flow, **times, finished_at=None if end is None else ago(end), state=state, **fields
    )


def hour():
    return TimeRange.from_query({"range": "1h"}, NOW)


def words(runs, status=WELL):
    return [
        (s.word, s.start, s.end) for s in segments(runs, status) if s.start != s.end
    ]  # a run that started at once has no time of starting


def test_a_live_run_is_running_until_now():
    flow = make_flow()
    assert words([run(flow, 30)]) == [("Running", ago(30), None)]


def test_between_a_run_that_broke_and_the_next_the_flow_was_failing():
    flow = make_flow()
    first = run(flow, 30, 20, RunState.CRASHED, error="Killed\nlog")
    second = run(flow, 18)
    found = list(segments([first, second], WELL))
    assert words([first, second]) == [
        ("Running", ago(30), ago(20)),
        ("Failing", ago(20), ago(18)),
        ("Running", ago(18), None),
    ]
    assert {s.detail for s in found if s.word == "Failing"} == {"Killed"}


def test_after_a_run_that_was_asked_to_end_the_flow_was_stopped():
    flow = make_flow()
    assert words([run(flow, 30, 20, RunState.STOPPED)]) == [
        ("Running", ago(30), ago(20)),
        ("Stopped", ago(20), None),
    ]


def test_a_run_that_waits_is_starting():
    flow = make_flow()
    waiting = make_run(flow, state=RunState.QUEUED, created_at=ago(2), started_at=None)
    assert words([waiting]) == [("Starting", ago(2), None)]


def test_a_live_run_that_is_not_well_is_cut_where_that_began():
    flow = make_flow()
    status = FlowStatus(FlowState.DEGRADED, "1 failed of 9 partitions.", "", ago(7))
    assert words([run(flow, 30)], status) == [
        ("Running", ago(30), ago(7)),
        ("Degraded", ago(7), None),
    ]


def test_states_are_drawn_with_one_query(django_assert_num_queries):
    flow = make_flow()
    for start in range(60, 10, -5):
        run(flow, start, start - 4, RunState.CRASHED)
    flow.status = WELL
    with django_assert_num_queries(1):
        lanes = draw_states(flow, hour(), NOW)
    assert dict(lanes.words) == {"Running": Severity.HEALTHY, "Failing": Severity.CRITICAL}


def test_starts_ends_and_restarts_are_events_that_lead_to_their_run():
    flow = make_flow()
    first = run(flow, 50, 40, RunState.CRASHED, error="Killed\nlog")
    run(flow, 39, 20, RunState.STOPPED)
    run(flow, 10)
    events = list_events(flow, hour())
    assert [(event.at, event.kind) for event in events] == [
        (ago(50), "Run started"),
        (ago(40), "Run failed"),
        (ago(39), "Run restarted"),
        (ago(20), "Run ended"),
        (ago(10), "Run started"),
    ]
    assert events[1].label == "Run crashed: Killed"
    assert events[1].url == f"/runs/{first.pk}/"


def test_a_run_from_before_that_ends_in_the_time_range_is_an_event():
    flow = make_flow()
    run(flow, 200, 30, RunState.SUCCEEDED)
    assert [event.kind for event in list_events(flow, hour())] == ["Run ended"]
