"""The partitions of the cluster that an offset belongs to, and their end offsets."""

from __future__ import annotations

from collections.abc import Callable, Collection
from contextlib import suppress
from datetime import timedelta

from django.utils import timezone

from console.clusters.models import CollectionRound
from console.replication.flows.models import ReplicationFlow
from jobs.cluster.admin.offsets import read_offset_ranges
from jobs.cluster.admin.topics import describe_topics, is_missing
from jobs.cluster.client import ClusterClient
from jobs.cluster.connection import Connection
from jobs.cluster.descriptions import TopicPartition
from jobs.cluster.errors import ClusterFault
from jobs.replication.translation.questions import NO_LIMITS, Limits

TIMEOUT_S = 5.0
# A cluster that was not collected for so long is not queried: the page would wait for its timeout.
ANSWERED_WITHIN = timedelta(seconds=60)


def read_limits(
    connection: Connection,
    partitions: Collection[TopicPartition],
    *,
    timeout_s: float = TIMEOUT_S,
) -> Limits:
    """Return which of these partitions a cluster has, and where they end; raises `ClusterFault`."""
    topics = sorted({where.topic for where in partitions})
    with ClusterClient(connection, timeout_s=timeout_s) as client:
        described = describe_topics(client, topics)
        counts = {one.name: len(one.partitions) for one in described if not one.error}
        counts |= {one.name: 0 for one in described if is_missing(one)}
        wanted = {where for where in partitions if where.partition < counts.get(where.topic, 0)}
        ranges = read_offset_ranges(client, wanted, with_timestamps=False) if wanted else {}
    ends = {where: one.end_offset for where, one in ranges.items() if one.end_offset is not None}
    return Limits(connection.alias, counts, ends)


def limits_of(
    flow: ReplicationFlow,
    partitions: Collection[TopicPartition],
    *,
    is_reverse: bool,
    read: Callable[[Connection, Collection[TopicPartition]], Limits] = read_limits,
) -> Limits:
    """Return the limits of the cluster that the offsets belong to; none when it does not answer."""
    if not _answers(flow.target_id if is_reverse else flow.source_id):
        return NO_LIMITS
    spec = flow.spec()
    with suppress(ClusterFault):
        return read(spec.target if is_reverse else spec.source, partitions)
    return NO_LIMITS


def _answers(cluster_id: int) -> bool:
    since = timezone.now() - ANSWERED_WITHIN
    return CollectionRound.objects.filter(cluster=cluster_id, succeeded_at__gt=since).exists()
