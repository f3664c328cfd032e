"""Where a partition's log begins and ends, and the log of a single replica of it (ListOffsets).

Any replica answers the replica id of a debugging consumer, -2, with the end of its own log
(`ReplicaManager.fetchOffset`, `ListOffsetsRequest.DEBUGGING_REPLICA_ID`). Measured on Kafka 4.3.1.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import NamedTuple

from kio.schema.list_offsets.v5.request import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from kio.schema.list_offsets.v5.response import ListOffsetsResponse

from jobs.cluster.descriptions import TopicPartition
from jobs.cluster.errors import ClusterFault
from jobs.cluster.protocol.cluster import RawCluster
from jobs.cluster.protocol.errors import Where, answer_fault
from jobs.cluster.protocol.leaders import ask_leaders
from jobs.cluster.protocol.metadata import PartitionMetadata
from jobs.cluster.protocol.transport.apis import (
    LIST_EARLIEST_LOCAL,
    LIST_LATEST_TIERED,
    LIST_NEWEST,
    LIST_OFFSETS,
)
from jobs.cluster.protocol.transport.connection import BrokerConnection
from jobs.cluster.protocol.transport.connection_pool import COORDINATOR
from jobs.cluster.protocol.transport.primitives import broker_number, by_topic, int8, int32, int64

LATEST, EARLIEST, NEWEST = -1, -2, -3
# Of tiered storage: where the local log begins, and the last offset that is in remote storage.
EARLIEST_LOCAL, LATEST_TIERED = -4, -5
# The signs that older brokers would take for a time.
_APIS = {
    NEWEST: LIST_NEWEST,
    EARLIEST_LOCAL: LIST_EARLIEST_LOCAL,
    LATEST_TIERED: LIST_LATEST_TIERED,
}
BUDGET_S = 30.0
_CONSUMER = broker_number(-1)
# The questions are short, and must not wait behind a Fetch or a Produce.
_LANE = COORDINATOR

_Asked = Mapping[TopicPartition, PartitionMetadata]


class ListedOffset(NamedTuple):
    """An offset of a log.

    `offset` is None when no record is as young as the requested timestamp. `timestamp_ms` is that
    of the record, None for the ends of the log. `leader_epoch` is that of the offset; None: not reported.
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

    NEWEST is the record with the largest timestamp, which brokers before Kafka 3.0 do not tell; nor do those
    before 3.5 and 3.9 EARLIEST_LOCAL and LATEST_TIERED (None: nothing is remote, or the leader does not know
    it yet). All moments are of one such kind, or of those that every broker tells. With
    `read_committed`, LATEST is the last stable offset, else the high watermark. Leaders that move are
    followed within the budget; raises `ClusterFault` when there is no metadata. `unknown_s`: see
    `ask_leaders`.
    """
    api = next((api for sign, api in _APIS.items() if sign in moments.values()), LIST_OFFSETS)

    async def send(leader: int, asked: _Asked) -> dict[TopicPartition, ListedOffset | ClusterFault]:
        connection = await cluster.connection_to(leader, _LANE)
        request = _offsets_request(asked, moments, read_committed=read_committed)
        answer = await connection.request(api, request)
        return _listed(answer, (cluster.alias, leader))

    return await ask_leaders(cluster, moments, send, budget_s, unknown_s)


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


def _known(value: int) -> int | None:
    return value if value >= 0 else None


_DEBUGGING_CONSUMER = broker_number(-2)
_ANY_EPOCH = int32(-1)


async def replica_end_offsets(
    connection: BrokerConnection, partitions: Collection[TopicPartition]
) -> dict[TopicPartition, int | ClusterFault]:
    """Return the offset after the last record that this broker has of each partition, or why it does not say.

    Records beyond the high watermark count. Raises `ClusterFault` when nothing was answered.
    """
    request = ListOffsetsRequest(
        replica_id=_DEBUGGING_CONSUMER,
        isolation_level=int8(0),
        topics=tuple(
            ListOffsetsTopic(
                name=topic,
                partitions=tuple(
                    ListOffsetsPartition(
                        partition_index=int32(where.partition),
                        current_leader_epoch=_ANY_EPOCH,
                        timestamp=int64(LATEST),
                    )
                    for where in group
                ),
            )
            for topic, group in by_topic(partitions)
        ),
    )
    answer = await connection.request(LIST_OFFSETS, request)
    found: dict[TopicPartition, int | ClusterFault] = {}
    for topic in answer.topics:
        for one in topic.partitions:
            where = TopicPartition(topic.name, one.partition_index)
            doing = "Asking for the end of the replica of"
            place = Where(connection.cluster, connection.server.broker_id, doing, where)
            found[where] = answer_fault(int(one.error_code), place) or one.offset
    return found
