"""Findings as marks on a flow's charts: when they began and when they ended."""

from __future__ import annotations

from django.db.models import Q
from django.urls import reverse

from console.frame.pages.events import Event
from console.frame.pages.states import Severity, spoken
from console.frame.pages.timerange import TimeRange
from console.replication.findings.models import FlowFinding
from console.replication.flows.models import ReplicationFlow

# The worst of them; charts have no room for more.
MOST = 100


def finding_events(flow: ReplicationFlow, time_range: TimeRange) -> list[Event]:
    """Return beginnings and ends of findings within the time range, without mere notices; one query."""
    inside = (time_range.start, time_range.end)
    rows = FlowFinding.objects.filter(flow=flow, rank__gt=1).order_by("-rank", "-pk")
    rows = rows.filter(Q(opened_at__range=inside) | Q(closed_at__range=inside))
    href = reverse("replication:findings", args=[flow.pk])
    found = [event for row in rows[:MOST] for event in _of(row, href)]
    return [event for event in found if time_range.start <= event.at <= time_range.end]


def _of(row: FlowFinding, href: str) -> list[Event]:
    what = f"{spoken(row.code)} {row.subject}".rstrip()
    events = [Event(row.opened_at, "Finding", row.sentence, Severity(row.severity), href)]
    if row.closed_at is not None:
        events.append(Event(row.closed_at, "Finding ended", what, Severity.NONE, href))
    return events
