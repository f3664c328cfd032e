"""What applications need on another cluster, kept in memory until they are collected again.

Pages and checks of flows ask for all applications of a cluster: to unpack 5,000 tasks each time is slow.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from django.db.models import Max

from console.streams.models import StreamsApplication, StreamsSnapshot
from console.streams.snapshots import Picture
from jobs.streams.failover import Needs, needs_of

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
        snapshots = StreamsSnapshot.objects.filter(pk__in=newest).defer("changelogs")
        for one in snapshots.select_related("application").iterator(_AT_ONCE):
            picture = Picture(one.application, one)
            found[one.application_id] = needs_of(picture.application, picture.facts)
            _kept.pop(one.application_id, None)
            while len(_kept) >= MOST_KEPT:
                _kept.pop(next(iter(_kept)), None)
            _kept[one.application_id] = (_key(one.application), found[one.application_id])
    return found


def _key(row: StreamsApplication) -> _Key:
    return row.facts_at, row.described_at
