"""Lag of out-of-sync replicas, queried from their brokers in separate rounds."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from datetime import datetime

from django.conf import settings
from django.db import transaction
from django.db.models import Exists, F, Max, QuerySet, Subquery
from django.db.models.expressions import OuterRef
from django.utils import timezone

from console.availability.status.models import AvailabilityRound, OutOfSyncSpan, PartitionStatus
from console.clusters.collection.rows import update
from console.clusters.models import Cluster
from console.clusters.queries import enabled_clusters
from console.frame.rounds import Clock, Outcome, Rounds
from jobs.cluster.admin.replica_lags import ReplicaLags, read_replica_lags
from jobs.cluster.connection import Connection
from jobs.cluster.descriptions import TopicPartition

# Only the longest absences of a cluster are queried.
MOST_ASKED = 5000
# Returns the lags of replicas behind by their brokers, beside the leaders; raises `ClusterFault`.
ReadLags = Callable[
    [Connection, Mapping[int, Collection[TopicPartition]], Mapping[TopicPartition, int]],
    ReplicaLags,
]


def _clusters_out_of_sync() -> QuerySet[Cluster]:
    missing = OutOfSyncSpan.objects.filter(cluster=OuterRef("pk"), ended_at=None)
    return enabled_clusters().filter(Exists(missing))


LAGS: Rounds[Cluster, AvailabilityRound] = Rounds(
    name="replica_lags",
    rows=AvailabilityRound,
    of="cluster",
    subjects=_clusters_out_of_sync,
    every_s=lambda: settings.REPLICA_LAG_INTERVAL_S,
    activity="asking for lag",
    part={"noun": AvailabilityRound.Noun.LAG},
)


def ask_lags(
    cluster_id: int, clock: Clock = timezone.now, read: ReadLags = read_replica_lags
) -> bool:
    """Query the lag of every open absence of a cluster; return whether it was queried. Never raises."""

    def collect(cluster: Cluster, _: AvailabilityRound) -> Outcome:
        found = _ask(cluster, read)
        _save(cluster, found, clock())
        return Outcome(missing=_missing(found))

    return LAGS.run(cluster_id, collect, clock)


def _ask(cluster: Cluster, read: ReadLags) -> ReplicaLags:
    behind: dict[int, list[TopicPartition]] = {}
    leaders: dict[TopicPartition, int] = {}
    led = PartitionStatus.objects.filter(cluster=cluster, key=OuterRef("key"))
    rows = OutOfSyncSpan.objects.filter(cluster=cluster, ended_at=None).order_by("began_at")
    for row in rows.annotate(leader=Subquery(led.values("leader")[:1]))[:MOST_ASKED]:
        leader: int | None = row.leader
        if leader is not None:
            where = TopicPartition(row.topic, row.partition)
            leaders[where] = leader
            behind.setdefault(row.broker, []).append(where)
    return read(cluster.connection(), behind, leaders) if behind else ReplicaLags()


def _save(cluster: Cluster, found: ReplicaLags, now: datetime) -> None:
    """Write lags to absences, and the maximum of each partition; one that is not reported is unknown."""
    changed: list[OutOfSyncSpan] = []
    for row in OutOfSyncSpan.objects.filter(cluster=cluster, ended_at=None):
        lag = found.lags.get((TopicPartition(row.topic, row.partition), row.broker))
        if lag is None and row.lag is None:
            continue
        row.lag, row.lag_at = lag, now if lag is not None else None
        changed.append(row)
    if not changed:
        return
    worst = OutOfSyncSpan.objects.filter(
        cluster=OuterRef("cluster"), key=OuterRef("key"), ended_at=None
    )
    with transaction.atomic():
        update(OutOfSyncSpan, changed, ("lag", "lag_at"))
        statuses = PartitionStatus.objects.filter(cluster=cluster).exclude(missing_text="")
        most = worst.order_by().values("key").annotate(most=Max(F("lag"))).values("most")
        statuses.update(worst_lag=Subquery(most))


def _missing(found: ReplicaLags) -> str:
    """Return which brokers did not answer; that is expected of brokers that are down."""
    if not found.faults:
        return ""
    brokers = ", ".join(map(str, sorted(found.faults)))
    return f"Lag unknown: broker {brokers} does not answer."
