"""The lag of a flow over time, cut down to what a chart can show: three queries, whatever the range."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.conf import settings
from django.db.models import Avg, F, Max, Q
from django.db.models.functions import Mod
from django.urls import reverse

from console.findings.models import Finding
from console.frame.pages.state_timeline import Event, in_order
from console.frame.pages.states import spoken
from console.frame.pages.timerange import TimeRange
from console.replication.flows.history import MOST_EVENTS, list_events
from console.replication.flows.models import LagSample, ReplicationFlow
from console.replication.measurement import hours
from jobs.severity import Severity

MOST_POINTS = 600
# Two rounds may come a little late; more than this many missing steps is a gap in the line.
GAP_STEPS = 4


def read_series(
    flow: ReplicationFlow, topic: str, time_range: TimeRange, points: int = MOST_POINTS
) -> dict[str, list[Any]]:
    """Return columns `at` (Unix seconds), `lag` (records), `lag_ms`, `rate_per_s`, `unknown_count`; `events`.

    A step holds the largest lag, the most partitions without one and the mean rate of its samples. A stretch
    without samples is one row of nulls, so that the line breaks there.
    """
    step_s = max(time_range.step_s(min(points, MOST_POINTS)), settings.FLOW_INTERVAL_S)
    names = ("at", "lag", "lag_ms", "rate_per_s", "unknown_count")
    columns: dict[str, list[Any]] = {name: [] for name in names}
    before: int | None = None
    for row in _buckets(flow, topic, time_range, step_s):
        if before is not None and row["bucket"] - before > GAP_STEPS * step_s:
            _append(columns, before + step_s, {})
        _append(columns, row["bucket"], row)
        before = row["bucket"]
    events = in_order(
        [*list_events(flow, time_range), *finding_events(flow, time_range)], MOST_EVENTS
    )
    return {**columns, "events": [event.to_mapping() for event in events]}


def prune_samples(now: datetime) -> int:
    """Remove samples older than LAG_RETENTION_H whose hour was rolled up; return how many."""
    limit = hours.samples_needed_from(now)
    return 0 if limit is None else LagSample.objects.filter(at_s__lt=limit).delete()[0]


def _buckets(flow: ReplicationFlow, topic: str, time_range: TimeRange, step_s: int) -> Any:
    start, end = int(time_range.start.timestamp()), int(time_range.end.timestamp())
    return (
        LagSample.objects.filter(flow=flow, topic=topic, at_s__gte=start, at_s__lte=end)
        .annotate(bucket=F("at_s") - Mod(F("at_s"), step_s))
        .values("bucket")
        .annotate(
            most_lag=Max("lag"),
            most_lag_ms=Max("lag_ms"),
            mean_rate=Avg("rate_per_s"),
            unknown=Max("unknown_count"),
        )
        .order_by("bucket")
    )


def _append(columns: dict[str, list[Any]], at_s: int, row: dict[str, Any]) -> None:
    columns["at"].append(at_s)
    columns["lag"].append(row.get("most_lag"))
    columns["lag_ms"].append(row.get("most_lag_ms"))
    columns["rate_per_s"].append(row.get("mean_rate"))
    columns["unknown_count"].append(row.get("unknown"))


# The worst of them; charts have no room for more.
MOST = 100


def finding_events(flow: ReplicationFlow, time_range: TimeRange) -> list[Event]:
    """Return beginnings and ends of findings within the time range, without mere notices; one query."""
    inside = (time_range.start, time_range.end)
    rows = Finding.objects.filter(flow=flow, rank__gt=Severity.INFO.rank).order_by("-rank", "-pk")
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
