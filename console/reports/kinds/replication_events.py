"""What happened to flows in a period: runs, what people did, drift, topics that are left out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any

from django.db.models import Max, Q
from django.urls import reverse

from console.accounts import queries as accounts
from console.accounts.models import Outcome
from console.findings.models import Kind
from console.findings.queries import list_findings
from console.runs import queries as runs
from jobs.replication.findings.codes import DRIFT, Code
from jobs.reports.kinds.flows.replication_data import Drift, FlowRun, Steering, TopicEvent
from jobs.reports.periods import Period
from jobs.severity import Severity

# Of these also what was done before the period counts: what is paused stays so.
_PAUSES = ("flow.pause", "flow.resume", "flow.control")
_LEFT_OUT = frozenset({Code.TOPIC_LEFT_OUT, Code.TOPIC_REFUSED, Code.TOPIC_MISSING})


def read_runs(flows: Sequence[Any], period: Period) -> Iterator[FlowRun]:
    """Yield the runs of flows in a period, and the last one of each before it."""
    by_subject = {flow.subject: flow.name for flow in flows}
    rows = runs.list_runs().filter(
        subject__in=list(by_subject), question_key="", created_at__lt=period.end
    )
    before = rows.filter(created_at__lt=period.start).order_by().values("subject")
    wanted = Q(created_at__gte=period.start) | Q(finished_at__gte=period.start)
    for row in before.annotate(last=Max("created_at")):
        wanted |= Q(subject=row["subject"], created_at=row["last"])
    for run in rows.filter(wanted).order_by("created_at", "pk"):
        yield FlowRun(
            by_subject[run.subject],
            run.state,
            run.created_at,
            run.started_at,
            run.finished_at,
            run.error,
            run.requested_by.get_username() if run.requested_by else "",
            reverse("runs:detail", args=[run.pk]),
        )


def read_steering(flows: Sequence[Any], period: Period) -> Iterator[Steering]:
    """Yield what people did to flows until the end of the period, as far as it counts.

    Entries carry names: those of an earlier flow of the same name are older than this one.
    """
    by_subject = {f"flow:{flow.name}"[:300]: flow for flow in flows}
    rows = accounts.list_entries().filter(
        Q(at__gte=period.start) | Q(action__in=_PAUSES),
        subject__in=list(by_subject),
        action__startswith="flow.",
        outcome=Outcome.DONE,
        at__lt=period.end,
    )
    for entry in rows.order_by("at", "pk"):
        flow = by_subject[entry.subject]
        if entry.at < flow.created_at:
            continue
        yield Steering(
            entry.at,
            flow.name,
            entry.action,
            entry.before or {},
            entry.after or {},
            entry.token_name or entry.actor_name,
            reverse("replication:control", args=[flow.pk]),
        )


def read_drifts(flows: Sequence[Any], period: Period) -> tuple[list[Drift], list[TopicEvent]]:
    """Return drifts that were open in the period, and topics that were left out or taken in then."""
    names = {flow.pk: flow.name for flow in flows}
    rows = list_findings(Kind.FLOW).filter(
        Q(closed_at=None) | Q(closed_at__gte=period.start),
        flow__in=list(names),
        code__in=sorted(DRIFT),
        opened_at__lt=period.end,
    )
    drifts: list[Drift] = []
    events: list[TopicEvent] = []
    for row in rows.order_by("opened_at", "pk"):
        href = reverse("replication:findings", args=[row.flow_id])
        name = names[row.flow_id]
        closed_at = row.closed_at if row.closed_at and row.closed_at < period.end else None
        if row.code in _LEFT_OUT:
            events += _left_out(row, name, closed_at, period, href)
            continue
        severity = Severity(row.severity)
        drifts.append(
            Drift(
                name,
                severity,
                severity.word,
                row.word,
                row.subject,
                row.sentence,
                row.opened_at,
                closed_at,
                href,
            )
        )
    return drifts, events


def _left_out(
    row: Any, flow: str, closed_at: datetime | None, period: Period, href: str
) -> Iterator[TopicEvent]:
    topic = row.topic or row.subject
    if row.opened_at >= period.start:
        yield TopicEvent(row.opened_at, flow, topic, row.word, row.sentence, href)
    if closed_at is not None:
        yield TopicEvent(closed_at, flow, topic, f"Resolved: {row.word}", row.sentence, href)
