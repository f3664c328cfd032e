"""The metrics of availability: four queries, whatever the number of partitions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Any

from django.db.models import Count, QuerySet

from console.availability.status import queries
from console.clusters.counted import UNKNOWN
from console.metrics import counters
from console.metrics import definitions as known
from console.metrics.definition import Definition
from jobs.availability.status.severity import Counted, Severity
from jobs.availability.status.tally import STATE_COUNTS, ScopeKind

Sample = tuple[Definition, tuple[str, ...], float | int | None]
Scope = Callable[[QuerySet[Any]], QuerySet[Any]]


def availability_samples(scope: Scope, now: datetime) -> Iterator[Sample]:
    """Yield the samples of all clusters that were looked at."""
    kept = _unclean(scope)
    for cluster in scope(queries.list_clusters()):
        yield from _of_cluster(cluster, now)
        yield from _of_elections(cluster, kept.get(cluster.alias, 0))
    brokers = scope(queries.list_rollups(ScopeKind.BROKER))
    for alias, broker, count in brokers.values_list("cluster__alias", "name", "out_of_sync"):
        yield known.OUT_OF_SYNC, (alias, broker), count


def _unclean(scope: Scope) -> dict[str, int]:
    rows = scope(queries.list_unclean()).order_by().values_list("cluster__alias")
    return dict(rows.annotate(number=Count("pk")))


def _of_elections(cluster: Any, kept: int) -> Iterator[Sample]:
    """Yield how many elections were unclean: 0 is known where the metadata log is followed.

    Without that zero an alert about growth would not see the first one.
    """
    row = queries.round_of(cluster)
    pruned = row.unclean_pruned if row is not None else 0
    if kept or pruned or (row is not None and row.log_id is not None):
        yield known.UNCLEAN, (cluster.alias,), kept
        yield counters.UNCLEAN_TOTAL, (cluster.alias,), kept + pruned


def _of_cluster(cluster: Any, now: datetime) -> Iterator[Sample]:
    row = queries.round_of(cluster)
    if cluster.partitions_count is None or row is None:
        return
    counts = {one: getattr(cluster, f"{name}_count") for one, name in STATE_COUNTS.items()}
    counts[Severity.OK] = cluster.partitions_count - sum(counts.values()) - cluster.unsure_count
    for severity, count in sorted(counts.items()):
        yield known.AVAILABILITY, (cluster.alias, severity.word), count
    yield known.AVAILABILITY, (cluster.alias, UNKNOWN), cluster.unsure_count
    for one in Counted:
        yield known.AVAILABILITY_COUNTS, (cluster.alias, one), getattr(cluster, f"{one}_count")
    yield known.RF_BELOW_MIN, (cluster.alias,), cluster.rf_below_min_count
    since = cluster.out_since
    age_s = 0.0 if since is None else max((now - since).total_seconds(), 0.0)
    yield known.OUT_OF_SYNC_AGE, (cluster.alias,), age_s
    fresh = queries.freshness_of(cluster)
    yield known.AVAILABILITY_AGE, (cluster.alias, row.source), fresh.age_s(now)
