"""The trouble of clusters as sentences with their age, for pages of what is on them.

What another room knows it answers in `console.<room>.navigation.troubles_of(clusters, now)`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from datetime import datetime
from typing import Any

from django.db.models import Exists, OuterRef
from django.urls import reverse

from console.clusters import queries
from console.clusters.status import PARTITION_SEVERITIES, ClusterState
from console.clusters.trouble.seen_elsewhere import SeenPartitions, seen_partitions
from console.clusters.trouble.stuck import Trouble, trouble_of
from console.frame.pages.navigation import rooms_with
from console.frame.pages.states import spoken
from jobs.numbers import format_age, format_count
from jobs.severity import Severity

# What the sentence about partitions tells already.
_TOLD_BY_PARTITIONS = frozenset(
    {
        ClusterState.OFFLINE,
        ClusterState.UNDER_MIN_ISR,
        ClusterState.AT_MIN_ISR,
        ClusterState.UNDER_REPLICATED,
    }
)
_SINCE = {
    ClusterState.UNREACHABLE: "not reachable",
    ClusterState.ANOTHER_CLUSTER: "cluster ID mismatch",
    ClusterState.FAILING: "collected in part",
    ClusterState.STALE: "not collected",
}
_SHOWN = (Severity.CRITICAL, Severity.WARNING, Severity.INFO)


def troubles_of(ids: Collection[int], now: datetime) -> list[Trouble]:
    """Return what is wrong with clusters, worst first; empty where all is as it should be."""
    is_stuck = Exists(queries.list_stuck().filter(cluster=OuterRef("pk")))
    rows = queries.list_clusters().filter(pk__in=set(ids)).annotate(is_stuck=is_stuck)
    clusters = queries.with_status(rows.order_by("alias"), now)
    found = [one for cluster in clusters for one in _own(cluster, now)]
    if stuck := [cluster.pk for cluster in clusters if cluster.is_stuck]:
        found += map(trouble_of, queries.list_stuck().filter(cluster__in=stuck))
    for room in rooms_with("navigation"):
        if hasattr(room, "troubles_of"):
            found += room.troubles_of(clusters, now)
    return sorted(found, key=lambda one: _SHOWN.index(one.severity))


def _own(cluster: Any, now: datetime) -> Iterator[Trouble]:
    status, detail = cluster.status, reverse("clusters:detail", args=[cluster.alias])
    is_off = status.state is ClusterState.OFF
    if is_off or (status.severity in _SHOWN[:3] and status.state not in _TOLD_BY_PARTITIONS):
        severity = Severity.INFO if is_off else status.severity
        what = f"Cluster {cluster.alias}: {_about(cluster, now)}"
        why = "" if is_off else status.reason
        yield Trouble(severity, status.word, what, detail, why, status.hint, status.since)
    seen = seen_partitions(cluster)
    if seen.worst and not is_off:
        what = f"Cluster {cluster.alias}: {_counts(seen)}, collected {format_age(seen.at, now)}."
        severity, word = PARTITION_SEVERITIES[seen.worst], spoken(seen.worst.word)
        dead = status.reason if cluster.dead_count and not status.since else ""
        href = reverse("availability:detail", args=[cluster.alias])
        yield Trouble(severity, word, what, href, dead, status.hint if dead else "")


def _about(cluster: Any, now: datetime) -> str:
    """Say what is wrong with the rounds of a cluster, since when, and how old what is shown is."""
    status = cluster.status
    if status.state not in _SINCE or status.since is None:
        return str(status.reason)
    read_at = cluster.seen.succeeded_at if cluster.seen is not None else None
    age = f"last collected {format_age(read_at, now)}" if read_at else "never collected"
    return f"{_SINCE[status.state]} since {status.since:%H:%M:%S} UTC, {age}."


def _counts(seen: SeenPartitions) -> str:
    told = [
        (seen.offline, "offline"),
        (seen.under_min_isr, "under min ISR"),
        (seen.at_min_isr, "at min ISR"),
        (seen.under_replicated, "under-replicated"),
    ]
    known = [(count, word) for count, word in told if count]
    if not known:
        return f"partitions are {spoken(seen.worst.word).lower()}"
    (first, word), rest = known[0], known[1:]
    noun = "partition" if first == 1 else "partitions"
    more = "".join(f", {format_count(count)} {word}" for count, word in rest)
    return f"{format_count(first)} {noun} {word}{more}"
