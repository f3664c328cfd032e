"""Recorded events that an analysis puts beside its own findings."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime, timedelta
from typing import Any

from console.clusters.models import Cluster
from console.overview.events import ARROW, LONGEST, read_events


def events_between(
    user: Any, clusters: Collection[int], since: datetime, until: datetime, most: int
) -> list[dict[str, Any]]:
    """Return the newest events of some clusters that a person may see, oldest first; at most 30 days.

    Each has `at_ms`, `kind`, `text` and `where`. Events that involve another cluster are left out: who may
    see these clusters may see them all.
    """
    aliases = set(Cluster.objects.filter(pk__in=clusters).values_list("alias", flat=True))
    since = max(since, until - LONGEST)
    found = {}
    for alias in aliases:
        # `until` itself counts, in whole seconds.
        page, _ = read_events(user, until + timedelta(seconds=1), most, alias=alias)
        for one in page:
            if one.at >= since and aliases.issuperset(one.where.split(f" {ARROW} ")):
                found[one.id] = one
    newest = sorted(found.values(), key=lambda one: (one.at, one.id))[-most:]
    return [
        {
            "at_ms": round(one.at.timestamp() * 1000),
            "kind": one.kind.value,
            "text": one.text,
            "where": one.where,
        }
        for one in newest
    ]
