"""The status of a flow: state, reason and what to do. Pure rules, worst first."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum

from console.frame.pages.freshness import Freshness, stale_after_s
from console.replication.control.stages import in_words, moment, stages_of, was_read
from console.replication.control.steering import steering_in_words, steering_of
from console.replication.flows.models import FlowRound, ReplicationFlow
from console.runs.models import Run, RunState
from jobs.numbers import format_age, format_span_s
from jobs.replication.copy.contract import CopyState
from jobs.severity import Severity
from jobs.spark.contract import DRIVER_STARTED

# How long a flow without a run rests between two measurements; one with a run is measured more often.
RESTS_S = 30
# The driver reports every second; this long without a report is a finding.
SILENT_AFTER = timedelta(seconds=30)
# How a run's error ends before the lines of its log (console.runs.collect, jobs.spark.run_supervisor).
_LOG_FOLLOWS = "Last lines of its log:"
_NAMES_AN_ERROR = re.compile(r"Error|Exception|ERROR|FATAL|Killed")


class FlowState(StrEnum):
    """The states of a flow."""

    RUNNING = "running"
    STARTING = "starting"
    STOPPING = "stopping"
    STOPPED = "stopped"
    PAUSED = "paused"
    DEGRADED = "degraded"
    WAITING = "waiting"
    SILENT = "silent"
    STALE = "stale"
    FAILING = "failing"
    DELETING = "deleting"
    WATCHED = "watched"


SEVERITIES = {
    FlowState.RUNNING: Severity.HEALTHY,
    FlowState.STARTING: Severity.INFO,
    FlowState.STOPPING: Severity.INFO,
    FlowState.STOPPED: Severity.UNKNOWN,
    FlowState.PAUSED: Severity.INFO,
    FlowState.WATCHED: Severity.INFO,
    FlowState.DELETING: Severity.INFO,
    FlowState.WAITING: Severity.WARNING,
    FlowState.DEGRADED: Severity.CRITICAL,
    FlowState.SILENT: Severity.CRITICAL,
    FlowState.STALE: Severity.WARNING,
    FlowState.FAILING: Severity.CRITICAL,
}


@dataclass(frozen=True, slots=True)
class FlowStatus:
    """State, reason, since when (None: unknown), and what to do.

    `steered` names paused parts and limits, by whom and since when; `is_steered`: not by its settings alone.
    """

    state: FlowState
    reason: str = ""
    hint: str = ""
    since: datetime | None = None
    steered: str = ""
    is_steered: bool = False

    @property
    def severity(self) -> Severity:
        """A running flow with paused parts or a limit has the severity info."""
        if self.state is FlowState.RUNNING and self.is_steered:
            return Severity.INFO
        return SEVERITIES[self.state]

    @property
    def is_wrong(self) -> bool:
        """Whether a person should look at it."""
        return self.severity in {Severity.WARNING, Severity.CRITICAL}


def judge_flow(flow: ReplicationFlow, now: datetime) -> FlowStatus:
    """Return the state of a flow from its row, its newest run and its rounds (prefetched)."""
    is_steered = any(not one.is_setting for one in steering_of(flow))
    status = _judge(flow, now)
    status = _late(flow, now) or status if status.state in _MEASURED else status
    return replace(status, steered=steering_in_words(flow), is_steered=is_steered)


_MEASURED = frozenset({FlowState.RUNNING, FlowState.WATCHED})


def _late(flow: ReplicationFlow, now: datetime) -> FlowStatus | None:
    """Return that nothing has measured this flow for longer than it should be; None when it was measured."""
    measured = Freshness("flow", flow.measured_at, stale_after_s=stale_after_s(RESTS_S, None))
    if not measured.is_late(now):
        return None
    return FlowStatus(
        FlowState.STALE,
        f"Lag and offsets were last measured {format_age(flow.measured_at, now)}.",
        "The worker of the queue flows does not run or is overloaded. Check its log and the load of the "
        "host; "
        "start it, or add a worker. Replication does not depend on it.",
        flow.measured_at,
    )


def _judge(flow: ReplicationFlow, now: datetime) -> FlowStatus:
    live = flow.run if flow.run is not None and flow.run.is_live else None
    if flow.deletion_asked_at is not None:
        return FlowStatus(FlowState.DELETING, "The flow is deleted as soon as its run has stopped.")
    if flow.is_watched and live is None:
        return _watched(flow)
    return _judge_wanted(flow, live, now) if flow.is_wanted else _unwanted(flow)


def _judge_wanted(flow: ReplicationFlow, live: Run | None, now: datetime) -> FlowStatus:
    if live is None:
        return _without_run(flow, now)
    if live.cancel_requested_at is not None:
        since = live.cancel_requested_at
        stopping = format_span_s(max((now - since).total_seconds(), 0))
        reason = f"Restarting with the new settings. Stopping the current run: {stopping} so far."
        return FlowStatus(FlowState.STARTING, reason, "", since)
    if live.state == RunState.QUEUED or live.reported_at is None:
        return _coming_up(flow, now)
    return _with_report(flow, now)


def _unwanted(flow: ReplicationFlow) -> FlowStatus:
    run = flow.run
    if run is not None and run.is_live:
        return FlowStatus(
            FlowState.STOPPING,
            "Records in flight are flushed and positions committed.",
            "",
            run.cancel_requested_at,
        )
    return FlowStatus(FlowState.STOPPED, "", "", run.finished_at if run else None)


def _watched(flow: ReplicationFlow) -> FlowStatus:
    """Return the status of a monitored flow."""
    failing = [row for row in flow.rounds.all() if row.failing_since is not None]
    if failing:
        told = f"MirrorMaker 2 replicates this flow; it cannot be monitored now: {failing[0].error}"
        return FlowStatus(FlowState.WAITING, told, failing[0].hint, failing[0].failing_since)
    if flow.measured_at is not None and not flow.partition_count:
        return FlowStatus(
            FlowState.WAITING,
            f"MirrorMaker 2 has no positions in mm2-offsets.{flow.source.alias}.internal on "
            f"{flow.target.alias} for a topic of this flow.",
            "Check whether MirrorMaker 2 runs, and whether its clusters have these aliases.",
        )
    return FlowStatus(
        FlowState.WATCHED,
        "MirrorMaker 2 replicates this flow; crosslog monitors it. Positions are as old as MirrorMaker "
        "2's last "
        "commit, by default up to a minute.",
    )


def _without_run(flow: ReplicationFlow, now: datetime) -> FlowStatus:
    if not flow.failures:
        return FlowStatus(FlowState.STARTING, "A run is being started.", "", None)
    return FlowStatus(
        FlowState.FAILING,
        f"{_attempts(flow)} The last one: {in_short(flow.failure)}",
        f"{_next_try(flow, now)} The page of the run has the full log.",
        flow.failing_since,
    )


def _coming_up(flow: ReplicationFlow, now: datetime) -> FlowStatus:
    run = flow.run
    since = run.created_at if run else None
    stages = stages_of(run, now)
    where = in_words(stages) if stages and not stages[-1].is_done else "Tasks starting."
    if not flow.failures:
        return FlowStatus(FlowState.STARTING, where, "", since)
    return FlowStatus(
        FlowState.FAILING,
        f"{_attempts(flow)} The last one: {in_short(flow.failure)}",
        f"A new run is starting. {where}",
        flow.failing_since,
    )


def _is_reading(flow: ReplicationFlow) -> bool:
    """Return whether the run has not read both clusters yet, or is not measured since."""
    if was_read(flow) or flow.run is None:
        return False
    started_at = moment(flow.run, DRIVER_STARTED)
    if flow.measured_at is None or started_at is None or flow.measured_at < started_at:
        return True
    # Partitions that wait for a cluster have a reason.
    return not flow.worst_reason


def _with_report(flow: ReplicationFlow, now: datetime) -> FlowStatus:
    """Judge a flow whose run is alive and has reported."""
    run = flow.run
    assert run is not None and run.reported_at is not None  # noqa: S101, PT018  judge_flow saw to it
    if _is_reading(flow):
        return _coming_up(flow, now)
    if now - run.reported_at > SILENT_AFTER:
        return FlowStatus(
            FlowState.SILENT,
            f"The run is alive but last reported {format_age(run.reported_at, now)}.",
            "Check the log of the run. If it shows no progress, stop and start the flow.",
            run.reported_at,
        )
    failed = count(flow, CopyState.FAILED)
    retrying = count(flow, CopyState.RETRYING)
    if retrying and retrying == open_partitions(flow):
        return FlowStatus(
            FlowState.WAITING,
            first_line(flow.worst_reason),
            "Replication resumes without loss when both clusters answer again.",
            flow.worst_since,
        )
    if failed or retrying:
        return _degraded(flow, failed, retrying)
    if not flow.partition_count:
        return _nothing_to_copy(flow)
    return _healthy(flow, run, now)


def _healthy(flow: ReplicationFlow, run: Run, now: datetime) -> FlowStatus:
    """Judge a flow none of whose partitions is in trouble."""
    open_ones = open_partitions(flow)
    if count(flow, CopyState.STARTING) == open_ones:
        return _coming_up(flow, now)
    if open_ones and count(flow, CopyState.PAUSED) == open_ones:
        return _paused(flow)
    reasons = [_held_back(flow), _gone(flow)]
    return FlowStatus(FlowState.RUNNING, " ".join(filter(None, reasons)), "", run.started_at)


def _paused(flow: ReplicationFlow) -> FlowStatus:
    """Return the status of a flow whose partitions are all paused."""
    by_hand = any(map(_is_by_hand, flow.held_back))
    hint = (
        "Resume topics or partitions. Paused ones stay paused when the flow is stopped and started."
        if by_hand
        else "Replication resumes in the next catch-up window. To resume now, remove the windows."
    )
    return FlowStatus(FlowState.PAUSED, _held_back(flow), hint, flow.worst_since)


def _held_back(flow: ReplicationFlow) -> str:
    """Return how many partitions are paused and why, those first that a user paused."""
    reasons = sorted(flow.held_back.items(), key=lambda entry: not _is_by_hand(entry[0]))
    return " ".join(_waits(number, flow.partition_count or 0, why) for why, number in reasons)


def _waits(number: int, of: int, why: str) -> str:
    verb = "is" if of == 1 else "are"
    text = f"{number} of {of} partition{'' if of == 1 else 's'} {verb} paused"
    return f"{text}{why.removeprefix('Paused')}" if _is_by_hand(why) else f"{text}. {why}"


def _is_by_hand(why: str) -> bool:
    """Return whether a user paused the partition (`steering.with_person`)."""
    return why.startswith("Paused by ")


def _gone(flow: ReplicationFlow) -> str:
    """Return which partitions a running flow no longer replicates because their topic was deleted."""
    stopped = count(flow, CopyState.STOPPED)
    if not stopped:
        return ""
    return f"{stopped} of {flow.partition_count} partitions are not replicated. {flow.worst_reason}"


def _degraded(flow: ReplicationFlow, failed: int, retrying: int) -> FlowStatus:
    parts = [f"{failed} failed"] if failed else []
    parts += [f"{retrying} retrying"] if retrying else []
    return FlowStatus(
        FlowState.DEGRADED,
        f"{' and '.join(parts)} of {flow.partition_count} partitions. "
        f"{first_line(flow.worst_reason)}",
        "The other partitions are replicated. The page Partitions shows the reason of each failure."
        if failed
        else "They are retried automatically.",
        flow.worst_since,
    )


def _nothing_to_copy(flow: ReplicationFlow) -> FlowStatus:
    if flow.worst_reason:
        return FlowStatus(FlowState.WAITING, first_line(flow.worst_reason), "", flow.worst_since)
    failing = [r for r in flow.rounds.all() if r.failing_since is not None]
    source = [r for r in failing if r.noun == FlowRound.Noun.SOURCE]
    if source:
        return FlowStatus(
            FlowState.WAITING, source[0].error, source[0].hint, source[0].failing_since
        )
    return FlowStatus(
        FlowState.WAITING,
        "No topic of the source matches the patterns of the flow.",
        "The preview in the settings shows why. New topics are found within seconds.",
    )


def count(flow: ReplicationFlow, state: CopyState) -> int:
    """Return how many partitions of the flow are in this state."""
    return int(flow.states.get(state.value, 0))


def open_partitions(flow: ReplicationFlow) -> int:
    """Return how many partitions could be copied: neither failed nor gone from the source."""
    closed = {CopyState.FAILED.value, CopyState.STOPPED.value}
    return sum(number for state, number in flow.states.items() if state not in closed)


def first_line(text: str) -> str:
    return text.strip().partition("\n")[0]


def in_short(failure: str) -> str:
    """Return what happened, and of a log behind it the last line that names an error."""
    what, _, log = failure.strip().partition("\n")
    errors = [line.strip() for line in log.splitlines() if _NAMES_AN_ERROR.search(line)]
    return " ".join([what.removesuffix(_LOG_FOLLOWS).strip(), *errors[-1:]])


def _next_try(flow: ReplicationFlow, now: datetime) -> str:
    if flow.is_refused:
        return "It is not retried automatically. Change the settings, or start the flow again."
    if flow.next_try_at is None or flow.next_try_at <= now:
        return "The next attempt is due now."
    return f"The next attempt is {format_age(flow.next_try_at, now)}."


def _attempts(flow: ReplicationFlow) -> str:
    return "The run failed." if flow.failures == 1 else f"{flow.failures} runs failed in a row."
