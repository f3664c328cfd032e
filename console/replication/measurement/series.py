"""The lag of a flow over time: charts of samples, and hours for longer than samples are kept.

Each hour is rolled up once it is over, all flows of it or none.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import Min, Q
from django.urls import reverse

from console.findings.incidents.queries import list_marks
from console.findings.models import Finding, Kind
from console.findings.queries import above_notices, list_findings
from console.frame.pages.state_timeline import Event, in_order
from console.frame.pages.states import spoken
from console.frame.pages.timerange import TimeRange
from console.frame.series import HOUR, LATE_S, MOST_POINTS, floor, read_columns, upsert
from console.replication.flows.history import MOST_EVENTS, list_events
from console.replication.flows.models import LagSample, ReplicationFlow
from console.replication.measurement.models import LagHour
from console.replication.measurement.queries import LAG, hours_of, rolled_up_to
from jobs.severity import Severity

# So many hours at a time: a worker that has all samples before it does other work in between.
MOST_HOURS = 24


def read_series(
    flow: ReplicationFlow, topic: str, time_range: TimeRange, points: int = MOST_POINTS
) -> dict[str, list[Any]]:
    """Return the columns of `LAG`, and `events`: four queries, whatever the range.

    A step holds the largest lag, the most partitions without one and the mean rate of its samples.
    """
    columns = read_columns(LAG, time_range, time_range.end, points, flow=flow, topic=topic)
    found = [*list_events(flow, time_range), *finding_events(flow, time_range)]
    events = in_order([*found, *list_marks(time_range, flow=flow)], MOST_EVENTS)
    return {**columns, "events": [event.to_mapping() for event in events]}


def roll_up(now: datetime) -> int:
    """Write hours that are over, from the newest one that is there on; returns how many rows.

    The first time, hours begin with the oldest sample; its hour is left out when some of its samples may
    be pruned already. At most MOST_HOURS at a time.
    """
    complete = floor(int(now.timestamp()) - LATE_S, HOUR)
    rolled_to = rolled_up_to()
    begin = _first_hour(now) if rolled_to is None else rolled_to
    written = 0
    for _ in range(MOST_HOURS):
        waiting = LagSample.objects.filter(at_s__gte=begin, at_s__lt=complete)
        oldest = waiting.aggregate(oldest=Min("at_s"))["oldest"]
        if oldest is None:
            break
        begin = floor(oldest, HOUR) + HOUR
        rows = list(hours_of(waiting.filter(at_s__lt=begin)))
        with transaction.atomic():
            upsert(rows)
        written += len(rows)
    return written


def samples_needed_from(now: datetime) -> int | None:
    """Return from when on (Unix seconds, a full hour) samples are kept; None: all of them.

    Samples are kept for LAG_RETENTION_H, and longer while their hour is not rolled up.
    """
    rolled_to = rolled_up_to()
    return None if rolled_to is None else min(floor(_limit(now), HOUR), rolled_to)


def prune(now: datetime) -> int:
    """Remove samples that are not needed any more, and hours older than LAG_HOURS_D; returns how many."""
    needed_from = samples_needed_from(now)
    limit = int(now.timestamp()) - settings.LAG_HOURS_D * 86_400
    gone = LagHour.objects.filter(at_s__lt=limit).delete()[0]
    return gone + LagSample.objects.filter(at_s__lt=needed_from or 0).delete()[0]


def _first_hour(now: datetime) -> int:
    oldest = LagSample.objects.aggregate(oldest=Min("at_s"))["oldest"] or 0
    return floor(oldest if oldest > _limit(now) else oldest + HOUR - 1, HOUR)


def _limit(now: datetime) -> int:
    return int(now.timestamp()) - settings.LAG_RETENTION_H * 3600


# The worst of them; charts have no room for more.
MOST = 100


def finding_events(flow: ReplicationFlow, time_range: TimeRange) -> list[Event]:
    """Return beginnings and ends of findings within the time range, without mere notices; one query."""
    inside = (time_range.start, time_range.end)
    rows = above_notices(list_findings(Kind.FLOW, flow=flow)).order_by("-rank", "-pk")
    rows = rows.filter(Q(opened_at__range=inside) | Q(closed_at__range=inside))
    href = reverse("replication:findings", args=[flow.pk])
    found = [event for row in rows[:MOST] for event in _of(row, href)]
    return [event for event in found if time_range.start <= event.at <= time_range.end]


def _of(row: Finding, href: str) -> list[Event]:
    what = f"{spoken(row.code)} {row.subject}".rstrip()
    events = [Event(row.opened_at, "Finding", row.sentence, Severity(row.severity), href)]
    if row.closed_at is not None:
        events.append(Event(row.closed_at, "Finding ended", what, Severity.UNKNOWN, href))
    return events
