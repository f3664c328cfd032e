"""The tiles of the checkpoint pages: readiness, RPO, records reprocessed."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.urls import reverse

from console.replication.checkpoints import queries
from console.replication.checkpoints import text as words
from console.replication.checkpoints.history import Share
from console.replication.checkpoints.text import span_of
from console.replication.flows.audits import DEFINITION
from console.replication.flows.models import FlowReadiness, GroupReadiness, ReplicationFlow
from jobs.numbers import (
    DASH,
    format_count,
    format_least,
    format_percent,
    format_span_ms,
    format_span_s,
)
from jobs.severity import Severity


def flow_answer_facts(
    flow: ReplicationFlow, answer: FlowReadiness | None, share: Share, now: datetime
) -> list[dict[str, Any]]:
    """Return the answer of a flow as the facts component takes it."""
    audit = _audit(flow)
    if answer is None:
        return [_fact("Groups ready", DASH, "not evaluated yet", words.READY), audit]
    ready, covered = queries.counted(answer)
    href = reverse("replication:checkpoints", args=[flow.pk])
    return [
        _fact(
            "Groups ready",
            f"{format_count(ready)}/{format_count(covered)}",
            _how_often(share),
            words.READY,
        )
        | {"severity": answer.severity, "word": answer.word, "href": href},
        _fact(
            f"RPO if {flow.source.alias} fails now",
            format_span_ms(answer.rpo_ms),
            f"{format_count(answer.rpo_records)} records not replicated yet",
            words.AT_RISK,
        ),
        _fact(
            "Records reprocessed",
            span_of(answer.reread_lo, answer.reread_hi),
            f"all groups; with a plan at most {answer.repeated}",
            words.REREAD,
        ),
        _fact(
            "Oldest checkpoint",
            format_span_s(queries.age_s(answer.checkpoint_at, now)),
            f"checkpoint lag {format_least(answer.behind, answer.behind_unknown_count)} records",
            words.AGE,
        ),
        audit,
    ]


def group_answer_facts(row: GroupReadiness, share: Share, now: datetime) -> list[dict[str, Any]]:
    """Return the answer of a group likewise."""
    return [
        _fact("Failover readiness", row.word, _how_often(share), words.READY)
        | {"severity": row.severity},
        _fact(
            "RPO of its topics",
            format_span_ms(row.rpo_ms),
            f"{format_count(row.rpo_records)} records not replicated yet",
            words.AT_RISK,
        ),
        _fact(
            "Records reprocessed",
            span_of(row.reread_lo, row.reread_hi),
            f"with a plan at most {row.repeated}",
            words.REREAD,
        ),
        _fact(
            "Oldest checkpoint",
            format_span_s(queries.age_s(row.checkpoint_at, now)),
            f"checkpoint lag {format_least(row.behind, row.behind_unknown_count)} records",
            words.AGE,
        ),
    ]


def _audit(flow: ReplicationFlow) -> dict[str, Any]:
    audit = flow.audit
    # A failover to a copy that differs is possible: it is a warning.
    severity = Severity.WARNING if audit.differs else audit.severity
    shown = {"severity": severity, "href": audit.href}
    return _fact("Copy audit", audit.word, audit.note, DEFINITION) | shown


def _how_often(share: Share) -> str:
    if share.share is None or share.since is None:
        return "no history yet"
    return f"ready {format_percent(share.share)} of the time since {share.since:%d %b %H:%M} UTC"


def _fact(label: str, value: str, note: str, definition: str) -> dict[str, Any]:
    return {"label": label, "value": value, "note": note, "definition": definition}
