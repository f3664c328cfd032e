"""The history of a flow from its runs: states as a timeline, starts and ends as events."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from itertools import pairwise

from django.urls import reverse

from console.frame.pages.state_timeline import (
    Event,
    StateInterval,
    StateTimeline,
    TimelineRow,
    draw_timeline,
    in_order,
)
from console.frame.pages.states import spoken
from console.frame.pages.timerange import TimeRange
from console.replication.flows.models import ReplicationFlow
from console.replication.flows.status import FlowStatus, first_line
from console.runs import queries as run_queries
from console.runs.models import Run, RunState
from jobs.severity import Severity

# A flow that fails every minute for hours: the newest of its runs tell enough.
MOST_RUNS = 200
MOST_EVENTS = 50
_ENDED_BADLY = {RunState.FAILED, RunState.CRASHED}


def list_events(flow: ReplicationFlow, time_range: TimeRange) -> list[Event]:
    """Return starts, restarts and ends of runs within the time range; one query."""
    runs = _runs_until(flow, time_range.end)
    found = [event for before, run in pairwise([None, *runs]) if run for event in _of(before, run)]
    inside = [event for event in found if time_range.start <= event.at <= time_range.end]
    return in_order(inside, MOST_EVENTS)


def draw_states(flow: ReplicationFlow, time_range: TimeRange, now: datetime) -> StateTimeline:
    """Return the states of a flow (with its status) over the time range; one query."""
    runs = _runs_until(flow, time_range.end)
    return draw_timeline([TimelineRow("State", list(segments(runs, flow.status)))], time_range, now)


def segments(runs: Sequence[Run], status: FlowStatus) -> Iterator[StateInterval]:
    """Yield the states of the flow, oldest first: starting, running, then failing or stopped.

    `status` is the state now: a live run with a problem is cut where that began.
    """
    for run, after in pairwise([*runs, None]):
        if run is None:
            return
        yield from _while_alive(run, status)
        if run.finished_at is not None:
            yield _after_end(run, run.finished_at, after.created_at if after else None)


def _runs_until(flow: ReplicationFlow, end: datetime) -> list[Run]:
    runs = run_queries.list_runs_of(flow.subject).filter(created_at__lte=end)
    return list(reversed(runs[:MOST_RUNS]))


def _while_alive(run: Run, status: FlowStatus) -> Iterator[StateInterval]:
    href = _address(run)
    began = run.started_at or run.finished_at
    yield StateInterval("Starting", Severity.INFO, run.created_at, began, href)
    if run.started_at is None:
        return
    since = status.since if run.is_live and status.is_wrong else None
    if since is None or since < run.started_at:
        yield StateInterval("Running", Severity.HEALTHY, run.started_at, run.finished_at, href)
        return
    yield StateInterval("Running", Severity.HEALTHY, run.started_at, since, href)
    yield StateInterval(spoken(status.state), status.severity, since, None, href, status.reason)


def _after_end(run: Run, end: datetime, until: datetime | None) -> StateInterval:
    if run.state in _ENDED_BADLY:
        return StateInterval(
            "Failing", Severity.CRITICAL, end, until, _address(run), first_line(run.error)
        )
    return StateInterval("Stopped", Severity.UNKNOWN, end, until, _address(run))


def _of(before: Run | None, run: Run) -> Iterator[Event]:
    if run.started_at is not None:
        yield _start(before, run, run.started_at)
    if run.finished_at is not None:
        yield _end(run, run.finished_at)


def _start(before: Run | None, run: Run, at: datetime) -> Event:
    if before is not None and before.state in _ENDED_BADLY:
        text = "Run restarted after a failure"
        return Event(at, "Run restarted", text, Severity.WARNING, _address(run))
    return Event(at, "Run started", "Run started", Severity.INFO, _address(run))


def _end(run: Run, at: datetime) -> Event:
    if run.state in _ENDED_BADLY:
        text = f"Run {run.state.lower()}: {first_line(run.error)}".removesuffix(": ")
        return Event(at, "Run failed", text, Severity.CRITICAL, _address(run))
    text = "Run stopped" if run.state == RunState.STOPPED else "Run ended"
    return Event(at, "Run ended", text, Severity.UNKNOWN, _address(run))


def _address(run: Run) -> str:
    return reverse("runs:detail", args=[run.pk])
