"""Checks of replication flows: whether they run, how far they are behind, and whether copies are equal.

Silent failures and drift have their rules in `jobs.replication.findings`. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial

from jobs.checks.check import (
    Area,
    Check,
    Threshold,
    Unit,
    check,
    severity_of,
    warning_and_critical,
)
from jobs.checks.settings import Settings
from jobs.findings import Finding
from jobs.numbers import format_count, format_least, format_span_ms, format_span_s
from jobs.severity import Severity

_flow = partial(Check, area=Area.FLOW)
_seconds = partial(Threshold, unit=Unit.SECONDS)
TARGET_S, STARTING_S = "target_s", "starting_s"
CRASHES, WITHIN_S = "crashes", "within_s"
AGE_S = "age_s"

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
    effect="replication lag {lag_s} s", open_after_s=60,
    thresholds=warning_and_critical("s", Unit.SECONDS, 60, 300, "Lag", least=1))
RPO = _flow("flow_rpo", "RPO exceeded", "Are few enough records at risk?",
    "Records that the target does not have are older than the target.", Severity.CRITICAL,
    runbook="They are lost if the source is lost now. Reduce the replication lag of the flow.",
    effect="RPO {rpo_s} s", open_after_s=60,
    thresholds=(_seconds(TARGET_S, 300, text="Recovery point objective.", least=1),))
DIFFERS = _flow("copy_differs", "Copy differs", "Do the records of the target equal those of the source?",
    "The latest copy audit found records that are missing, extra, reordered or altered on the target. It "
    "counts until an audit of the same topics or of the whole flow, of the same level or above, finds none.",
    Severity.CRITICAL, effect="copy differs",
    runbook="The page of the audit has the offsets of the records on both sides. Find what removed or wrote "
    "them, repair the topics on the target, then run the audit again.")
AUDIT_OLD = _flow("copy_audit_old", "Copy audit old", "Is it still known that the copy is equal?",
    "The flow was audited, and the latest verdict is older than the threshold. A flow that was never audited "
    "is not judged.", Severity.INFO, is_advice=True,
    runbook="Run the copy audit of the flow again, or schedule it: it reads only what is not proven yet.",
    thresholds=(_seconds(AGE_S, 8 * 86_400, text="Age of the verdict.", least=3600),))
STREAMS = _flow("streams_failover", "Kafka Streams failover not ready",
    "Could Kafka Streams applications resume on the target with their state?",
    "The flow selects the group of the application, which could not resume: topics are not copied, renamed "
    "or of other partition counts, changelogs are behind the checkpoints, offsets are not translated, or the "
    "application id is taken on the target. Unknown is not a finding.",
    Severity.WARNING, is_advice=True,
    runbook="The readiness page of the flow has the reasons for each application, and what to do.")
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
class AuditFacts:
    """The copy audit of a flow that counts: what it found in a sentence, and the first differences."""

    at: datetime
    differs: bool
    level: str
    sentence: str
    counts: Mapping[str, int] = field(default_factory=dict)
    found: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class NotReady:
    """An application that could not resume on the target: why, and what to do."""

    application_id: str
    reasons: tuple[str, ...]
    todo: str = ""
    codes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class FlowFacts:
    """A flow as it was last recorded.

    `is_active`: it is started, or MirrorMaker 2 replicates it. `state` is its state in words, with reason,
    hint and begin. `lag_ms` counts while `is_measured`; None: not known. `offline` counts the partitions that
    cannot be replicated because they are offline, by cluster; `offline_brokers` are down. `audit` None: the
    copy was never audited. `not_ready` None: applications were not judged.
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
    offline: Mapping[str, int] = field(default_factory=dict)
    offline_brokers: tuple[int, ...] = ()
    rpo_ms: int | None = None
    rpo_records: int | None = None
    audit: AuditFacts | None = None
    not_ready: tuple[NotReady, ...] | None = None

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
        **{f"offline_on_{cluster}": count for cluster, count in flow.offline.items()},
    }
    yield found.finding(
        flow.reason,
        flow.hint,
        evidence=evidence if flow.partitions_failing else {},
        since=flow.since,
        brokers=flow.offline_brokers,
    )


@check(STOPPED)
def not_running(flow: FlowFacts, settings: Settings) -> Iterator[Finding]:
    """Find a flow that is started and does not come up."""
    limits = flow.values(settings, STOPPED)
    if limits and flow.starting_s >= limits[STARTING_S]:
        span = format_span_s(flow.starting_s)
        yield STOPPED.finding(
            f"{flow.label} is started and has not run for {span}. {flow.reason}".rstrip(),
            evidence={"starting_s": round(flow.starting_s)},
        )


