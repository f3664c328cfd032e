"""Template context of the promotion pages."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any
from urllib.parse import urlencode

from django.urls import reverse
from django.utils import timezone

from console.availability.acting.models import HeldPromotion
from console.availability.advice.models import PromotionRound
from console.availability.promotion import queries
from console.availability.promotion.models import ActionState, PromotionAction
from console.availability.promotion.queries import StopState
from console.availability.status.models import PartitionStatus
from console.clusters.models import Cluster
from console.findings.models import Finding, Kind
from console.findings.queries import open_findings
from jobs.availability.runbooks.runbook import Trouble, TroubleCause, cause_of
from jobs.availability.status.severity import Severity
from jobs.numbers import format_count, format_span_ms, format_span_s

STATE_SEVERITY = {
    ActionState.ADVISED: "warning",
    ActionState.PLANNED: "warning",
    ActionState.ASKED: "info",
    ActionState.ACTING: "info",
    ActionState.VERIFIED: "healthy",
    ActionState.REVERT_ASKED: "info",
    ActionState.REVERTING: "info",
    ActionState.REVERTED: "healthy",
    ActionState.LAPSED: "unknown",
    ActionState.REFUSED: "warning",
    ActionState.FAILED: "critical",
}
MOST_FINDINGS = 50
WANTED = "Advice to promote that waits for confirmation, or for an automatic policy."
HELD = "Promotions by crosslog that are not reverted yet."
IN_ISR = "Observer replicas in the ISR, one per partition and broker, however they were promoted."


def promotion_facts(
    cluster: Cluster,
    live: Sequence[PromotionAction],
    row: PromotionRound | None,
    stop: StopState,
    loops: Sequence[Any],
) -> list[dict[str, Any]]:
    """Return the tiles of the page."""
    waiting = [one for one in live if one.is_waiting]
    standing = [one for one in live if one.is_in_effect]
    blocked = (
        open_findings(Kind.OBSERVERS, cluster=cluster).filter(code="promotion_blocked").count()
    )
    return [
        _wanted(waiting, blocked, row),
        {
            "label": "Promoted by crosslog",
            "value": format_count(len(standing)),
            "note": ", ".join(one.subject for one in standing[:3]) or "none",
            "definition": HELD,
        },
        {
            "label": "Observers in the ISR",
            "value": format_count(row.observers_in_isr if row else None),
            "note": f"of {format_count(row.judged_count)} partitions with observers" if row else "",
            "definition": IN_ISR,
        },
        _who(row, loops),
        {
            "label": "Stop switch",
            "value": "On" if stop.is_on else "Off",
            "severity": "critical" if stop.is_on else "",
            "note": "no promotion starts" if stop.is_on else "promotions may start",
            "definition": "While it is on, no promotion starts; promoted brokers stay until a revert.",
        },
    ]


def _wanted(
    waiting: Sequence[PromotionAction], blocked: int, row: PromotionRound | None
) -> dict[str, Any]:
    fact: dict[str, Any] = {"label": "Pending advice", "definition": WANTED}
    if row is None or row.succeeded_at is None:
        return fact | {"value": None, "note": "not evaluated yet"}
    note = "see below" if waiting else "no promotion advised"
    if blocked:
        note = f"{format_count(blocked)} more blocked"
    fact |= {"value": format_count(len(waiting)), "note": note}
    return fact | ({"severity": "critical" if blocked else "warning"} if waiting or blocked else {})


def _who(row: PromotionRound | None, loops: Sequence[Any]) -> dict[str, Any]:
    living = [one for one in loops if one["is_alive"]]
    age_s = _age_s(row.promoter_seen_at if row else None)
    is_there = age_s is not None and age_s <= queries.SILENT_S
    fact = {
        "label": "Promoter processes",
        "value": format_count(max(len(living), int(is_there))),
        "definition": "Running `manage.py promote` processes of this cluster. Run two on different machines, "
        "so that a promotion survives the crash of one.",
    }
    if not is_there:
        return fact | {"note": "no process: start manage.py promote", "severity": "warning"}
    problem = row.promoter_problem if row else ""
    return fact | {"note": problem[:120] or f"last heartbeat {format_span_s(age_s)} ago"}


def shown_loops(cluster: Cluster, now: datetime) -> list[dict[str, Any]]:
    """Return the standby loops of the last hour: liveness and problem."""
    found = []
    for row in queries.list_loops(cluster):
        at = queries.moment(row.at_ms)
        is_alive = at is not None and (now - at).total_seconds() <= queries.SILENT_S
        found.append({"name": row.loop_id, "at": at, "is_alive": is_alive, "problem": row.problem})
    return found


def shown_held(cluster: Cluster) -> list[dict[str, Any]]:
    """Return the brokers that are kept promoted, or are being reverted."""
    rows: Iterable[HeldPromotion] = queries.list_held(cluster)
    return [
        {
            "broker": row.broker,
            "phase": row.get_phase_display().capitalize(),
            "severity": "healthy" if row.phase == "held" else "info",
            "since": queries.moment(row.begun_at_ms),
            "by": row.asked_by,
            "why": row.why,
            "topics": row.topics,
        }
        for row in rows
    ]


def shown_actions(live: Iterable[PromotionAction]) -> list[dict[str, Any]]:
    """Return live actions as cards: subject, reason, evidence, expected time, risk, revert."""
    return [{"row": row, **action_context(row)} for row in live]


def action_context(row: PromotionAction) -> dict[str, Any]:
    return {
        "severity": STATE_SEVERITY[ActionState(row.state)],
        "evidence": evidence_of(row),
        "expected": format_span_ms(row.expected_ms) if row.expected_ms is not None else "",
        "took": format_span_ms(row.took_ms) if row.took_ms is not None else "",
        "more": max(row.because_count - len(row.because), 0),
        "runbook": runbook_address(
            row.cluster.alias,
            topic=row.topic,
            partition=row.partition,
            severity=row.code if row.code in set(Trouble) else None,
        ),
    }


def evidence_of(row: PromotionAction) -> list[tuple[str, str]]:
    """Return the evidence of the advice as labels and values."""
    known: Mapping[str, Any] = row.evidence
    names = (
        ("leader", "Leader"),
        ("isr", "ISR"),
        ("leader_epoch", "Leader epoch"),
        ("partition_epoch", "Partition epoch"),
        ("high_watermark", "High watermark"),
        ("log_end_offset", "Log end offset"),
        ("observer_lag_records", "Observer lag (records)"),
    )
    return [(label, _value(known[name])) for name, label in names if known.get(name) is not None]


def _value(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "empty"
    return format_count(value) if isinstance(value, int) else str(value)


def shown_findings(cluster: Cluster) -> list[tuple[Finding, str]]:
    """Return open findings about observers and leaders, by severity, with their runbooks; one query."""
    rows = open_findings(Kind.OBSERVERS, cluster=cluster)[:MOST_FINDINGS]
    return [(row, runbook_of(row)) for row in rows]


def runbook_of(row: Finding) -> str:
    """Return the address of a finding's runbook, with its partition filled in; empty without one."""
    if not (row.trouble and row.topic):
        return ""
    return runbook_address(
        row.name,
        severity=row.trouble,
        cause=row.cause,
        topic=row.topic,
        partition=row.partition,
        broker=row.brokers[0] if row.brokers else None,
    )


def runbook_of_partition(row: PartitionStatus) -> str:
    """Return the address of the runbook for a partition in its current state, with its cause if known."""
    word = Severity(row.severity).word
    cause = cause_of(row.cause) if row.cause else TroubleCause.UNKNOWN
    return runbook_address(
        row.cluster.alias,
        severity=word if word in set(Trouble) else None,
        cause=cause.value if word in set(Trouble) else None,
        topic=row.topic,
        partition=row.partition,
    )


def runbook_address(alias: str, **given: Any) -> str:
    """Return the address of a runbook; pages of partitions link it, too.

    Given: `severity` and `cause` in the words of `jobs.availability.runbooks.runbook`, `topic`, `partition`,
    `broker`.
    """
    known = {name: value for name, value in given.items() if value not in {None, ""}}
    path = reverse("availability:runbooks", args=[alias])
    return f"{path}?{urlencode(known)}" if known else path


def _age_s(at: datetime | None) -> float | None:
    return None if at is None else (timezone.now() - at).total_seconds()
