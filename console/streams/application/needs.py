"""What applications need on another cluster, kept in memory until they are collected again.

Pages and checks of flows ask for all applications of a cluster: to unpack 5,000 tasks each time is slow.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from django.db.models import Max

from console.streams.models import StreamsApplication, StreamsRound, StreamsSnapshot
from console.streams.snapshots import picture_at
from jobs.streams.failover import READ_WITHIN_MS, Needs, needs_of

MOST_KEPT = 1000
_AT_ONCE = 8
_Key = tuple[datetime | None, datetime | None]
_kept: dict[int, tuple[_Key, Needs]] = {}


def read_needs(rows: Iterable[StreamsApplication]) -> dict[int, Needs]:
    """Return needs by application, without those that were never seen whole; at most one query."""
    wanted = {row.pk: _key(row) for row in rows}
    found = {
        pk: kept[1] for pk, key in wanted.items() if (kept := _kept.get(pk)) and kept[0] == key
    }
    if missing := wanted.keys() - found.keys():
        of_each = StreamsSnapshot.objects.filter(application__in=missing).order_by()
        newest = of_each.values("application").annotate(newest=Max("pk")).values("newest")
        snapshots = StreamsSnapshot.objects.filter(pk__in=newest)
        related = snapshots.select_related("application__cluster__streams_round")
        for one in related.iterator(_AT_ONCE):
            picture = picture_at(one.application, one)
            until_ms = _read_until_ms(one.application, picture.facts.observed_at_ms)
            found[one.application_id] = needs_of(
                picture.application, picture.facts, picture.joined, until_ms
            )
            _kept.pop(one.application_id, None)
            while len(_kept) >= MOST_KEPT:
                _kept.pop(next(iter(_kept)), None)
            _kept[one.application_id] = (_key(one.application), found[one.application_id])
    return found


def _read_until_ms(row: StreamsApplication, observed_at_ms: int) -> int:
    """Return when facts were read at the latest: the end of their round, or of a later one."""
    of_round: StreamsRound | None = getattr(row.cluster, "streams_round", None)
    ended = of_round.finished_at if of_round else None
    ended_ms = int(ended.timestamp() * 1000) if ended else 0
    return ended_ms if ended_ms > observed_at_ms else observed_at_ms + READ_WITHIN_MS


def _key(row: StreamsApplication) -> _Key:
    return row.facts_at, row.described_at
