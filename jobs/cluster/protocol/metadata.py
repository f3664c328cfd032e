"""The answer of Metadata as plain values: brokers, topics with their ids, leaders with their epochs."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from uuid import UUID

from kio.schema.metadata.v10.request import MetadataRequest, MetadataRequestTopic
from kio.schema.metadata.v12.response import (
    MetadataResponse,
    MetadataResponsePartition,
    MetadataResponseTopic,
)

from jobs.cluster.descriptions import BrokerDescription, TopicPartition
from jobs.cluster.errors import ClusterFault
from jobs.cluster.protocol.errors import Where, answer_fault
from jobs.cluster.protocol.transport.apis import METADATA
from jobs.cluster.protocol.transport.frames import Call
from jobs.cluster.protocol.transport.primitives import topic_name


@dataclass(frozen=True, slots=True)
class PartitionMetadata:
    """Leader of a partition; `leader` is None without one, `leader_epoch` -1 when not reported.

    `replica_count` 0: not known.
    """

    partition: int
    leader: int | None
    leader_epoch: int
    replica_count: int = 0


@dataclass(frozen=True, slots=True)
class TopicMetadata:
    """A topic; `topic_id` is None before Kafka 3.1, `error` says why there are no partitions."""

    topic: str
    topic_id: UUID | None
    partitions: Mapping[int, PartitionMetadata]
    error: ClusterFault | None = None


@dataclass(frozen=True, slots=True)
class ClusterMetadata:
    """What one broker knew at one moment; `read_at_s` is on the clock of the cluster's `Timing`.

    `controller_id` is None while there is none. With KRaft it is any live broker.
    """

    cluster_id: str
    brokers: Mapping[int, BrokerDescription]
    topics: Mapping[str, TopicMetadata]
    read_at_s: float
    controller_id: int | None = None

    def partition(self, where: TopicPartition) -> PartitionMetadata | None:
        """Return a partition, None when it is not known."""
        topic = self.topics.get(where.topic)
        return topic.partitions.get(where.partition) if topic else None

    def leader(self, where: TopicPartition) -> int | None:
        """Return the broker that leads a partition, None when none is known."""
        found = self.partition(where)
        return found.leader if found else None


def metadata_request(topics: Collection[str] | None) -> MetadataRequest:
    """Ask for these topics, for all when None; none of them is created by asking."""
    named = None
    if topics is not None:
        named = tuple(
            MetadataRequestTopic(topic_id=None, name=topic_name(name)) for name in sorted(topics)
        )
    return MetadataRequest(
        topics=named,
        allow_auto_topic_creation=False,
        include_cluster_authorized_operations=False,
        include_topic_authorized_operations=False,
    )


@lru_cache(256)
def metadata_call(topics: frozenset[str] | None, version: int) -> Call[MetadataResponse]:
    """Return the call of such a request: a flow reads who leads the same topics at every commit."""
    return METADATA.call(metadata_request(topics), version)


def read_metadata(
    answer: MetadataResponse, alias: str, broker_id: int | None, now_s: float
) -> ClusterMetadata:
    """Return an answer as values; errors stand at their topics."""
    return ClusterMetadata(
        answer.cluster_id or "",
        {
            broker.node_id: BrokerDescription(broker.node_id, broker.host, broker.port, broker.rack)
            for broker in answer.brokers
        },
        {
            topic.name: _topic(topic, Where(alias, broker_id, f"Metadata of {topic.name}"))
            for topic in answer.topics
            if topic.name is not None
        },
        now_s,
        answer.controller_id if answer.controller_id >= 0 else None,
    )


def newest(known: ClusterMetadata, found: ClusterMetadata) -> ClusterMetadata:
    """Return what was found, without going back to an older leader epoch of the same topic.

    A broker that lags behind may still tell of a leader that was replaced (KIP-320).
    """
    topics = {
        name: _newest_topic(known.topics[name], topic) if name in known.topics else topic
        for name, topic in found.topics.items()
    }
    return replace(found, topics=topics)


def _newest_topic(known: TopicMetadata, found: TopicMetadata) -> TopicMetadata:
    if found.topic_id is None or known.topic_id != found.topic_id:
        return found
    partitions = {
        number: _newest_partition(known.partitions.get(number), partition)
        for number, partition in found.partitions.items()
    }
    return TopicMetadata(found.topic, found.topic_id, partitions, found.error)


def _newest_partition(
    known: PartitionMetadata | None, found: PartitionMetadata
) -> PartitionMetadata:
    return known if known is not None and known.leader_epoch > found.leader_epoch else found


def _topic(topic: MetadataResponseTopic, where: Where) -> TopicMetadata:
    return TopicMetadata(
        topic.name or "",
        # Version 9 has no topic ids.
        getattr(topic, "topic_id", None),
        {partition.partition_index: _partition(partition) for partition in topic.partitions},
        answer_fault(topic.error_code, where),
    )


def _partition(partition: MetadataResponsePartition) -> PartitionMetadata:
    leader = partition.leader_id if partition.leader_id >= 0 else None
    count = len(partition.replica_nodes)
    return PartitionMetadata(partition.partition_index, leader, partition.leader_epoch, count)
