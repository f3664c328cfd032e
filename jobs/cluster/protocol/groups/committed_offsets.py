"""Committed offsets of groups: read (OffsetFetch, KIP-709), set (OffsetCommit), deleted (OffsetDelete)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from typing import TypeAlias, TypeVar, cast

from kio.schema.offset_commit.v8.request import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from kio.schema.offset_commit.v8.response import OffsetCommitResponse
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
from jobs.cluster.errors import ClusterFault
from jobs.cluster.protocol.cluster import RawCluster
from jobs.cluster.protocol.coordinator import GaveUp, ask_patiently
from jobs.cluster.protocol.errors import CoordinatorMoved, Where, answer_fault
from jobs.cluster.protocol.groups.coordinators import Asking, ask_coordinators, find_coordinators
from jobs.cluster.protocol.transport.apis import (
    OFFSET_COMMIT,
    OFFSET_DELETE,
    OFFSET_FETCH,
    OFFSET_FETCH_ONE,
)
from jobs.cluster.protocol.transport.connection import BrokerConnection
from jobs.cluster.protocol.transport.connection_pool import COORDINATOR
from jobs.cluster.protocol.transport.primitives import by_topic, int32, int64
from jobs.cluster.read_only import refuse_when_read_only

_READING = "Reading committed offsets"
# A group may have many thousands of partitions, and an answer has to fit into memory.
GROUPS_PER_REQUEST = 50

_Answer = TypeVar("_Answer")
Offsets: TypeAlias = dict[TopicPartition, CommittedOffset]
_Topics: TypeAlias = Iterable[OffsetFetchResponseTopics | OffsetFetchResponseTopic]


async def read_offsets(
    cluster: RawCluster, group_ids: Collection[str], *, budget_s: float
) -> dict[str, Offsets | ClusterFault]:
    """Return the committed offsets of each group, or the last fault; a group without any has none.

    Coordinators that move are followed while the budget lasts, and one that hangs costs its own groups
    only. Raises `ClusterFault` when no broker names the coordinators.
    Source: FindCoordinator 3 and 4 (KIP-699), OffsetFetch 5 to 8 (KIP-709).
    """
    asking: Asking[Offsets] = Asking(_READING, _fetched, GROUPS_PER_REQUEST)
    return await ask_coordinators(cluster, group_ids, asking, budget_s=budget_s)


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
    return found


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


async def alter_offsets(
    cluster: RawCluster,
    group_id: str,
    offsets: Mapping[TopicPartition, CommittedOffset],
    *,
    budget_s: float,
) -> dict[TopicPartition, str | None]:
    """Set a group's committed offsets; returns why not, per partition (None: it is set).

    Harmless to repeat, so it is tried again while the coordinator moves. Raises `ClusterFault`.
    """
    doing = f"Altering offsets of group {group_id}"
    refuse_when_read_only(cluster.alias, doing)
    if not offsets:
        return {}
    request = _commit(group_id, offsets)

    async def send(connection: BrokerConnection) -> OffsetCommitResponse:
        answer = await connection.request(OFFSET_COMMIT, request)
        for topic in answer.topics:
            for one in topic.partitions:
                # All partitions of a group have one coordinator.
                where = Where(cluster.alias, connection.server.broker_id, doing)
                fault = answer_fault(one.error_code, where)
                if isinstance(fault, CoordinatorMoved):
                    raise fault
        return answer

    answer = await _at_coordinator(cluster, group_id, send, budget_s)
    return _results(answer, cluster.alias, doing)


async def delete_offsets(
    cluster: RawCluster, group_id: str, partitions: Collection[TopicPartition], *, budget_s: float
) -> dict[TopicPartition, str | None]:
    """Take a group's committed offsets away; returns why not, per partition (None: there is none now).

    Harmless to repeat, so it is tried again while the coordinator moves. Raises `ClusterFault`.
    """
    refuse_when_read_only(cluster.alias, f"Deleting offsets of group {group_id}")
    if not partitions:
        return {}
    request = _delete(group_id, partitions)
    doing = f"Deleting offsets of group {group_id}"

    async def send(connection: BrokerConnection) -> OffsetDeleteResponse:
        answer = await connection.request(OFFSET_DELETE, request)
        _raise(answer.error_code, Where(cluster.alias, connection.server.broker_id, doing))
        return answer

    answer = await _at_coordinator(cluster, group_id, send, budget_s)
    return _results(answer, cluster.alias, doing)


async def _at_coordinator(
    cluster: RawCluster,
    group_id: str,
    send: Callable[[BrokerConnection], Awaitable[_Answer]],
    budget_s: float,
) -> _Answer:
    async def attempt() -> _Answer:
        broker_id = await _coordinator_of(cluster, group_id)
        return await send(await cluster.connection_to(broker_id, COORDINATOR))

    try:
        return await ask_patiently(cluster, attempt, budget_s)
    except GaveUp as gave_up:
        raise gave_up.fault from None


def _commit(
    group_id: str, offsets: Mapping[TopicPartition, CommittedOffset]
) -> OffsetCommitRequest:
    return OffsetCommitRequest(
        group_id=cast("GroupId", group_id),
        member_id="",
        topics=tuple(
            OffsetCommitRequestTopic(
                name=topic,
                partitions=tuple(
                    OffsetCommitRequestPartition(
                        partition_index=int32(where.partition),
                        committed_offset=int64(offsets[where].offset or 0),
                        committed_metadata=offsets[where].metadata,
                    )
                    for where in partitions
                ),
            )
            for topic, partitions in by_topic(offsets)
        ),
    )


def _delete(group_id: str, partitions: Collection[TopicPartition]) -> OffsetDeleteRequest:
    topics = tuple(
        OffsetDeleteRequestTopic(
            name=topic,
            partitions=tuple(
                OffsetDeleteRequestPartition(partition_index=int32(where.partition))
                for where in own
            ),
        )
        for topic, own in by_topic(set(partitions))
    )
    return OffsetDeleteRequest(group_id=cast("GroupId", group_id), topics=topics)


async def _coordinator_of(cluster: RawCluster, group_id: str) -> int:
    found = (await find_coordinators(cluster, [group_id]))[group_id]
    if isinstance(found, ClusterFault):
        raise found
    return found


def _results(
    answer: OffsetCommitResponse | OffsetDeleteResponse, alias: str, doing: str
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
