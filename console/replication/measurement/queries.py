"""Reads of lag: samples, and hours where samples are no longer kept."""

from __future__ import annotations

from collections.abc import Iterator

from django.conf import settings
from django.db.models import Avg, BigIntegerField, Count, F, Max, Min, Q, QuerySet
from django.db.models.functions import Least

from console.frame.series import HOUR, RAW, Series, bucket
from console.replication.flows.models import LagSample, ReplicationFlow
from console.replication.measurement.models import LagHour

LAG = Series(
    LagSample,
    ("flow_id", "topic"),
    {"lag": Max, "lag_ms": Max, "rate_per_s": Avg, "unknown_count": Max},
    lambda: {RAW: settings.LAG_RETENTION_H * 3600},
    lambda: settings.FLOW_INTERVAL_S,
)
# Higher values count as this one: it is multiplied with the seconds of an hour.
MOST = 2**63 // HOUR - 1


def list_lag_samples(flow: ReplicationFlow) -> QuerySet[LagSample]:
    """Return the lag samples of a flow as a whole (topic "") and of its topics."""
    return LagSample.objects.filter(flow=flow)


def list_samples_between(start_s: int, end_s: int) -> QuerySet[LagSample]:
    """Return the lag samples of all flows and topics from a time on, before another (Unix seconds).

    Without a word of the flow, databases read this time only, and not all that is kept of the flow.
    """
    return LagSample.objects.filter(at_s__gte=start_s, at_s__lt=end_s)


def list_lag_hours(flow: ReplicationFlow) -> QuerySet[LagHour]:
    """Return the hours of a flow as a whole (topic "") and of its topics."""
    return LagHour.objects.filter(flow=flow)


def rolled_up_to() -> int | None:
    """Return the end (Unix seconds) of the newest hour that was rolled up; None without one."""
    newest = LagHour.objects.aggregate(newest=Max("at_s"))["newest"]
    return None if newest is None else int(newest) + HOUR


def hours_of(samples: QuerySet[LagSample]) -> Iterator[LagHour]:
    """Yield the hours that samples make up, unsaved, by flow, topic and time; one query."""
    rows = (
        samples.annotate(hour=bucket(HOUR))
        .order_by("flow_id", "topic", "hour")
        .values_list("flow_id", "topic", "hour")
        .annotate(
            Count("pk"),
            Min("at_s"),
            Max("at_s"),
            Avg("rate_per_s"),
            Max("unknown_count"),
            most_lag=_highest("lag"),
            most_lag_ms=_highest("lag_ms"),
        )
    )
    for flow_id, topic, hour, count, first, last, rate, unknown, lag, lag_ms in rows.iterator():
        hour_of = LagHour(flow_id=flow_id, topic=topic, at_s=hour, samples=count)
        hour_of.first_s, hour_of.last_s, hour_of.rate_per_s = first, last, rate
        hour_of.unknown_count = unknown
        hour_of.lag, hour_of.lag_at_s = _value_and_moment(hour, lag)
        hour_of.lag_ms, hour_of.lag_ms_at_s = _value_and_moment(hour, lag_ms)
        yield hour_of


def _highest(name: str) -> Max:
    """Return an aggregate of the highest value and its first moment in one number."""
    left_s = HOUR - 1 - F("at_s") % HOUR
    both = Least(F(name), MOST) * HOUR + left_s
    known = Q(**{f"{name}__isnull": False})
    return Max(both, filter=known, output_field=BigIntegerField())


def _value_and_moment(hour: int, both: int | None) -> tuple[int | None, int | None]:
    if both is None:
        return None, None
    value, left_s = divmod(both, HOUR)
    return value, hour + HOUR - 1 - left_s
