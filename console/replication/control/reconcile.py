"""Make what runs agree with what is wanted: at most one live run per flow, and one when it is wanted.

Everything here may run twice or die in the middle: truth is in the run rows (a unique constraint
allows one live run per subject) and every change is a conditional UPDATE.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Q

from console.frame.errors import ActionRefused
from console.frame.security.read_only import is_read_only
from console.replication.control.control import hand_over, takes_settings
from console.replication.flows.models import ReplicationFlow
from console.replication.measurement.collect import measure_soon
from console.runs import actions as runs
from console.runs import queries as run_queries
from console.runs.launcher import SPARK, Launcher
from console.runs.models import LIVE_STATES, Run, RunState
from jobs.cluster.errors import InvalidFields
from jobs.replication.flow.spec import SET_APART_H, FlowEngine
from jobs.spark.control import needs_restart

logger = logging.getLogger(__name__)


def reconcile_flows(now: datetime, launcher: Launcher = SPARK) -> None:
    """Bring every flow that is wanted, going or to be deleted one step closer to what is wanted."""
    due = Q(is_wanted=True) | Q(deletion_asked_at__isnull=False) | Q(run__state__in=LIVE_STATES)
    for flow in ReplicationFlow.objects.filter(due).select_related("source", "target", "run"):
        try:
            reconcile_flow(flow, now, launcher)
        except Exception:
            # One flow that cannot be looked after must not stop the others.
            logger.exception("flow could not be ensured flow=%s", flow.name)


def reconcile_flow(flow: ReplicationFlow, now: datetime, launcher: Launcher = SPARK) -> None:
    """Bring one flow one step closer to what is wanted."""
    run = _adopt_live_run(flow) or flow.run
    if run is not None and run.is_live:
        hand_over(flow, run)
        _watch(flow, run, now)
        return
    if run is not None and flow.judged_run != run.pk:
        _judge(flow, run, now)
    if flow.deletion_asked_at is not None:
        flow.delete()
    elif is_read_only() or flow.is_watched:
        return
    elif flow.is_wanted and (flow.next_try_at is None or flow.next_try_at <= now):
        _start(flow, now, launcher)


def run_arguments(flow: ReplicationFlow) -> dict[str, object]:
    """Return the arguments of a run that copies this flow as it is set now; raises `InvalidFields`."""
    arguments: dict[str, object] = {
        "flow": _flow_of_run(flow),
        "topic_ids": flow.topic_ids,
        "reset_topics": sorted(flow.reset_topics),
    }
    # A restart request that exists when a run begins counts as done: the run starts all partitions.
    return arguments | ({runs.CONTROL: flow.control} if flow.control else {})


def _flow_of_run(flow: ReplicationFlow) -> dict[str, Any]:
    """Return the flow as its run has it; one that was set apart has an application of its own."""
    mapping = flow.spec().to_mapping()
    return mapping | ({"engine": FlowEngine.OWN.value} if flow.set_apart_at else {})


def _adopt_live_run(flow: ReplicationFlow) -> Run | None:
    """Find the live run that the flow does not point at, left by a worker that died in between."""
    if flow.run is not None and flow.run.is_live:
        return None
    found = run_queries.live_run_of(flow.subject)
    if found is not None:
        ReplicationFlow.objects.filter(pk=flow.pk).update(run=found)
        flow.run = found
    return found


def _watch(flow: ReplicationFlow, run: Run, now: datetime) -> None:
    if run.cancel_requested_at is None and _why_to_end(flow, run):
        logger.info("flow's run is ended flow=%s because=%s", flow.name, _why_to_end(flow, run))
        _cancel(run, now)
    elif flow.failures and has_worked(run, now):
        _forget_failures(flow)


def _why_to_end(flow: ReplicationFlow, run: Run) -> str:
    if not flow.is_wanted or flow.is_watched:
        return "stopped"
    if is_read_only():
        return "crosslog is read-only"
    if restarts_for_settings(flow, run):
        return "settings changed"
    if not set(flow.reset_topics) <= set(run.arguments.get("reset_topics") or ()):
        return "topics to be copied from their beginning"
    return ""


def restarts_for_settings(flow: ReplicationFlow, run: Run) -> bool:
    """Return whether a setting changed that the run cannot apply while it is running.

    With invalid settings no new run could begin: the current one keeps its settings.
    """
    try:
        after = _flow_of_run(flow)
    except InvalidFields:
        return False
    # A run of a version without engines of flows has an application of its own.
    before = {"engine": FlowEngine.OWN.value, **(run.arguments.get("flow") or {})}
    return needs_restart(before, after) if takes_settings(run) else before != after


def _cancel(run: Run, now: datetime) -> None:
    try:
        runs.ask_to_end(run.pk, now)
    except ActionRefused:
        logger.info("run ended by itself before it was cancelled run_id=%s", run.pk)


def _forget_failures(flow: ReplicationFlow) -> None:
    ReplicationFlow.objects.filter(pk=flow.pk).update(
        failures=0, failure="", failing_since=None, next_try_at=None
    )


def _judge(flow: ReplicationFlow, run: Run, now: datetime) -> None:
    """Take the end of a run into account, once."""
    verdict = judge_end(run, flow.failures, flow.failing_since, now)
    summary = run.summary or {}
    set_apart_at = (run.finished_at or now) if summary.get("set_apart") else flow.set_apart_at
    changed = ReplicationFlow.objects.filter(pk=flow.pk, judged_run=flow.judged_run).update(
        judged_run=run.pk,
        failures=verdict.failures,
        failure=verdict.failure,
        failing_since=verdict.failing_since,
        next_try_at=None if summary.get("is_final") else verdict.next_try_at,
        set_apart_at=set_apart_at,
    )
    if changed:
        flow.refresh_from_db()


def _start(flow: ReplicationFlow, now: datetime, launcher: Launcher) -> None:
    if flow.set_apart_at and now - flow.set_apart_at >= timedelta(hours=SET_APART_H):
        ReplicationFlow.objects.filter(pk=flow.pk).update(set_apart_at=None)
        flow.set_apart_at = None
    try:
        arguments = run_arguments(flow)
    except InvalidFields as problem:
        _cannot_start(flow, str(problem), now)
        return
    if flow.is_refused and flow.run and arguments["flow"] == flow.run.arguments.get("flow"):
        return
    request = runs.RunRequest("replicate", _title(flow), flow.subject, arguments, flow.created_by)
    run = runs.queue_run(request, now)
    if run is None:
        return  # another worker was faster; the next look finds its run
    pointed = ReplicationFlow.objects.filter(pk=flow.pk, is_wanted=True).update(run=run)
    if not pointed:
        _cancel(run, now)
        return
    runs.launch_run(run.pk, now, launcher)
    measure_soon(flow.pk, now)


def _cannot_start(flow: ReplicationFlow, problem: str, now: datetime) -> None:
    """Write why no run can be queued at all; it is looked at again after the longest wait."""
    ReplicationFlow.objects.filter(pk=flow.pk).update(
        failures=flow.failures + 1,
        failure=f"The settings of the flow are not valid any more: {problem}",
        failing_since=flow.failing_since or now,
        next_try_at=now + timedelta(seconds=LONGEST_WAIT_S),
    )


def _title(flow: ReplicationFlow) -> str:
    return f"Replicate {flow.name}: {flow.source.alias} \N{RIGHTWARDS ARROW} {flow.target.alias}"[
        :200
    ]


# When a flow's run is started again after it ended: pure rules.

# A run that lived this long has worked: its end is the first failure of a new row of failures.
HEALTHY_AFTER = timedelta(seconds=60)
LONGEST_WAIT_S = 60


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the end of a run means: failures in a row, why, since when, and when to try again."""

    failures: int
    failure: str
    failing_since: datetime | None
    next_try_at: datetime


def judge_end(run: Run, failures: int, failing_since: datetime | None, now: datetime) -> Verdict:
    """Return what follows from the end of `run`, the newest of a flow that should be running.

    A requested stop is no failure; every other end is, also a success: a flow has no end.
    """
    ended_at = run.finished_at or now
    if run.state == RunState.STOPPED or run.cancel_requested_at is not None:
        return Verdict(0, "", None, ended_at)
    count = 1 if has_worked(run, ended_at) else failures + 1
    since = failing_since if count > 1 and failing_since else ended_at
    wait = timedelta(seconds=wait_s(count))
    return Verdict(count, run.error or "The run ended unexpectedly.", since, ended_at + wait)


def has_worked(run: Run, now: datetime) -> bool:
    """Return whether the run lived, and reported, long enough to forget the failures before it."""
    if run.started_at is None or run.reported_at is None:
        return False
    return now - run.started_at >= HEALTHY_AFTER


def wait_s(failures: int) -> int:
    """Return how long to wait after this many failures in a row: 1, 2, 4 ... 60 s."""
    # The shift is bounded so that a flow that failed for weeks does not count in huge numbers.
    return min(1 << min(failures - 1, 10), LONGEST_WAIT_S)
