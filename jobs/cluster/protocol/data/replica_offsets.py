"""Where the log of a single replica ends, whoever leads it: how far a standby or a held-back replica is.

Source: ListOffsets (API 2) with the replica id of a debugging consumer, -2, which any replica answers with
the end of its own log (`ReplicaManager.fetchOffset`, `ListOffsetsRequest.DEBUGGING_REPLICA_ID`). Measured
on Kafka 4.3.1.
"""

from __future__ import annotations

from collections.abc import Collection

from kio.schema.list_offsets.v5.request import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)

from jobs.cluster.descriptions import TopicPartition
from jobs.cluster.errors import ClusterFault
from jobs.cluster.protocol.data.offsets import LATEST
from jobs.cluster.protocol.errors import Where, answer_fault
from jobs.cluster.protocol.transport.apis import LIST_OFFSETS
from jobs.cluster.protocol.transport.connection import BrokerConnection
from jobs.cluster.protocol.transport.primitives import broker_number, by_topic, int8, int32, int64

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
