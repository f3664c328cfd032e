"""Look at flows for what fails without a word: ask both clusters -> apply the rules -> write findings."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from django.db.models import Q

from console.findings import store
from console.frame.processes.work_sharing import longest_waiting
from console.replication.findings.door import KAFKA, FindingDoor
from console.replication.findings.models import FlowWatch
from console.replication.findings.snapshot import TranslatorOf, measured, take_snapshot
from console.replication.flows.models import ReplicationFlow
from console.replication.translation.translator import open_flow_translator
from jobs.cluster.errors import ClusterFault, InvalidFields
from jobs.findings import Finding
from jobs.limits import SENTENCE, beyond, short
from jobs.logs import own_fault
from jobs.replication.findings.codes import DRIFT, LIFE, Code
from jobs.replication.findings.connect_topics import SOURCE_CONNECTOR
from jobs.replication.findings.drift import broken_patterns, drift_findings
from jobs.replication.findings.memory import FlowMemory
from jobs.replication.findings.reading import WireAnswers
from jobs.replication.findings.silent_failures import Judgement, evaluate_snapshot
from jobs.replication.flow.spec import FlowSpec

logger = logging.getLogger(__name__)

EVERY = timedelta(seconds=60)
DRIFT_EVERY = timedelta(minutes=10)
# Longer than a look can take: `BUDGET_S`, and what is under way when it ends.
CLAIM = timedelta(seconds=110)
BUDGET_S = 40.0


def due_flows(now: datetime) -> list[int]:
    """Return the ids of flows that are due for a look, the one that waits longest first.

    Flows that are being deleted are skipped.
    """
    due = Q(watch=None) | Q(watch__claimed_until=None) | Q(watch__claimed_until__lt=now)
    flows = ReplicationFlow.objects.filter(due, deletion_asked_at=None)
    return longest_waiting(flows, "watch__claimed_until")


def look_at_flow(
    flow_id: int,
    now: datetime,
    door: FindingDoor = KAFKA,
    translator_of: TranslatorOf = open_flow_translator,
) -> bool:
    """Look at one flow; False when another worker does it now, or there is no such flow."""
    flow = (
        ReplicationFlow.objects.select_related("source", "target", "run").filter(pk=flow_id).first()
    )
    if flow is None or not _claim(flow, now):
        return False
    begun = time.monotonic()
    watch = FlowWatch.objects.get(flow=flow)
    try:
        _look(flow, watch, now, door, translator_of)
    except InvalidFields as problem:
        watch.faults = {"settings of the flow": str(problem)}
    except Exception:
        logger.exception("look failed flow=%s", flow.name)
        watch.faults = {"crosslog": own_fault("judging")}
    watch.looked_at = now
    watch.duration_ms = int((time.monotonic() - begun) * 1000)
    # A little less than the interval, so that the next tick of the clock finds the flow due.
    watch.claimed_until = now + EVERY - timedelta(seconds=1)
    watch.save()
    return True


def _claim(flow: ReplicationFlow, now: datetime) -> bool:
    FlowWatch.objects.get_or_create(flow=flow)
    due = Q(claimed_until=None) | Q(claimed_until__lt=now)
    return bool(FlowWatch.objects.filter(due, flow=flow).update(claimed_until=now + CLAIM))


def _look(
    flow: ReplicationFlow,
    watch: FlowWatch,
    now: datetime,
    door: FindingDoor,
    translator_of: TranslatorOf,
) -> None:
    begun = time.monotonic()
    spec = flow.spec()
    wire = _ask(flow, spec, watch, door)
    snapshot = take_snapshot(flow, spec, wire, now, door, translator_of)
    judgement = evaluate_snapshot(snapshot, FlowMemory.from_mapping(watch.memory))
    faults = dict(wire.faults)
    drift = None
    if _is_looked_at(flow) and time.monotonic() - begun <= BUDGET_S:
        drift = _drift(spec, watch, now, door, wire, faults)
    findings = (*judgement.findings, *(drift or ()))
    pending = {(code, about): datetime.fromtimestamp(at, UTC) for code, about, at in watch.pending}
    codes = _judged(flow, judgement, drift)
    pending = store.save(flow, LIFE, findings, now, codes, pending)
    watch.pending = [[*key, at.timestamp()] for key, at in pending.items()]
    watch.memory = judgement.memory.to_mapping()
    if told := beyond(len(findings), LIFE.most_open, "findings"):
        faults["findings"] = told
    watch.faults = {part: short(text, SENTENCE) for part, text in faults.items()}
    if wire.tail is not None:
        watch.syncs = wire.tail.to_mapping()


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


def _ask(flow: ReplicationFlow, spec: FlowSpec, watch: FlowWatch, door: FindingDoor) -> WireAnswers:
    """Query both clusters."""
    if not _is_looked_at(flow):
        return WireAnswers()
    where = [row.where for row in measured(flow)]
    try:
        return door.wire(spec, where, watch.syncs, BUDGET_S)
    except ClusterFault as fault:
        return WireAnswers(faults={"clusters": str(fault)})


def _drift(
    spec: FlowSpec,
    watch: FlowWatch,
    now: datetime,
    door: FindingDoor,
    wire: WireAnswers,
    faults: dict[str, str],
) -> list[Finding] | None:
    """Return what differs on the two sides; None between two comparisons, or when one failed."""
    if not _is_drift_due(watch, now):
        return None
    try:
        report = door.drift(spec)
    except ClusterFault as fault:
        faults["drift"] = str(fault)
        return None
    watch.drift_at = now
    setting = _settings_of(wire)
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
    missing = store.of(watch.flow, LIFE.kind).filter(code=Code.TOPIC_MISSING.value)
    return missing.filter(closed_at=None).exists()


def _settings_of(wire: WireAnswers) -> Callable[[str], str | None]:
    configs = wire.configs
    return lambda name: None if configs is None else configs.setting(SOURCE_CONNECTOR, name)
