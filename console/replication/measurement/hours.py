"""Roll lag up to hours: each hour once it is over, all flows of it or none."""

from __future__ import annotations

from datetime import datetime

from django.conf import settings
from django.db import transaction
from django.db.models import Min

from console.replication.flows.models import LagSample
from console.replication.measurement.models import LagHour
from console.replication.measurement.queries import HOUR_S, hours_of, rolled_up_to

# Rounds take time: a sample may be this much older than the moment at which it is written.
LATE_S = 180
# So many hours at a time: a worker that has all samples before it does other work in between.
MOST_HOURS = 24


def roll_up(now: datetime) -> int:
    """Write hours that are over, from the newest one that is there on; returns how many rows.

    The first time, hours begin with the oldest sample; its hour is left out when some of its samples may
    be pruned already. At most MOST_HOURS at a time.
    """
    complete = _floor(int(now.timestamp()) - LATE_S)
    rolled_to = rolled_up_to()
    begin = _first_hour(now) if rolled_to is None else rolled_to
    written = 0
    for _ in range(MOST_HOURS):
        waiting = LagSample.objects.filter(at_s__gte=begin, at_s__lt=complete)
        oldest = waiting.aggregate(oldest=Min("at_s"))["oldest"]
        if oldest is None:
            break
        hour = _floor(oldest)
        written += _roll(hour)
        begin = hour + HOUR_S
    return written


def samples_needed_from(now: datetime) -> int | None:
    """Return from when on (Unix seconds, a full hour) samples are kept; None: all of them.

    Samples are kept for LAG_RETENTION_H, and longer while their hour is not rolled up.
    """
    rolled_to = rolled_up_to()
    return None if rolled_to is None else min(_floor(_limit(now)), rolled_to)


def prune_hours(now: datetime) -> int:
    """Remove hours older than LAG_HOURS_D; returns how many rows."""
    limit = int(now.timestamp()) - settings.LAG_HOURS_D * 86_400
    return LagHour.objects.filter(at_s__lt=limit).delete()[0]


def _roll(hour: int) -> int:
    rows = list(hours_of(LagSample.objects.filter(at_s__gte=hour, at_s__lt=hour + HOUR_S)))
    unique = ["flow", "topic", "at_s"]
    values = [
        field.name
        for field in LagHour._meta.concrete_fields
        if field.name not in unique and not field.primary_key
    ]
    with transaction.atomic():
        LagHour.objects.bulk_create(
            rows, batch_size=500, update_conflicts=True, unique_fields=unique, update_fields=values
        )
    return len(rows)


def _first_hour(now: datetime) -> int:
    oldest = LagSample.objects.aggregate(oldest=Min("at_s"))["oldest"] or 0
    return _floor(oldest) if oldest > _limit(now) else _floor(oldest + HOUR_S - 1)


def _limit(now: datetime) -> int:
    return int(now.timestamp()) - settings.LAG_RETENTION_H * 3600


def _floor(at_s: int) -> int:
    return at_s - at_s % HOUR_S
