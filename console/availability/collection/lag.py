"""Lag of out-of-sync replicas, queried from their brokers in separate rounds."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection, Mapping
from datetime import datetime, timedelta
from typing import Protocol

from django.conf import settings
from django.db import transaction
from django.db.models import F, Max, Subquery
from django.db.models.expressions import OuterRef
from django.utils import timezone

from console.availability.collection.collect import claim, fail, oldest_first, succeed
from console.availability.status.models import AvailabilityRound, OutOfSyncSpan, PartitionStatus
from console.clusters.collection.rows import update
from console.clusters.models import Cluster
from jobs.cluster.admin.replica_lags import ReplicaLags, read_replica_lags
from jobs.cluster.connection import Connection
from jobs.cluster.descriptions import TopicPartition
from jobs.cluster.errors import ClusterFault, InvalidFields
from jobs.logs import own_fault

logger = logging.getLogger(__name__)

Clock = Callable[[], datetime]
# Only the longest absences of a cluster are queried.
MOST_ASKED = 5000
_LAG = AvailabilityRound.Noun.LAG


class LagDoor(Protocol):
    """Log end offsets of replicas; tests replace it by a fake."""

    def __call__(
        self,
        connection: Connection,
        behind: Mapping[int, Collection[TopicPartition]],
        leaders: Mapping[TopicPartition, int],
    ) -> ReplicaLags:
        """Return the lags; raises `ClusterFault`."""
        ...


def due_clusters(now: datetime) -> list[int]:
    """Return the clusters with replicas out of sync whose lag is due, longest waiting first: two queries."""
    every = timedelta(seconds=settings.REPLICA_LAG_INTERVAL_S - 0.5)
    asked = {row.cluster_id: row for row in AvailabilityRound.objects.filter(noun=_LAG)}
    missing = OutOfSyncSpan.objects.filter(ended_at=None, cluster__is_enabled=True)
    found = missing.order_by().values_list("cluster_id", flat=True).distinct()
    due = [pk for pk in found if _is_due(asked.get(pk), now, every)]
    return sorted(due, key=lambda pk: (oldest_first(asked.get(pk)), pk))


def _is_due(row: AvailabilityRound | None, now: datetime, every: timedelta) -> bool:
    if row is None or row.finished_at is None:
        return True
    is_claimed = row.claimed_until is not None and row.claimed_until >= now
    return not is_claimed and now - row.finished_at >= every


def ask_lags(
    cluster_id: int, clock: Clock = timezone.now, door: LagDoor = read_replica_lags
) -> bool:
    """Query the lag of every open absence of a cluster; return whether it was queried. Never raises."""
    cluster = Cluster.objects.filter(pk=cluster_id, is_enabled=True).first()
    if cluster is None:
        return False
    row, _ = AvailabilityRound.objects.get_or_create(cluster=cluster, noun=_LAG)
    if not claim(row, clock()):
        return False
    begun = time.monotonic()
    try:
        found = _ask(cluster, door)
        _save(cluster, found, clock())
        succeed(row, clock(), begun, **_told(found))
    except InvalidFields as problem:
        hint = "Correct the cluster's settings."
        fail(row, clock(), begun, "invalid", f"Invalid cluster settings: {problem}", hint)
    except ClusterFault as fault:
        fail(row, clock(), begun, fault.code, fault.message, fault.hint)
    except Exception:
        logger.exception("asking for lag broke cluster=%s", cluster.alias)
        text = own_fault("asking for lag")
        fail(row, clock(), begun, "broken", text, "")
    return True


def _ask(cluster: Cluster, door: LagDoor) -> ReplicaLags:
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
    return door(cluster.connection(), behind, leaders) if behind else ReplicaLags()


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


def _told(found: ReplicaLags) -> dict[str, str]:
    """Return which brokers did not answer; that is expected of brokers that are down."""
    if not found.faults:
        return {}
    brokers = ", ".join(map(str, sorted(found.faults)))
    return {"error": f"Lag unknown: broker {brokers} does not answer."}
