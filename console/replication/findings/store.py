"""Rows of findings: which are open, what a look changes about them, and how long ended ones are kept."""

from __future__ import annotations

from collections.abc import Collection, Container, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import transaction

from console.replication.findings.models import FlowFinding, FlowWatch
from console.replication.flows.models import FlowPartition, ReplicationFlow
from console.replication.measurement.measure import Measured
from console.replication.measurement.store import as_measured
from jobs.limits import CAUTIONS, SENTENCE, short
from jobs.replication.findings.finding import Code, Finding
from jobs.replication.findings.life import OpenFinding, follow
from jobs.severity import Severity

# A topic with thousands of partitions must not create thousands of rows.
MOST_OPEN = 500
_SUBJECT, _TOPIC = 600, 320
_FIELDS = ("severity", "rank", "topic", "partition", "sentence", "todo", "evidence", "last_seen_at")


def measured(flow: ReplicationFlow) -> list[Measured]:
    """Return the partitions of a flow as they were last measured; one query."""
    return [as_measured(row) for row in FlowPartition.objects.filter(flow=flow)]


def save_look(
    flow: ReplicationFlow,
    watch: FlowWatch,
    findings: Sequence[Finding],
    judged: Collection[Code],
    now: datetime,
) -> None:
    """Open, confirm and end findings; a constant number of statements. `watch.pending` is set, not saved."""
    rows = {(r.code, r.subject): r for r in FlowFinding.objects.filter(flow=flow, closed_at=None)}
    known = [_as_open(row) for row in rows.values()]
    told = [_within_limits(one) for one in findings]
    change = follow(known, _pending(watch), _worst(told, rows), judged, now)
    with transaction.atomic():
        FlowFinding.objects.bulk_create([_row(flow, one) for one in change.opened])
        kept = [_confirmed(rows[one.finding.key], one) for one in change.kept]
        FlowFinding.objects.bulk_update(kept, _FIELDS, batch_size=200)
        ended = [rows[one.finding.key] for one in change.closed]
        for row in ended:
            row.closed_at = row.last_seen_at
        FlowFinding.objects.bulk_update(ended, ["closed_at"], batch_size=200)
    watch.pending = [[*key, at.timestamp()] for key, at in change.pending.items()]


def prune_findings(now: datetime) -> int:
    """Remove findings that ended more than FINDINGS_RETENTION_D days ago; return how many."""
    limit = now - timedelta(days=settings.FINDINGS_RETENTION_D)
    return FlowFinding.objects.filter(closed_at__lt=limit).delete()[0]


def _within_limits(one: Finding) -> Finding:
    """Return a finding whose texts fit a row: clients choose names of connectors and settings."""
    evidence = {
        short(name): short(value, SENTENCE) if isinstance(value, str) else value
        for name, value in list(one.evidence.items())[:CAUTIONS]
    }
    return replace(
        one,
        subject=short(one.subject, _SUBJECT),
        topic=short(one.topic, _TOPIC),
        sentence=short(one.sentence, SENTENCE),
        todo=short(one.todo, SENTENCE),
        evidence=evidence,
    )


def _worst(findings: Sequence[Finding], is_open: Container[tuple[str, str]]) -> list[Finding]:
    """Return the findings that are kept: critical ones, and what is open, lest it end for want of room."""

    def place(one: Finding) -> tuple[bool, int]:
        severity = one.severity
        return severity is not Severity.CRITICAL and one.key not in is_open, -severity.rank

    return sorted(findings, key=place)[:MOST_OPEN]


def _pending(watch: FlowWatch) -> dict[tuple[str, str], datetime]:
    return {(c, s): datetime.fromtimestamp(at, UTC) for c, s, at in watch.pending}


def _as_open(row: FlowFinding) -> OpenFinding:
    finding = Finding(
        Code(row.code),
        Severity(row.severity),
        row.sentence,
        row.todo,
        row.subject,
        row.topic,
        row.partition,
        row.evidence,
    )
    return OpenFinding(finding, row.opened_at, row.last_seen_at)


def _row(flow: ReplicationFlow, one: OpenFinding) -> FlowFinding:
    finding = one.finding
    return FlowFinding(
        flow=flow,
        code=finding.code.value,
        subject=finding.subject,
        opened_at=one.opened_at,
        **_values(one),
    )


def _confirmed(row: FlowFinding, one: OpenFinding) -> FlowFinding:
    for name, value in _values(one).items():
        setattr(row, name, value)
    return row


def _values(one: OpenFinding) -> dict[str, Any]:
    finding = one.finding
    return {
        "severity": finding.severity.value,
        "rank": finding.severity.rank,
        "topic": finding.topic,
        "partition": finding.partition,
        "sentence": finding.sentence,
        "todo": finding.todo,
        "evidence": dict(finding.evidence),
        "last_seen_at": one.last_seen_at,
    }
