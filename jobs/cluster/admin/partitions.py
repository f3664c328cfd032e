"""Partitions with their replicas, ISR and eligible leaders (DescribeTopicPartitions, KIP-966, Kafka 3.7)."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from functools import partial
from typing import Any

from kio.schema.describe_topic_partitions.v0.request import (
    Cursor,
    DescribeTopicPartitionsRequest,
    TopicRequest,
)

from jobs.cluster.descriptions import TopicPartition
from jobs.cluster.errors import ClusterFault
from jobs.cluster.protocol.cluster import RawCluster
from jobs.cluster.protocol.errors import Where, answer_fault
from jobs.cluster.protocol.transport.apis import DESCRIBE_TOPIC_PARTITIONS
from jobs.cluster.protocol.transport.connection import BrokerConnection
from jobs.cluster.protocol.transport.primitives import int32, topic_name

_AT_ONCE = 2000
_LEADER_NOT_AVAILABLE = 5


@dataclass(frozen=True, slots=True)
class PartitionReplicas:
    """A partition as a broker knows it; `leader` is None while there is none, `elr` empty where ELR is off.

    `offline` are replicas on brokers that are fenced or down.
    """

    topic: str
    partition: int
    leader: int | None
    leader_epoch: int
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    elr: tuple[int, ...] = ()
    last_known_elr: tuple[int, ...] = ()
    offline: tuple[int, ...] = ()

    @property
    def where(self) -> TopicPartition:
        """The topic and the number."""
        return TopicPartition(self.topic, self.partition)


async def describe_partitions(
    cluster: RawCluster, topics: Collection[str] | None = None
) -> dict[TopicPartition, PartitionReplicas]:
    """Return the partitions of these topics, of all when None; raises `ClusterFault`.

    A named topic that does not exist or may not be seen raises its fault. With None, what this principal
    may not see is left out. Any broker answers from its own copy of the metadata, some milliseconds behind.
    """
    found: dict[TopicPartition, PartitionReplicas] = {}
    cursor: Cursor | None = None
    names = sorted(set(topics or ()))
    if topics is not None and not names:
        return {}
    while True:
        request = DescribeTopicPartitionsRequest(
            topics=tuple(TopicRequest(name=topic_name(name)) for name in names),
            response_partition_limit=int32(_AT_ONCE),
            cursor=cursor,
        )
        answer = await cluster.ask_any(partial(_ask, request))
        for topic in answer.topics:
            _raise_named(topic, cluster.alias, is_named=topics is not None)
            found |= {one.where: one for one in _partitions(topic)}
        if answer.next_cursor is None:
            return found
        cursor = Cursor(
            topic_name=answer.next_cursor.topic_name,
            partition_index=answer.next_cursor.partition_index,
        )


async def _ask(request: DescribeTopicPartitionsRequest, connection: BrokerConnection) -> Any:
    return await connection.request(DESCRIBE_TOPIC_PARTITIONS, request)


def _raise_named(topic: Any, alias: str, *, is_named: bool) -> None:
    if not is_named or not topic.error_code:
        return
    fault: ClusterFault | None = answer_fault(
        int(topic.error_code), Where(alias, None, f"Describing topic {topic.name}")
    )
    if fault is not None:
        raise fault


def _partitions(topic: Any) -> list[PartitionReplicas]:
    return [
        PartitionReplicas(
            topic.name or "",
            one.partition_index,
            one.leader_id if one.leader_id >= 0 else None,
            one.leader_epoch,
            tuple(one.replica_nodes),
            tuple(one.isr_nodes),
            tuple(one.eligible_leader_replicas or ()),
            tuple(one.last_known_elr or ()),
            tuple(one.offline_replicas),
        )
        for one in topic.partitions
        # A partition without a leader is reported with an error, and with all its replicas.
        if int(one.error_code) in (0, _LEADER_NOT_AVAILABLE)
    ]
