"""Share groups: members (ShareGroupDescribe, API 77), offsets and lag (DescribeShareGroupOffsets, API 90).

Source: KIP-932 (Kafka 4.1 as a preview, 4.2), the lag KIP-1226 (Kafka 4.2).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TypeAlias, cast

from kio.schema.describe_share_group_offsets.v1.request import (
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsRequestGroup,
)
from kio.schema.describe_share_group_offsets.v1.response import (
    DescribeShareGroupOffsetsResponseGroup,
)
from kio.schema.share_group_describe.v1.request import ShareGroupDescribeRequest
from kio.schema.types import GroupId

from jobs.cluster.descriptions import ShareOffset, TopicPartition
from jobs.cluster.errors import ClusterFault, Remedy
from jobs.cluster.protocol.cluster import RawCluster
from jobs.cluster.protocol.errors import VersionNotOffered, Where, answer_fault
from jobs.cluster.protocol.groups.consumer import GROUPS_PER_REQUEST, ConsumerGroup, read_groups
from jobs.cluster.protocol.groups.coordinators import Asking, ask_coordinators
from jobs.cluster.protocol.transport.apis import (
    DESCRIBE_SHARE_GROUPS,
    DESCRIBE_SHARE_OFFSETS,
    SupportedApi,
)
from jobs.cluster.protocol.transport.connection import BrokerConnection

_READING = "Reading start offsets"
_NO_LAG = "Its Kafka does not tell the lag of share groups; 4.2 and newer do."

_Offsets: TypeAlias = dict[TopicPartition, ShareOffset]


class NoShareGroups(VersionNotOffered):
    """The broker does not speak of share groups."""

    code = "no_share_groups"
    remedy = Remedy.FINAL
    hint = "Update the cluster to Kafka 4.2 or newer, and set its feature share.version to 1."


async def describe_share_groups(
    cluster: RawCluster, ids: Collection[str], *, budget_s: float
) -> dict[str, ConsumerGroup | ClusterFault]:
    """Return each group, or its fault; raises `ClusterFault` without any coordinator.

    A group that does not exist, or is of another type, is a fault, and `NoShareGroups` where the broker
    knows no such groups.
    """
    asking: Asking[ConsumerGroup] = Asking("Describing groups", _described, GROUPS_PER_REQUEST)
    return await ask_coordinators(cluster, ids, asking, budget_s=budget_s)


async def read_share_offsets(
    cluster: RawCluster, ids: Collection[str], *, budget_s: float
) -> dict[str, _Offsets | ClusterFault]:
    """Return what brokers tell of each partition of share groups, or a fault; raises likewise."""
    asking: Asking[_Offsets] = Asking(_READING, _read, GROUPS_PER_REQUEST)
    return await ask_coordinators(cluster, ids, asking, budget_s=budget_s)


async def _described(
    connection: BrokerConnection, group_ids: Sequence[str]
) -> dict[str, ConsumerGroup | ClusterFault]:
    if (fault := _not_offered(connection, DESCRIBE_SHARE_GROUPS.speaks)) is not None:
        return dict.fromkeys(group_ids, fault)
    request = ShareGroupDescribeRequest(
        group_ids=tuple(cast("GroupId", group_id) for group_id in group_ids),
        include_authorized_operations=False,
    )
    answer = await connection.request(DESCRIBE_SHARE_GROUPS, request)
    return read_groups(answer, connection)


async def _read(
    connection: BrokerConnection, group_ids: Sequence[str]
) -> dict[str, _Offsets | ClusterFault]:
    if (fault := _not_offered(connection, DESCRIBE_SHARE_OFFSETS.speaks)) is not None:
        return dict.fromkeys(group_ids, fault)
    groups = tuple(
        DescribeShareGroupOffsetsRequestGroup(group_id=cast("GroupId", one), topics=None)
        for one in group_ids
    )
    request = DescribeShareGroupOffsetsRequest(groups=groups)
    answer = await connection.request(DESCRIBE_SHARE_OFFSETS, request)
    return {group.group_id: _offsets(group, connection) for group in answer.groups}


def _offsets(
    group: DescribeShareGroupOffsetsResponseGroup, connection: BrokerConnection
) -> _Offsets | ClusterFault:
    place = (connection.cluster, connection.server.broker_id)
    about = Where(*place, f"{_READING} of group {group.group_id}")
    refusal = answer_fault(group.error_code, about, group.error_message)
    if refusal is not None:
        return refusal
    found: _Offsets = {}
    for topic in group.topics:
        for one in topic.partitions:
            where = TopicPartition(topic.topic_name, one.partition_index)
            fault = answer_fault(one.error_code, Where(*place, _READING, where), one.error_message)
            lag = getattr(one, "lag", None)  # version 0 has none
            found[where] = ShareOffset(
                one.start_offset if fault is None and one.start_offset >= 0 else None,
                lag if fault is None and lag is not None and lag >= 0 else None,
                fault.message if fault is not None else _NO_LAG if lag is None else None,
            )
    return found


def _not_offered(connection: BrokerConnection, api: SupportedApi) -> ClusterFault | None:
    if connection.versions.best(api) is not None:
        return None
    text = f"This cluster has no {api.name} (Kafka 4.2): nothing is known of its share groups."
    return NoShareGroups(text, cluster=connection.cluster)
