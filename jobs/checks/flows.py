"""Checks of replication flows: whether they run, how far they are behind, and whether groups can fail over.

Silent failures and drift have their rules in `jobs.replication.findings`. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import partial

from jobs.checks.check import Area, Check, Threshold, Unit, check
from jobs.checks.settings import Settings
from jobs.findings import Finding
from jobs.numbers import format_count, format_least, format_span_ms, format_span_s
from jobs.severity import Severity

_flow = partial(Check, area=Area.FLOW)
_seconds = partial(Threshold, unit=Unit.SECONDS)
WARNING_S, CRITICAL_S, TARGET_S, STARTING_S = "warning_s", "critical_s", "target_s", "starting_s"
CRASHES, WITHIN_S = "crashes", "within_s"

# A flow retries until the partitions of a broker that is down have other leaders.
_NEW_LEADER_S = 45
# fmt: off
FAILING = _flow("flow_failing", "Flow failing", "Do runs of the flow survive?",
    "Runs of a flow that is started ended in a row, and none is up.", Severity.CRITICAL,
    runbook="The page of the last run has its log. It is retried, unless its settings were refused.",
    effect="flow failing")
PARTITIONS = _flow("flow_partition_failing", "Flow partitions failing", "Is every partition replicated?",
    "The run reports partitions that failed or are retried, while it replicates others.", Severity.CRITICAL,
    runbook="The page Partitions of the flow has the reason of each. Retries end by themselves.",
    effect="{partitions_failing} replicated partitions failing", open_after_s=_NEW_LEADER_S)
WAITING = _flow("flow_waiting", "Flow waiting", "Is the flow free to replicate?",
    "All partitions are retried, no topic matches, or a cluster of the flow does not answer.",
    Severity.WARNING, runbook="Remove what the finding names. Replication then resumes without loss.",
    effect="flow waiting", open_after_s=_NEW_LEADER_S)
SILENT = _flow("flow_silent", "Flow silent", "Does the run report?",
    "The run is alive and has not reported for 30 s.", Severity.CRITICAL,
    runbook="Check the log of the run. If it shows no progress, stop and start the flow.",
    effect="flow silent")
STALE = _flow("flow_stale", "Flow stale", "Is the flow measured?",
    "Lag and offsets of a running or monitored flow were not measured for 90 s.", Severity.WARNING,
    runbook="Check the worker of the queue flows and the load of the host. Copying does not depend on it.",
    effect="flow not measured")
STOPPED = _flow("flow_stopped", "Flow not running", "Does a flow that is started run?",
    "A flow that is started has been starting for the threshold.", Severity.WARNING,
    runbook="Check the log of its newest run, and that a worker starts runs.", effect="flow not running",
    thresholds=(_seconds(STARTING_S, 300, text="Time that the flow is starting.", least=10, most=86_400),))
CRASHED = _flow("flow_crashed", "Crash loop", "Do runs and tasks of the flow stay up?",
    "Runs or tasks crashed as often as the threshold in the last 24 h, the last time recently.",
    Severity.WARNING, effect="flow crashing",
    runbook="The log of the run has the error of each crash: often memory, or a record that is too large.",
    thresholds=(
        Threshold(CRASHES, 3, Unit.COUNT, "Crashes in 24 h.", least=1, most=1000),
        _seconds(WITHIN_S, 900, text="Time since the last crash.", least=60, most=86_400)))
LAG = _flow("flow_lag", "Replication lag", "Is the flow close behind its source?",
    "The newest source record is newer than the last replicated record by more than a threshold. A flow that "
    "is paused or stopped is not judged, nor one that is not measured now.", Severity.CRITICAL,
    runbook="Check throughput, limits and paused partitions on the page of the flow, then both clusters.",
    effect="replication lag {lag_s} s", open_after_s=60, thresholds=(
        _seconds(WARNING_S, 60, text="Lag for a warning.", least=1),
        _seconds(CRITICAL_S, 300, text="Lag for critical.", least=1)))
RPO = _flow("flow_rpo", "RPO exceeded", "Are few enough records at risk?",
    "Records that the target does not have are older than the target.", Severity.CRITICAL,
    runbook="They are lost if the source is lost now. Reduce the replication lag of the flow.",
    effect="RPO {rpo_s} s", open_after_s=60,
    thresholds=(_seconds(TARGET_S, 300, text="Recovery point objective.", least=1),))
NOT_READY = _flow("flow_not_ready", "Failover not ready", "Can groups fail over now?",
    "The failover readiness of the flow is Warning or Blocked.", Severity.CRITICAL, is_advice=True,
    runbook="The page Checkpoints of the flow has the obstacles of each group.")
# fmt: on
OF_STATES = {
    "failing": FAILING,
    "degraded": PARTITIONS,
    "waiting": WAITING,
    "silent": SILENT,
    "stale": STALE,
}
# What the run does not report, or was not measured, is not over.
_NOT_SEEN = {"silent": {PARTITIONS.id, WAITING.id}, "stale": {PARTITIONS.id, WAITING.id}}


@dataclass(frozen=True, slots=True)
class Offline:
    """Partitions that a flow cannot replicate because they are offline, and the brokers that are down."""

    cluster: str
    partitions: int
    brokers: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class FailoverAnswer:
    """The recorded readiness of a flow and its records at risk; None: not known."""

    severity: Severity
    word: str
    why: str
    since: datetime
    groups: int
    groups_not_ready: int
    rpo_ms: int | None
    rpo_records: int | None


@dataclass(frozen=True, slots=True)
class FlowFacts:
    """A flow as it was last recorded.

    `is_active`: it is started, or MirrorMaker 2 replicates it. `state` is its state in words, with reason,
    hint and begin. `lag_ms` counts while `is_measured`, `failover` is None while it is not fresh.
    """

    pk: int
    name: str
    source: str
    target: str
    state: str
    reason: str = ""
    hint: str = ""
    since: datetime | None = None
    is_active: bool = True
    starting_s: float = 0
    crashes: int = 0
    crashed_at: datetime | None = None
    is_measured: bool = False
    lag_ms: int | None = None
    lag_unknown: int = 0
    partitions_failing: int = 0
    topics: tuple[str, ...] = ()
    offline: tuple[Offline, ...] = ()
    failover: FailoverAnswer | None = None

    @property
    def label(self) -> str:
        places = f"{self.source} to {self.target}"
        return f"Flow {self.name}" if self.name == places else f"Flow {self.name} ({places})"

    def values(self, settings: Settings, one: Check) -> Mapping[str, float] | None:
        return settings.values(one, flow=self.pk)


@check(*OF_STATES.values())
def wrong_state(flow: FlowFacts, settings: Settings) -> Iterator[Finding]:
    """Find a flow whose state needs an operator."""
    found = OF_STATES.get(flow.state)
    if found is None or flow.values(settings, found) is None:
        return
    evidence = {
        "partitions_failing": flow.partitions_failing,
        "topics": list(flow.topics),
        "offline": bool(flow.offline),
        **{f"offline_on_{one.cluster}": one.partitions for one in flow.offline},
        **{f"brokers_of_{one.cluster}": list(one.brokers) for one in flow.offline},
    }
    yield Finding(
        found.id,
        found.severity,
        flow.reason,
        flow.hint or found.runbook,
        evidence=evidence if flow.partitions_failing else {},
        since=flow.since,
        brokers=tuple(sorted({broker for one in flow.offline for broker in one.brokers})),
    )


@check(STOPPED)
def not_running(flow: FlowFacts, settings: Settings) -> Iterator[Finding]:
    """Find a flow that is started and does not come up."""
    limits = flow.values(settings, STOPPED)
    if limits and flow.starting_s >= limits[STARTING_S]:
        span = format_span_s(flow.starting_s)
        yield Finding(
            STOPPED.id,
            STOPPED.severity,
            f"{flow.label} is started and has not run for {span}. {flow.reason}".rstrip(),
            STOPPED.runbook,
            evidence={"starting_s": round(flow.starting_s)},
        )


@check(CRASHED)
def crash_loop(flow: FlowFacts, settings: Settings, now: datetime) -> Iterator[Finding]:
    """Find a flow whose runs or tasks crash again and again."""
    limits = flow.values(settings, CRASHED)
    if limits is None or flow.crashed_at is None or flow.crashes < limits[CRASHES]:
        return
    if (now - flow.crashed_at).total_seconds() <= limits[WITHIN_S]:
        yield Finding(
            CRASHED.id,
            CRASHED.severity,
            f"Runs or tasks of {flow.label} crashed {flow.crashes} times in the last 24 h, the last time at "
            f"{flow.crashed_at:%H:%M:%S} UTC.",
            CRASHED.runbook,
            evidence={"crashes": flow.crashes},
        )


@check(LAG)
def lag(flow: FlowFacts, settings: Settings) -> Iterator[Finding]:
    """Find a flow that is too far behind in time."""
    limits = flow.values(settings, LAG)
    if limits is None or not flow.is_active or flow.lag_ms is None or flow.state == "paused":
        return
    reached = [
        (limits[name], severity)
        for name, severity in ((WARNING_S, Severity.WARNING), (CRITICAL_S, Severity.CRITICAL))
        if flow.lag_ms > limits[name] * 1000
    ]
    if reached:
        limit_s, severity = reached[-1]
        span = format_least(flow.lag_ms, flow.lag_unknown, format_span_ms)
        yield Finding(
            LAG.id,
            severity,
            f"{flow.label} is {span} behind, above {format_span_s(limit_s)}.",
            LAG.runbook,
            evidence={"lag_s": flow.lag_ms // 1000, "limit_s": limit_s},
        )


@check(RPO)
def records_at_risk(flow: FlowFacts, settings: Settings) -> Iterator[Finding]:
    """Find a flow whose records at risk are older than its RPO target."""
    limits, answer = flow.values(settings, RPO), flow.failover
    if limits is None or answer is None or answer.rpo_ms is None or not flow.is_active:
        return
    if answer.rpo_ms > limits[TARGET_S] * 1000:
        yield Finding(
            RPO.id,
            RPO.severity,
            f"{format_count(answer.rpo_records)} records of {flow.label} are at risk, up to "
            f"{format_span_ms(answer.rpo_ms)} old: the RPO target is {format_span_s(limits[TARGET_S])}.",
            RPO.runbook,
            evidence={
                "rpo_s": answer.rpo_ms // 1000,
                "records_at_risk": answer.rpo_records,
                "target_s": limits[TARGET_S],
            },
        )


@check(NOT_READY)
def not_ready(flow: FlowFacts, settings: Settings) -> Iterator[Finding]:
    """Find a flow whose groups cannot fail over, or only with losses."""
    answer = flow.failover
    if answer is None or not flow.is_active or flow.values(settings, NOT_READY) is None:
        return
    if answer.severity in {Severity.WARNING, Severity.CRITICAL}:
        yield Finding(
            NOT_READY.id,
            answer.severity,
            f"Failover readiness of {flow.label}: {answer.word}, {answer.groups_not_ready} of "
            f"{answer.groups} groups are not ready. {answer.why}".rstrip(),
            NOT_READY.runbook,
            evidence={"groups": answer.groups, "groups_not_ready": answer.groups_not_ready},
            since=answer.since,
        )


def judged(flow: FlowFacts) -> set[str]:
    """Return the checks that the recorded state of a flow allows."""
    codes = {one.id for one in OF_STATES.values()} - _NOT_SEEN.get(flow.state, set())
    codes |= {STOPPED.id, CRASHED.id}
    # What is not active has no lag that counts.
    if not flow.is_active or (flow.is_measured and flow.lag_ms is not None):
        codes.add(LAG.id)
    answer = flow.failover
    if not flow.is_active or (answer is not None and answer.severity is not Severity.UNKNOWN):
        codes.add(NOT_READY.id)
    if not flow.is_active or (answer is not None and answer.rpo_ms is not None):
        codes.add(RPO.id)
    return codes


def evaluate(flow: FlowFacts, settings: Settings, now: datetime) -> tuple[Finding, ...]:
    """Return what is wrong with a flow, of the checks that are `judged`."""
    found = (
        *wrong_state(flow, settings),
        *not_running(flow, settings),
        *crash_loop(flow, settings, now),
        *lag(flow, settings),
        *records_at_risk(flow, settings),
        *not_ready(flow, settings),
    )
    codes = judged(flow)
    return tuple(one for one in found if one.code in codes)
