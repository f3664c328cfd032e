"""Where a partition's log begins and ends, and where it parted from what was read (ListOffsets, KIP-320)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from kio.schema.list_offsets.v5.request import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from kio.schema.list_offsets.v5.response import ListOffsetsResponse
from kio.schema.offset_for_leader_epoch.v4.request import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from kio.schema.offset_for_leader_epoch.v4.response import OffsetForLeaderEpochResponse

from jobs.cluster.descriptions import TopicPartition
from jobs.cluster.errors import ClusterFault
from jobs.cluster.protocol.cluster import RawCluster
from jobs.cluster.protocol.data.fetch import EpochEnd
from jobs.cluster.protocol.errors import Where, answer_fault
from jobs.cluster.protocol.leaders import ask_leaders
from jobs.cluster.protocol.metadata import PartitionMetadata
from jobs.cluster.protocol.transport.apis import (
    LIST_NEWEST,
    LIST_OFFSETS,
    OFFSET_FOR_LEADER_EPOCH,
)
from jobs.cluster.protocol.transport.connection_pool import COORDINATOR
from jobs.cluster.protocol.transport.primitives import broker_number, int8, int32, int64
from jobs.cluster.protocol.transport.topics import by_topic

LATEST, EARLIEST, NEWEST = -1, -2, -3
BUDGET_S = 30.0
_CONSUMER = broker_number(-1)
# The questions are short, and must not wait behind a Fetch or a Produce.
_LANE = COORDINATOR

_Asked = Mapping[TopicPartition, PartitionMetadata]


class ListedOffset(NamedTuple):
    """An offset of a log.

    `offset` is None when no record is as young as the timestamp that was asked for. `timestamp_ms` is that
    of the record, None for the ends of the log. `leader_epoch` is that of the offset; None: not told.
    """

    offset: int | None
    timestamp_ms: int | None
    leader_epoch: int | None


async def list_offsets(
    cluster: RawCluster,
    moments: Mapping[TopicPartition, int],
    *,
    read_committed: bool,
    budget_s: float = BUDGET_S,
    unknown_s: float | None = None,
) -> dict[TopicPartition, ListedOffset | ClusterFault]:
    """Return the first offset at or after a moment: `EARLIEST`, `LATEST`, `NEWEST`, or a time in ms.

    NEWEST is the record with the largest timestamp, which brokers before Kafka 3.0 do not tell. With
    `read_committed`, LATEST is the last stable offset, else the high watermark. Leaders that move are
    followed within the budget; raises `ClusterFault` when there is no metadata. `unknown_s`: see
    `ask_leaders`.
    """
    api = LIST_NEWEST if NEWEST in moments.values() else LIST_OFFSETS

    async def send(leader: int, asked: _Asked) -> dict[TopicPartition, ListedOffset | ClusterFault]:
        connection = await cluster.connection_to(leader, _LANE)
        request = _offsets_request(asked, moments, read_committed=read_committed)
        answer = await connection.request(api, request)
        return _listed(answer, (cluster.alias, leader))

    return await ask_leaders(cluster, moments, send, budget_s, unknown_s)


async def offsets_for_leader_epoch(
    cluster: RawCluster, epochs: Mapping[TopicPartition, int], *, budget_s: float = BUDGET_S
) -> dict[TopicPartition, EpochEnd | ClusterFault]:
    """Return where the log of each leader epoch ended, or that of the largest epoch below it.

    A position that lies above this end, read in this epoch, was truncated (KIP-320). An epoch of -1 in
    the answer: the log has nothing so old.
    """

    async def send(leader: int, asked: _Asked) -> dict[TopicPartition, EpochEnd | ClusterFault]:
        connection = await cluster.connection_to(leader, _LANE)
        request = _epochs_request(asked, epochs)
        answer = await connection.request(OFFSET_FOR_LEADER_EPOCH, request)
        return _ends(answer, (cluster.alias, leader))

    return await ask_leaders(cluster, epochs, send, budget_s)


def _offsets_request(
    asked: _Asked, moments: Mapping[TopicPartition, int], *, read_committed: bool
) -> ListOffsetsRequest:
    return ListOffsetsRequest(
        replica_id=_CONSUMER,
        isolation_level=int8(read_committed),
        topics=tuple(
            ListOffsetsTopic(
                name=topic,
                partitions=tuple(
                    ListOffsetsPartition(
                        partition_index=int32(where.partition),
                        current_leader_epoch=int32(asked[where].leader_epoch),
                        timestamp=int64(moments[where]),
                    )
                    for where in partitions
                ),
            )
            for topic, partitions in by_topic(asked)
        ),
    )


def _listed(
    answer: ListOffsetsResponse, broker: tuple[str, int]
) -> dict[TopicPartition, ListedOffset | ClusterFault]:
    found: dict[TopicPartition, ListedOffset | ClusterFault] = {}
    for topic in answer.topics:
        for partition in topic.partitions:
            where = TopicPartition(topic.name, partition.partition_index)
            place = Where(*broker, "Listing offsets of", where)
            found[where] = answer_fault(partition.error_code, place) or ListedOffset(
                _known(partition.offset),
                _known(partition.timestamp),
                _known(partition.leader_epoch),
            )
    return found


def _epochs_request(
    asked: _Asked, epochs: Mapping[TopicPartition, int]
) -> OffsetForLeaderEpochRequest:
    return OffsetForLeaderEpochRequest(
        replica_id=_CONSUMER,
        topics=tuple(
            OffsetForLeaderTopic(
                topic=topic,
                partitions=tuple(
                    OffsetForLeaderPartition(
                        partition=int32(where.partition),
                        current_leader_epoch=int32(asked[where].leader_epoch),
                        leader_epoch=int32(epochs[where]),
                    )
                    for where in partitions
                ),
            )
            for topic, partitions in by_topic(asked)
        ),
    )


def _ends(
    answer: OffsetForLeaderEpochResponse, broker: tuple[str, int]
) -> dict[TopicPartition, EpochEnd | ClusterFault]:
    found: dict[TopicPartition, EpochEnd | ClusterFault] = {}
    for topic in answer.topics:
        for partition in topic.partitions:
            where = TopicPartition(topic.topic, partition.partition)
            place = Where(*broker, "Reading the epochs of", where)
            found[where] = answer_fault(partition.error_code, place) or EpochEnd(
                partition.leader_epoch, partition.end_offset
            )
    return found


def _known(value: int) -> int | None:
    return value if value >= 0 else None
