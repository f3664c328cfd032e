"""Look at flows for what fails without a word: ask both clusters -> apply the rules -> write findings."""

from __future__ import annotations

import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from django.db.models import QuerySet
from django.utils import timezone

from console.findings import store
from console.findings.check_settings import read_settings
from console.findings.queries import open_findings
from console.frame.rounds import Clock, Outcome, Rounds
from console.replication.findings.models import FlowWatch
from console.replication.findings.snapshot import (
    KAFKA,
    FlowQueries,
    TranslatorOf,
    measured,
    take_snapshot,
)
from console.replication.flows.models import ReplicationFlow
from console.replication.translation.translator import open_flow_translator
from jobs.cluster.errors import ClusterFault
from jobs.findings import Finding
from jobs.limits import SENTENCE, beyond, short
from jobs.replication.findings.codes import DRIFT, LIFE, Code
from jobs.replication.findings.connect_topics import SOURCE_CONNECTOR
from jobs.replication.findings.drift import broken_patterns, drift_findings
from jobs.replication.findings.memory import FlowMemory
from jobs.replication.findings.reading import WireAnswers
from jobs.replication.findings.silent_failures import Judgement, evaluate_snapshot
from jobs.replication.flow.spec import FlowSpec

EVERY = timedelta(seconds=60)
DRIFT_EVERY = timedelta(minutes=10)
BUDGET_S = 40.0


def _kept_flows() -> QuerySet[ReplicationFlow]:
    flows = ReplicationFlow.objects.filter(deletion_asked_at=None)
    return flows.select_related("source", "target", "run")


FINDINGS: Rounds[ReplicationFlow, FlowWatch] = Rounds(
    name="findings",
    rows=FlowWatch,
    of="flow",
    subjects=_kept_flows,
    every_s=EVERY.total_seconds,
    activity="judging",
    # Longer than a look can take: `BUDGET_S`, and what is under way when it ends.
    claim=timedelta(seconds=110),
)


def look_at_flow(
    flow_id: int,
    clock: Clock = timezone.now,
    kafka: FlowQueries = KAFKA,
    translator_of: TranslatorOf = open_flow_translator,
) -> bool:
    """Look at one flow when it is due; return whether it was. Never raises a fault."""
    return FINDINGS.run(
        flow_id, lambda flow, watch: _look(flow, watch, clock(), kafka, translator_of), clock
    )


def _look(
    flow: ReplicationFlow,
    watch: FlowWatch,
    now: datetime,
    kafka: FlowQueries,
    translator_of: TranslatorOf,
) -> Outcome:
    begun = time.monotonic()
    spec, settings = flow.spec(), read_settings()
    wire = _ask(flow, spec, watch, kafka)
    snapshot = take_snapshot(flow, spec, wire, now, kafka, translator_of)
    snapshot = replace(snapshot, pk=flow.pk, settings=settings)
    judgement = evaluate_snapshot(snapshot, FlowMemory.from_mapping(watch.memory))
    faults = dict(wire.faults)
    drift = None
    if _is_looked_at(flow) and time.monotonic() - begun <= BUDGET_S:
        drift = _drift(spec, watch, now, kafka, wire, faults)
    findings = settings.in_force((*judgement.findings, *(drift or ())), flow=flow.pk)
    pending = {(code, about): datetime.fromtimestamp(at, UTC) for code, about, at in watch.pending}
    codes = _judged(flow, judgement, drift)
    pending = store.save(flow, LIFE, findings, now, codes, pending)
    if told := beyond(len(findings), LIFE.most_open, "findings"):
        faults["findings"] = told
    return Outcome(
        {
            "memory": judgement.memory.to_mapping(),
            "pending": [[*key, at.timestamp()] for key, at in pending.items()],
            "syncs": watch.syncs if wire.tail is None else wire.tail.to_mapping(),
            "faults": {part: short(text, SENTENCE) for part, text in faults.items()},
            "drift_at": watch.drift_at,
        }
    )


def _is_looked_at(flow: ReplicationFlow) -> bool:
    """Clusters are queried only for flows that run or are monitored; for others only rows are judged."""
    return flow.is_watched or flow.is_wanted


def _judged(
    flow: ReplicationFlow, judgement: Judgement, drift: list[Finding] | None
) -> frozenset[Code]:
    """For a stopped flow every rule counts as judged, so that its findings are resolved."""
    if not _is_looked_at(flow):
        return frozenset(Code)
    return judgement.judged | (DRIFT if drift is not None else frozenset[Code]())


def _ask(
    flow: ReplicationFlow, spec: FlowSpec, watch: FlowWatch, kafka: FlowQueries
) -> WireAnswers:
    """Query both clusters."""
    if not _is_looked_at(flow):
        return WireAnswers()
    where = [row.where for row in measured(flow)]
    try:
        return kafka.wire(spec, where, watch.syncs, BUDGET_S)
    except ClusterFault as fault:
        return WireAnswers(faults={"clusters": str(fault)})


def _drift(
    spec: FlowSpec,
    watch: FlowWatch,
    now: datetime,
    kafka: FlowQueries,
    wire: WireAnswers,
    faults: dict[str, str],
) -> list[Finding] | None:
    """Return what differs on the two sides; None between two comparisons, or when one failed."""
    if not _is_drift_due(watch, now):
        return None
    try:
        report = kafka.drift(spec)
    except ClusterFault as fault:
        faults["drift"] = str(fault)
        return None
    watch.drift_at = now

    def setting(name: str) -> str | None:
        return None if wire.configs is None else wire.configs.setting(SOURCE_CONNECTOR, name)

    syncs = setting("sync.topic.configs.enabled") != "false"
    found = list(drift_findings(spec, report, sync_is_on=syncs))
    known = {one.key for one in found}
    found += [one for one in broken_patterns([setting("topics") or ""]) if one.key not in known]
    return found


def _is_drift_due(watch: FlowWatch, now: datetime) -> bool:
    """What one comparison has seen, and topics that are missing, are looked at again soon."""
    if watch.drift_at is None or now - watch.drift_at >= DRIFT_EVERY:
        return True
    if any(Code(code) in DRIFT for code, *_ in watch.pending):
        return True
    missing = open_findings(LIFE.kind, flow=watch.flow).filter(code=Code.TOPIC_MISSING.value)
    return missing.exists()
