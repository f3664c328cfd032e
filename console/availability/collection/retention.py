"""Counts rolled up to minutes and hours, and how long everything is kept."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.conf import settings
from django.db import transaction
from django.db.models import Count, F, Max
from django.db.models.functions import Mod

from console.availability.status.broker_models import BrokerChurn, CountSample
from console.availability.status.models import (
    HOUR_S,
    MINUTE_S,
    RAW_STEP_S,
    AvailabilityRound,
    OutOfSyncSpan,
    PolledMoment,
    SeveritySpan,
    UncleanElection,
)
from jobs.availability.status.peaks import SAMPLED

# A step may still be written for so long: rounds take time.
LATE_S = 180
BATCH = 500


def retention() -> dict[int, int]:
    """Return for how many seconds the counts of each step are kept."""
    return {
        RAW_STEP_S: settings.AVAILABILITY_RAW_H * 3600,
        MINUTE_S: settings.AVAILABILITY_MINUTES_D * 86_400,
        HOUR_S: settings.AVAILABILITY_HOURS_D * 86_400,
    }


def roll_up(now: datetime) -> int:
    """Bring minutes up to date, and hours that are complete; returns how many steps were written.

    A step of an hour tells its worst minute. A second time changes nothing.
    """
    now_s = int(now.timestamp())
    minutes = _roll(RAW_STEP_S, MINUTE_S, _begin(MINUTE_S, now_s), now_s)
    complete = _floor(now_s - LATE_S, HOUR_S)
    begin = _begin(HOUR_S, now_s)
    return minutes + (_roll(MINUTE_S, HOUR_S, begin, complete) if begin < complete else 0)


def prune(now: datetime) -> int:
    """Delete rows older than their retention, except ongoing intervals; return how many."""
    gone = 0
    for step_s, kept_s in retention().items():
        old = CountSample.objects.filter(step_s=step_s, at_s__lt=int(now.timestamp()) - kept_s)
        gone += old.delete()[0]
    limit = now - timedelta(days=settings.AVAILABILITY_HISTORY_D)
    gone += SeveritySpan.objects.filter(ended_at__lt=limit).delete()[0]
    gone += OutOfSyncSpan.objects.filter(ended_at__lt=limit).delete()[0]
    gone += PolledMoment.objects.filter(at__lt=limit).delete()[0]
    gone += _prune_unclean(limit)
    return gone + BrokerChurn.objects.filter(hour__lt=limit).delete()[0]


def _prune_unclean(limit: datetime) -> int:
    """Remove old unclean elections; how many there were in all stays known."""
    old = UncleanElection.objects.filter(at__lt=limit)
    rounds = AvailabilityRound.objects.filter(noun=AvailabilityRound.Noun.STATUS)
    with transaction.atomic():
        counted = old.order_by().values_list("cluster").annotate(number=Count("pk"))
        for cluster, number in list(counted):
            rounds.filter(cluster=cluster).update(unclean_pruned=F("unclean_pruned") + number)
        return old.delete()[0]


def _begin(step_s: int, now_s: int) -> int:
    """Return from where on steps are to be written: behind the last one that cannot change any more."""
    rows = CountSample.objects.filter(step_s=step_s)
    last: int | None = rows.aggregate(last=Max("at_s"))["last"]
    if last is None:
        return _floor(now_s - retention()[MINUTE_S], step_s)
    return min(last + step_s, _floor(now_s - LATE_S, step_s))


def _roll(from_step: int, to_step: int, begin: int, end: int) -> int:
    rows = (
        CountSample.objects.filter(step_s=from_step, at_s__gte=begin, at_s__lt=end)
        .annotate(bucket=F("at_s") - Mod(F("at_s"), to_step))
        .values_list("cluster_id", "kind", "name", "bucket")
        .annotate(*(Max(name) for name in SAMPLED))
    )
    steps = [
        CountSample(
            cluster_id=cluster,
            kind=kind,
            name=name,
            step_s=to_step,
            at_s=at_s,
            **dict(zip(SAMPLED, worst, strict=True)),
        )
        for cluster, kind, name, at_s, *worst in rows
    ]
    CountSample.objects.bulk_create(
        steps,
        batch_size=BATCH,
        update_conflicts=True,
        unique_fields=["cluster", "kind", "name", "step_s", "at_s"],
        update_fields=list(SAMPLED),
    )
    return len(steps)


def _floor(at_s: int, step_s: int) -> int:
    return at_s - at_s % step_s
