"""Committed offsets of groups: read (OffsetFetch, KIP-709) and taken away (OffsetDelete, KIP-496).

The client library's own reading ends the process with a segmentation fault when a group's coordinator is
elsewhere or not ready, as it is whenever a broker dies (librdkafka 2.16.0, `rd_kafka_handle_OffsetFetch`:
an admin client has no group of its own to look the coordinator up for).
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Collection, Iterable
from typing import TypeAlias, cast

from kio.schema.find_coordinator.v3.request import FindCoordinatorRequest
from kio.schema.find_coordinator.v4.request import (
    FindCoordinatorRequest as FindCoordinatorsRequest,
)
from kio.schema.offset_delete.v0.request import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from kio.schema.offset_delete.v0.response import OffsetDeleteResponse
from kio.schema.offset_fetch.v7.request import OffsetFetchRequest as OneOffsetFetchRequest
from kio.schema.offset_fetch.v7.response import OffsetFetchResponseTopic
from kio.schema.offset_fetch.v8.request import OffsetFetchRequest, OffsetFetchRequestGroup
from kio.schema.offset_fetch.v8.response import OffsetFetchResponseTopics
from kio.schema.types import GroupId

from jobs.cluster.descriptions import CommittedOffset, TopicPartition
from jobs.cluster.errors import ClusterFault, TimedOut
from jobs.cluster.protocol.cluster import RawCluster
from jobs.cluster.protocol.coordinator import GaveUp, ask_patiently
from jobs.cluster.protocol.errors import Where, answer_fault
from jobs.cluster.protocol.transport.apis import (
    FIND_COORDINATOR,
    FIND_COORDINATORS,
    OFFSET_DELETE,
    OFFSET_FETCH,
    OFFSET_FETCH_ONE,
)
from jobs.cluster.protocol.transport.connection import BrokerConnection
from jobs.cluster.protocol.transport.connection_pool import COORDINATOR
from jobs.cluster.protocol.transport.primitives import int8, int32, topic_name
from jobs.cluster.protocol.transport.timing import RetryBudget
from jobs.cluster.read_only import refuse_when_read_only

_GROUP = int8(0)
_READING = "Reading committed offsets"
# A group may have many thousands of partitions, and an answer has to fit into memory.
GROUPS_PER_REQUEST = 50

Offsets: TypeAlias = dict[TopicPartition, CommittedOffset]
_Topics: TypeAlias = Iterable[OffsetFetchResponseTopics | OffsetFetchResponseTopic]


async def read_offsets(
    cluster: RawCluster, group_ids: Collection[str], *, budget_s: float
) -> dict[str, Offsets | ClusterFault]:
    """Return the committed offsets of each group, or the last fault; a group without any has none.

    Coordinators that move are followed while the budget lasts, and one that hangs costs its own groups
    only. Raises `ClusterFault` when nobody says who coordinates.
    Source: FindCoordinator 3 and 4 (KIP-699), OffsetFetch 5 to 8 (KIP-709).
    """
    tries = RetryBudget(cluster.timing, budget_s)
    found: dict[str, Offsets | ClusterFault] = {}
    waiting = sorted(set(group_ids))
    while waiting:
        try:
            found |= await _read_once(cluster, waiting, tries)
        except ClusterFault as fault:
            if not found:
                raise
            # What was read before stays read.
            found |= dict.fromkeys(waiting, fault)
        waiting = [group_id for group_id in waiting if _is_retriable(found[group_id])]
        if waiting and not await tries.pause():
            break
    return found


async def _read_once(
    cluster: RawCluster, group_ids: Collection[str], tries: RetryBudget
) -> dict[str, Offsets | ClusterFault]:
    """Ask every coordinator at the same time."""
    coordinators = await _coordinators_of(cluster, group_ids)
    found: dict[str, Offsets | ClusterFault] = {}
    by_broker: dict[int, list[str]] = defaultdict(list)
    for group_id, coordinator in coordinators.items():
        if isinstance(coordinator, ClusterFault):
            found[group_id] = coordinator
        else:
            by_broker[coordinator].append(group_id)
    asked = (_read_from(cluster, broker, own, tries) for broker, own in by_broker.items())
    for answers in await asyncio.gather(*asked):
        found |= answers
    return found


async def _read_from(
    cluster: RawCluster, broker_id: int, group_ids: list[str], tries: RetryBudget
) -> dict[str, Offsets | ClusterFault]:
    """Return what one broker says of the groups that it coordinates."""
    found: dict[str, Offsets | ClusterFault] = {}
    fault: ClusterFault | None = None
    try:
        async with asyncio.timeout(tries.left_s()):
            connection = await cluster.connection_to(broker_id, COORDINATOR)
            for at in range(0, len(group_ids), GROUPS_PER_REQUEST):
                found |= await _fetched(connection, group_ids[at : at + GROUPS_PER_REQUEST])
    except TimeoutError:
        text = f"{_READING}: broker {broker_id} did not answer in time."
        fault = TimedOut(text, cluster=cluster.alias)
    except ClusterFault as heard:
        fault = heard
    if fault is not None:
        found |= dict.fromkeys((one for one in group_ids if one not in found), fault)
    return found


async def _fetched(
    connection: BrokerConnection, group_ids: Collection[str]
) -> dict[str, Offsets | ClusterFault]:
    place = (connection.cluster, connection.server.broker_id)
    found: dict[str, Offsets | ClusterFault] = {}
    if connection.versions.best(OFFSET_FETCH.speaks) is None:
        for group_id in group_ids:
            one = OneOffsetFetchRequest(group_id=cast("GroupId", group_id), topics=None)
            answer = await connection.request(OFFSET_FETCH_ONE, one)
            found[group_id] = _offsets(group_id, answer.topics, answer.error_code, place)
        return found
    groups = tuple(
        OffsetFetchRequestGroup(group_id=cast("GroupId", one), topics=None) for one in group_ids
    )
    many = await connection.request(OFFSET_FETCH, OffsetFetchRequest(groups=groups))
    for group in many.groups:
        found[group.group_id] = _offsets(group.group_id, group.topics, group.error_code, place)
    missing = TimedOut(f"{_READING}: not answered.", cluster=connection.cluster)
    return {group_id: found.get(group_id, missing) for group_id in group_ids}


def _offsets(
    group_id: str, topics: _Topics, error: int, place: tuple[str, int | None]
) -> Offsets | ClusterFault:
    refusal = answer_fault(error, Where(*place, f"{_READING} of group {group_id}"))
    if refusal is not None:
        return refusal
    found: Offsets = {}
    for topic in topics:
        for one in topic.partitions:
            where = TopicPartition(topic.name, one.partition_index)
            fault = answer_fault(one.error_code, Where(*place, f"{_READING} of", where))
            # The client library writes the end of its C strings, too.
            metadata = (one.metadata or "").rstrip("\x00")
            has_one = fault is None and one.committed_offset >= 0
            found[where] = CommittedOffset(
                one.committed_offset if has_one else None,
                metadata,
                None if fault is None else fault.message,
            )
    return found


def _is_retriable(answer: Offsets | ClusterFault) -> bool:
    return isinstance(answer, ClusterFault) and answer.retriable


async def _coordinators_of(
    cluster: RawCluster, group_ids: Collection[str]
) -> dict[str, int | ClusterFault]:
    """Return who coordinates each group, or why that is not known; raises `ClusterFault`."""

    async def send(connection: BrokerConnection) -> dict[str, int | ClusterFault]:
        if connection.versions.best(FIND_COORDINATORS.speaks) is None:
            return {one: await _found_by(connection, one) for one in group_ids}
        request = FindCoordinatorsRequest(key_type=_GROUP, coordinator_keys=tuple(group_ids))
        answer = await connection.request(FIND_COORDINATORS, request)
        found: dict[str, int | ClusterFault] = {}
        for one in answer.coordinators:
            place = Where(cluster.alias, None, f"Finding the coordinator of group {one.key}")
            fault = answer_fault(one.error_code, place, one.error_message)
            found[one.key] = fault or int(one.node_id)
        untold = TimedOut("Finding the coordinator: not answered.", cluster=cluster.alias)
        return {group_id: found.get(group_id, untold) for group_id in group_ids}

    return await cluster.ask_any(send)


async def _found_by(connection: BrokerConnection, group_id: str) -> int | ClusterFault:
    request = FindCoordinatorRequest(key=group_id, key_type=_GROUP)
    answer = await connection.request(FIND_COORDINATOR, request)
    place = Where(connection.cluster, None, f"Finding the coordinator of group {group_id}")
    return answer_fault(answer.error_code, place, answer.error_message) or answer.node_id


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
    found = (await _coordinators_of(cluster, [group_id]))[group_id]
    if isinstance(found, ClusterFault):
        raise found
    return found


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