@check(CRASHED)
def crash_loop(flow: FlowFacts, settings: Settings, now: datetime) -> Iterator[Finding]:
    """Find a flow whose runs or tasks crash again and again."""
    limits = flow.values(settings, CRASHED)
    if limits is None or flow.crashed_at is None or flow.crashes < limits[CRASHES]:
        return
    if (now - flow.crashed_at).total_seconds() <= limits[WITHIN_S]:
        yield CRASHED.finding(
            f"Runs or tasks of {flow.label} crashed {flow.crashes} times in the last 24 h, the last time at "
            f"{flow.crashed_at:%H:%M:%S} UTC.",
            evidence={"crashes": flow.crashes},
        )


@check(LAG)
def lag(flow: FlowFacts, settings: Settings) -> Iterator[Finding]:
    """Find a flow that is too far behind in time."""
    limits = flow.values(settings, LAG)
    if limits is None or not flow.is_active or flow.lag_ms is None or flow.state == "paused":
        return
    severity = severity_of(flow.lag_ms / 1000, limits, "s")
    if severity is not None:
        limit_s = limits[f"{severity.value}_s"]
        span = format_least(flow.lag_ms, flow.lag_unknown, format_span_ms)
        yield LAG.finding(
            f"{flow.label} is {span} behind, above {format_span_s(limit_s)}.",
            severity=severity,
            evidence={"lag_s": flow.lag_ms // 1000, "limit_s": limit_s},
        )


@check(RPO)
def records_at_risk(flow: FlowFacts, settings: Settings) -> Iterator[Finding]:
    """Find a flow whose records at risk are older than its RPO target."""
    limits, rpo_ms = flow.values(settings, RPO), flow.rpo_ms
    if limits is None or rpo_ms is None or not flow.is_active:
        return
    if rpo_ms > limits[TARGET_S] * 1000:
        yield RPO.finding(
            f"{format_count(flow.rpo_records)} records of {flow.label} are at risk, up to "
            f"{format_span_ms(rpo_ms)} old: the RPO target is {format_span_s(limits[TARGET_S])}.",
            evidence={
                "rpo_s": rpo_ms // 1000,
                "records_at_risk": flow.rpo_records,
                "target_s": limits[TARGET_S],
            },
        )


@check(DIFFERS)
def copy_differs(flow: FlowFacts, settings: Settings) -> Iterator[Finding]:
    """Find a flow whose target has other records than its source."""
    audit = flow.audit
    if audit is None or not audit.differs or flow.values(settings, DIFFERS) is None:
        return
    first = f" First: {'; '.join(audit.found)}." if audit.found else ""
    yield DIFFERS.finding(
        f"The copy of {flow.label} differs. {audit.sentence}{first}",
        evidence={**audit.counts, "level": audit.level, "first": list(audit.found)},
        since=audit.at,
    )


@check(AUDIT_OLD)
def audit_is_old(flow: FlowFacts, settings: Settings, now: datetime) -> Iterator[Finding]:
    """Find a flow whose copy was audited, and not again for a long time."""
    limits, audit = flow.values(settings, AUDIT_OLD), flow.audit
    age_s = (now - audit.at).total_seconds() if audit else 0
    if limits and age_s > limits[AGE_S]:
        yield AUDIT_OLD.finding(
            f"The copy of {flow.label} was last audited {format_span_s(age_s)} ago, above "
            f"{format_span_s(limits[AGE_S])}.",
            evidence={"age_s": round(age_s), "limit_s": limits[AGE_S]},
        )


@check(STREAMS)
def applications_not_ready(flow: FlowFacts, settings: Settings) -> Iterator[Finding]:
    """Find Kafka Streams applications that could not resume on the target of a flow."""
    if flow.values(settings, STREAMS) is None:
        return
    for one in flow.not_ready or ():
        yield STREAMS.finding(
            f"Kafka Streams application {one.application_id} could not resume on {flow.target}: "
            f"{' '.join(one.reasons)}",
            one.todo,
            subject=one.application_id,
            evidence={"reasons": list(one.codes)},
        )


def judged(flow: FlowFacts) -> set[str]:
    """Return the checks that the recorded state of a flow allows."""
    codes = {one.id for one in OF_STATES.values()} - _NOT_SEEN.get(flow.state, set())
    codes |= {STOPPED.id, CRASHED.id, DIFFERS.id, AUDIT_OLD.id}
    # What is not active has no lag that counts.
    if not flow.is_active or (flow.is_measured and flow.lag_ms is not None):
        codes.add(LAG.id)
    if not flow.is_active or flow.rpo_ms is not None:
        codes.add(RPO.id)
    if flow.not_ready is not None:
        codes.add(STREAMS.id)
    return codes


def evaluate(flow: FlowFacts, settings: Settings, now: datetime) -> tuple[Finding, ...]:
    """Return what is wrong with a flow, of the checks that are `judged`."""
    found = (
        *wrong_state(flow, settings),
        *not_running(flow, settings),
        *crash_loop(flow, settings, now),
        *lag(flow, settings),
        *records_at_risk(flow, settings),
        *copy_differs(flow, settings),
        *audit_is_old(flow, settings, now),
        *applications_not_ready(flow, settings),
    )
    codes = judged(flow)
    return tuple(one for one in found if one.code in codes)
