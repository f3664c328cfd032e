"""How the partitions of a cluster are by what another room reads, which may be newer than the last round.

A room answers in `console.<room>.navigation.cluster_annotations()`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from console.clusters.models import Noun
from console.frame.pages.navigation import rooms_with
from jobs.availability.status.severity import Severity


@dataclass(frozen=True, slots=True)
class SeenPartitions:
    """How many partitions were in which state at `at`: offline, under and at min ISR, under-replicated.

    Counts are None where they are not known. `is_followed`: it is newer than the rounds of the cluster.
    """

    at: datetime | None
    worst: Severity
    offline: int | None = None
    under_min_isr: int | None = None
    at_min_isr: int | None = None
    under_replicated: int | None = None
    is_followed: bool = False


def newer_counts() -> dict[str, Any]:
    """Return what a query of clusters adds for `seen_partitions`; empty where no room tells it."""
    found: dict[str, Any] = {}
    for room in rooms_with("navigation"):
        found |= getattr(room, "cluster_annotations", dict)()
    return found


def seen_partitions(cluster: Any) -> SeenPartitions:
    """Return the newest that is known of a cluster of `queries.list_clusters`; no query."""
    read_at = _topics_read_at(cluster.rounds.all())
    seen_at: datetime | None = getattr(cluster, "seen_at", None)
    if seen_at is not None and (read_at is None or seen_at >= read_at):
        return SeenPartitions(
            seen_at,
            Severity(cluster.seen_worst or 0),
            cluster.seen_offline,
            cluster.seen_under_min_isr,
            cluster.seen_at_min_isr,
            cluster.seen_under_replicated,
            is_followed=read_at is None or seen_at > read_at,
        )
    worst = Severity(cluster.worst or 0)
    return SeenPartitions(read_at, worst, cluster.offline_count)


def _topics_read_at(rounds: Iterable[Any]) -> datetime | None:
    return next((row.succeeded_at for row in rounds if row.noun == Noun.TOPICS), None)
