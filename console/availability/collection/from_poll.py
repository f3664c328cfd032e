"""News of partitions from the cluster's collection rounds, where the metadata log cannot be followed.

What came and went between two rounds is never seen, and a time is known to the interval of the rounds only.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from django.db import transaction

from console.availability.collection.min_isr_settings import MinIsrSettings
from console.availability.collection.observer_roles import ObserverRoles
from console.availability.collection.rollup_writer import RollupWriter
from console.availability.collection.status_rows import PartitionId, PartitionUpdate
from console.availability.collection.status_writer import StatusWriter
from console.availability.status.broker_models import Source
from console.availability.status.brokers import BrokerStatusWriter
from console.availability.status.models import AvailabilityRound, PartitionStatus
from console.clusters.models import Broker, Cluster, Partition
from jobs.availability.status.partition_seen import (
    MIN_ISR_CHANGED,
    OBSERVERS_CHANGED,
    POLLED,
    PartitionSeen,
)
from jobs.availability.status.severity import Moves

# `leader`, `replicas`, `isr` in order, `adding`, `removing`, min ISR, `observers`,
# what limits and sets min ISR.
Compared = tuple[Any, ...]
_MOVES = ("leader", "replicas", "isr", "adding", "removing")
_COLUMNS = ("topic__name", "topic__topic_id", "partition", *_MOVES)


def take_round(cluster: Cluster, row: AvailabilityRound, at: datetime, now: datetime) -> int:
    """Take in the round that succeeded at a time; return how many partitions changed.

    One query for the partitions of the round, one for those of the one before.
    """
    if row.polled_at is not None:
        row.interval_ms = max(int((at - row.polled_at).total_seconds() * 1000), 0)
    brokers = BrokerStatusWriter(cluster)
    is_moved = brokers.see(Broker.objects.filter(cluster=cluster))
    news = list(_news(cluster, at, row.polled_at))
    with transaction.atomic():
        counts = RollupWriter(cluster, row, brokers.racks, now)
        if is_moved:
            counts.move_racks(brokers.racks)
        counts.pass_time(at, Source.POLL)
        writer = StatusWriter(cluster, Source.POLL, counts)
        writer.take(news)
        writer.save()
        brokers.save()
        counts.pass_time(now, Source.POLL)
        counts.save()
        row.polled_at = at
        row.save(update_fields=["polled_at", "interval_ms", "sampled_s"])
    return len(news)


# What is compared of every partition: whole rows are read of those only that changed.
_KNOWN = (*_MOVES, "min_insync_replicas", "observers", "limits_min_isr", "min_isr_origin")


def _news(cluster: Cluster, at: datetime, before: datetime | None) -> Iterator[PartitionUpdate]:
    settings, roles = MinIsrSettings(cluster, is_log_known=False), ObserverRoles(cluster)
    unseen = _known(cluster)
    # Rows are written only where they changed, but also when records come in: all are compared.
    rows = Partition.objects.filter(cluster=cluster).values_list(*_COLUMNS)
    for topic, topic_id, number, leader, replicas, isr, adding, removing in rows:
        place = PartitionId(topic, topic_id, number)
        known = unseen.pop(place.key, None)
        least = settings.of(topic)
        moved = Moves(None if adding is None else tuple(adding), tuple(removing))
        observers = roles.observers(topic, replicas, moved)
        moves = (leader, replicas, sorted(isr), adding, removing)
        limits = settings.limits(least.value, replicas)
        now = (*moves, least.value, list(observers), limits, least.origin.value)
        if known is not None and known[0] == now:
            continue
        seen = PartitionSeen(
            at=at,
            replicas=tuple(replicas),
            isr=tuple(sorted(isr)),
            leader=leader,
            min_insync_replicas=least.value,
            limits_min_isr=limits,
            observers=observers,
            adding=moved.adding,
            removing=moved.removing,
            cause=_cause(None if known is None else known[0], now),
            # Nothing was seen before the first round: that may have been so for ever.
            not_before=before,
        )
        yield PartitionUpdate(place, at, seen, least.origin)
    for _, place in unseen.values():
        yield PartitionUpdate(place, at, None, cause="topic_deleted")


def _known(cluster: Cluster) -> dict[str, tuple[Compared, PartitionId]]:
    """Return what is stored of every partition, as far as it is compared."""
    rows = PartitionStatus.objects.filter(cluster=cluster).values_list(
        "key", "topic", "topic_id", "partition", *_KNOWN
    )
    return {
        key: ((leader, replicas, sorted(isr), *rest), PartitionId(topic, topic_id, number))
        for key, topic, topic_id, number, leader, replicas, isr, *rest in rows
    }


def _cause(known: Compared | None, now: Compared) -> str:
    """Return what a round saw: a move, or by itself another setting or other observers."""
    if known is None or known[: len(_MOVES)] != now[: len(_MOVES)]:
        return POLLED
    is_setting = (known[-4], *known[-2:]) != (now[-4], *now[-2:])
    return MIN_ISR_CHANGED if is_setting else OBSERVERS_CHANGED
