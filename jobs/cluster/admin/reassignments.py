"""Moving replicas: AlterPartitionReassignments (API 45) and ListPartitionReassignments (API 46), KIP-455."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from kio.schema.alter_partition_reassignments.v1.request import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from kio.schema.list_partition_reassignments.v0.request import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsTopics,
)

from jobs.cluster.descriptions import TopicPartition
from jobs.cluster.errors import ClusterFault, Remedy
from jobs.cluster.protocol.cluster import RawCluster
from jobs.cluster.protocol.errors import AnswerFault, Denied, Where, answer_fault
from jobs.cluster.protocol.transport.apis import ALTER_REASSIGNMENTS, LIST_REASSIGNMENTS
from jobs.cluster.protocol.transport.connection import BrokerConnection
from jobs.cluster.protocol.transport.primitives import broker_number, by_topic, duration, int32
from jobs.cluster.read_only import refuse_when_read_only

# Below the share of one broker in a question, so that the cluster gives up before the asker does.
_TIMEOUT_MS = 4_000
_NO_REASSIGNMENT_IN_PROGRESS = 85
_MISSING_RIGHT = "Moving replicas needs the operation ALTER on the cluster."
_MISSING_RIGHT_TO_LIST = "Listing reassignments needs the operation DESCRIBE on the cluster."


class NoReassignment(AnswerFault):
    """There is no reassignment of this partition to cancel: it is done, or never began."""

    code = "no_reassignment"
    remedy = Remedy.FINAL
    meaning = "no reassignment is in progress"
    hint = "It is complete already: move the replicas back by another one."


@dataclass(frozen=True, slots=True)
class Reassignment:
    """A reassignment in progress; `replicas` are the old and the new ones together."""

    replicas: tuple[int, ...]
    adding: tuple[int, ...]
    removing: tuple[int, ...]


async def alter_reassignments(
    cluster: RawCluster, wanted: Mapping[TopicPartition, tuple[int, ...] | None]
) -> dict[TopicPartition, ClusterFault | None]:
    """Begin reassignments, or cancel them (None); returns why not per partition, None where it was taken.

    The first of the replicas is the preferred leader. A new replica is copied first and counts when it is
    in the ISR; nothing waits for that here. Raises `ClusterFault` when nothing was taken, `ReadOnly`.
    """
    refuse_when_read_only(cluster.alias, "Moving replicas")
    request = AlterPartitionReassignmentsRequest(
        timeout=duration(_TIMEOUT_MS),
        topics=tuple(
            ReassignableTopic(
                name=topic,
                partitions=tuple(_partition(where, wanted[where]) for where in group),
            )
            for topic, group in by_topic(wanted)
        ),
    )

    async def send(connection: BrokerConnection) -> dict[TopicPartition, ClusterFault | None]:
        answer = await connection.request(ALTER_REASSIGNMENTS, request)
        place = (connection.cluster, connection.server.broker_id)
        _raise_whole(int(answer.error_code), answer.error_message, Where(*place, "Moving replicas"))
        return {
            where: _fault(int(one.error_code), one.error_message, place, where)
            for topic in answer.responses
            for one in topic.partitions
            for where in (TopicPartition(topic.name, one.partition_index),)
        }

    return await cluster.ask_any(send)


async def list_reassignments(
    cluster: RawCluster, partitions: Collection[TopicPartition] | None = None
) -> dict[TopicPartition, Reassignment]:
    """Return the reassignments in progress, of all partitions when None; raises `ClusterFault`.

    With ZooKeeper only the controller knows them.
    """
    topics = None
    if partitions is not None:
        topics = tuple(
            ListPartitionReassignmentsTopics(
                name=topic, partition_indexes=tuple(int32(where.partition) for where in group)
            )
            for topic, group in by_topic(partitions)
        )
    request = ListPartitionReassignmentsRequest(timeout=duration(_TIMEOUT_MS), topics=topics)

    async def send(connection: BrokerConnection) -> dict[TopicPartition, Reassignment]:
        answer = await connection.request(LIST_REASSIGNMENTS, request)
        where = Where(connection.cluster, connection.server.broker_id, "Listing reassignments")
        _raise_whole(
            int(answer.error_code), answer.error_message, where, hint=_MISSING_RIGHT_TO_LIST
        )
        return {
            TopicPartition(topic.name, one.partition_index): Reassignment(
                tuple(one.replicas), tuple(one.adding_replicas), tuple(one.removing_replicas)
            )
            for topic in answer.topics
            for one in topic.partitions
        }

    return await cluster.ask_controller(send)


def _partition(where: TopicPartition, replicas: tuple[int, ...] | None) -> ReassignablePartition:
    return ReassignablePartition(
        partition_index=int32(where.partition),
        replicas=None if replicas is None else tuple(broker_number(one) for one in replicas),
    )


def _raise_whole(error: int, said: str | None, where: Where, *, hint: str = _MISSING_RIGHT) -> None:
    fault = answer_fault(error, where, said)
    if isinstance(fault, Denied):
        fault.hint = hint
    if fault is not None:
        raise fault


def _fault(
    error: int, said: str | None, place: tuple[str, int | None], partition: TopicPartition
) -> ClusterFault | None:
    where = Where(*place, "Moving the replicas of", partition)
    fault = answer_fault(error, where, said)
    if fault is not None and error == _NO_REASSIGNMENT_IN_PROGRESS:
        return NoReassignment(f"{where}: {NoReassignment.meaning}.", cluster=where.cluster)
    return fault
