"""Taking committed offsets of a group away (OffsetDelete, KIP-496)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection
from typing import cast

from kio.schema.find_coordinator.v3.request import FindCoordinatorRequest
from kio.schema.find_coordinator.v3.response import FindCoordinatorResponse
from kio.schema.offset_delete.v0.request import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from kio.schema.offset_delete.v0.response import OffsetDeleteResponse
from kio.schema.types import GroupId

from jobs.cluster.descriptions import TopicPartition
from jobs.cluster.raw.apis import FIND_COORDINATOR, OFFSET_DELETE
from jobs.cluster.raw.cluster import RawCluster
from jobs.cluster.raw.connection import BrokerConnection
from jobs.cluster.raw.coordinator import GaveUp, ask_patiently
from jobs.cluster.raw.errors import Where, answer_fault
from jobs.cluster.raw.lanes import COORDINATOR
from jobs.cluster.raw.primitives import int8, int32, topic_name
from jobs.cluster.read_only import refuse_when_read_only

_GROUP = int8(0)


async def delete_offsets(
    cluster: RawCluster, group_id: str, partitions: Collection[TopicPartition], *, budget_s: float
) -> dict[TopicPartition, str | None]:
    """Take a group's committed offsets away; returns why not, per partition (None: there is none now).

    Harmless to repeat, so it is tried again while the coordinator moves. Raises `ClusterFault`.
    """
    refuse_when_read_only(cluster.alias, f"Deleting offsets of group {group_id}")
    if not partitions:
        return {}
    request = _request(group_id, partitions)
    doing = f"Deleting offsets of group {group_id}"

    async def attempt() -> OffsetDeleteResponse:
        broker_id = await _coordinator_of(cluster, group_id)
        connection = await cluster.connection_to(broker_id, COORDINATOR)
        answer = await connection.request(OFFSET_DELETE, request)
        _raise(answer.error_code, Where(cluster.alias, broker_id, doing))
        return answer

    try:
        answer = await ask_patiently(cluster, attempt, budget_s)
    except GaveUp as gave_up:
        raise gave_up.fault from None
    return _results(answer, cluster.alias, doing)


def _request(group_id: str, partitions: Collection[TopicPartition]) -> OffsetDeleteRequest:
    numbers: dict[str, list[int]] = defaultdict(list)
    for where in sorted(set(partitions)):
        numbers[where.topic].append(where.partition)
    topics = tuple(
        OffsetDeleteRequestTopic(
            name=topic_name(topic),
            partitions=tuple(OffsetDeleteRequestPartition(partition_index=int32(n)) for n in own),
        )
        for topic, own in numbers.items()
    )
    return OffsetDeleteRequest(group_id=cast("GroupId", group_id), topics=topics)


async def _coordinator_of(cluster: RawCluster, group_id: str) -> int:
    request = FindCoordinatorRequest(key=group_id, key_type=_GROUP)

    async def send(connection: BrokerConnection) -> FindCoordinatorResponse:
        return await connection.request(FIND_COORDINATOR, request)

    answer = await cluster.ask_any(send)
    doing = f"Finding the coordinator of group {group_id}"
    _raise(answer.error_code, Where(cluster.alias, None, doing), answer.error_message)
    return answer.node_id


def _results(
    answer: OffsetDeleteResponse, alias: str, doing: str
) -> dict[TopicPartition, str | None]:
    found: dict[TopicPartition, str | None] = {}
    for topic in answer.topics:
        for one in topic.partitions:
            where = TopicPartition(topic.name, one.partition_index)
            fault = answer_fault(one.error_code, Where(alias, None, doing, where))
            found[where] = None if fault is None else fault.message
    return found


def _raise(error: int, where: Where, said: str | None = None) -> None:
    fault = answer_fault(error, where, said)
    if fault is not None:
        raise fault
