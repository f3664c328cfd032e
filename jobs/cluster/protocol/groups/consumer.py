"""Groups of the consumer protocol with their assignments (ConsumerGroupDescribe, API 69, KIP-848)."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TypeAlias, cast

from kio.schema.consumer_group_describe.v0.request import ConsumerGroupDescribeRequest
from kio.schema.consumer_group_describe.v0.response import ConsumerGroupDescribeResponse
from kio.schema.share_group_describe.v1.response import ShareGroupDescribeResponse
from kio.schema.types import GroupId

from jobs.cluster.descriptions import TopicPartition
from jobs.cluster.errors import ClusterFault
from jobs.cluster.protocol.cluster import RawCluster
from jobs.cluster.protocol.errors import Where, answer_fault
from jobs.cluster.protocol.groups.coordinators import Asking, ask_coordinators
from jobs.cluster.protocol.transport.apis import DESCRIBE_CONSUMER_GROUPS
from jobs.cluster.protocol.transport.connection import BrokerConnection

GROUPS_PER_REQUEST = 50


@dataclass(frozen=True, slots=True)
class ConsumerGroup:
    """A group of the consumer protocol, or a share group; `assigned` is what its members hold now.

    `coordinator` is the broker that tells it.
    """

    state: str
    assignor: str
    member_count: int
    assigned: frozenset[TopicPartition]
    coordinator: int | None


_Groups: TypeAlias = dict[str, ConsumerGroup | ClusterFault]


async def describe_consumer_groups(
    cluster: RawCluster, ids: Collection[str], *, budget_s: float
) -> _Groups:
    """Return each group, or its fault; raises `ClusterFault` without any coordinator.

    A group that does not exist, or follows another protocol, is a fault, and `VersionNotOffered` where
    brokers do not speak of such groups, before Kafka 3.7.
    """
    asking: Asking[ConsumerGroup] = Asking("Describing groups", _described, GROUPS_PER_REQUEST)
    return await ask_coordinators(cluster, ids, asking, budget_s=budget_s)


async def _described(connection: BrokerConnection, group_ids: Sequence[str]) -> _Groups:
    request = ConsumerGroupDescribeRequest(
        group_ids=tuple(cast("GroupId", group_id) for group_id in group_ids),
        include_authorized_operations=False,
    )
    answer = await connection.request(DESCRIBE_CONSUMER_GROUPS, request)
    return read_groups(answer, connection)


def read_groups(
    answer: ConsumerGroupDescribeResponse | ShareGroupDescribeResponse, connection: BrokerConnection
) -> _Groups:
    """Return the groups of an answer; those of share groups have the same fields."""
    found: _Groups = {}
    for group in answer.groups:
        where = Where(connection.cluster, None, f"Describing group {group.group_id}")
        found[group.group_id] = answer_fault(
            group.error_code, where, group.error_message
        ) or ConsumerGroup(
            group.group_state,
            group.assignor_name,
            len(group.members),
            frozenset(
                TopicPartition(topic.topic_name, number)
                for member in group.members
                for topic in member.assignment.topic_partitions
                for number in topic.partitions
            ),
            connection.server.broker_id,
        )
    return found
