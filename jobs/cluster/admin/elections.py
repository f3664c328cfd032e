"""Electing leaders: ElectLeaders (API 43, KIP-460), preferred and unclean."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from enum import IntEnum

from kio.schema.elect_leaders.v2.request import ElectLeadersRequest, TopicPartitions

from jobs.cluster.descriptions import TopicPartition
from jobs.cluster.errors import ClusterFault, Remedy
from jobs.cluster.protocol.cluster import RawCluster
from jobs.cluster.protocol.errors import AnswerFault, Denied, Where, answer_fault
from jobs.cluster.protocol.transport.apis import ELECT_LEADERS
from jobs.cluster.protocol.transport.connection import BrokerConnection
from jobs.cluster.protocol.transport.primitives import by_topic, duration, int8, int32
from jobs.cluster.read_only import refuse_when_read_only

# Below the share of one broker in a question, so that the cluster gives up before the asker does.
_TIMEOUT_MS = 4_000
_PREFERRED_NOT_AVAILABLE, _NONE_ELIGIBLE, _NOT_NEEDED = 80, 83, 84
_MISSING_RIGHT = "Electing leaders needs the operation ALTER on the cluster."


class ElectionType(IntEnum):
    """PREFERRED: the first replica, if it is in the ISR. UNCLEAN: any live one, records may be lost."""

    PREFERRED = 0
    UNCLEAN = 1


class NoEligibleLeader(AnswerFault):
    """No live replica may lead: UNCLEAN needs an unfenced one, PREFERRED the first one in the ISR."""

    code = "no_eligible_leader"
    remedy = Remedy.OPERATOR
    meaning = "no live replica may lead this partition"
    hint = (
        "Promote a standby broker that has a replica, or bring a broker of the partition back; with the "
        "first replica outside of the ISR only an UNCLEAN election helps, which may lose records."
    )


@dataclass(frozen=True, slots=True)
class Elected:
    """What came of an election of one partition; `fault` is None when it was held or not needed."""

    was_needed: bool
    fault: ClusterFault | None = None


async def elect_leaders(
    cluster: RawCluster, kind: ElectionType, partitions: Collection[TopicPartition]
) -> dict[TopicPartition, Elected]:
    """Elect a leader for each of these partitions; raises `ClusterFault`, `ReadOnly`.

    A partition that has a leader already (for UNCLEAN: any leader) is `was_needed` False. It needs a live
    quorum.
    """
    refuse_when_read_only(cluster.alias, f"{kind.name.capitalize()} elections")
    request = ElectLeadersRequest(
        election_type=int8(kind),
        topic_partitions=tuple(
            TopicPartitions(topic=topic, partitions=tuple(int32(w.partition) for w in group))
            for topic, group in by_topic(partitions)
        ),
        timeout=duration(_TIMEOUT_MS),
    )

    async def send(connection: BrokerConnection) -> dict[TopicPartition, Elected]:
        answer = await connection.request(ELECT_LEADERS, request)
        place = (connection.cluster, connection.server.broker_id)
        fault = answer_fault(int(answer.error_code), Where(*place, "Electing leaders"))
        if isinstance(fault, Denied):
            fault.hint = _MISSING_RIGHT
        if fault is not None:
            raise fault
        return {
            where: _elected(
                int(one.error_code), one.error_message, Where(*place, _doing(kind), where)
            )
            for topic in answer.replica_election_results
            for one in topic.partition_result
            for where in (TopicPartition(topic.topic, one.partition_id),)
        }

    return await cluster.ask_any(send)


def _doing(kind: ElectionType) -> str:
    return f"Electing ({kind.name}) a leader of"


def _elected(error: int, said: str | None, where: Where) -> Elected:
    if error in (0, _NOT_NEEDED):
        return Elected(was_needed=error == 0)
    fault: ClusterFault | None = answer_fault(error, where, said)
    if error in (_PREFERRED_NOT_AVAILABLE, _NONE_ELIGIBLE):
        name = fault.error if isinstance(fault, AnswerFault) else str(error)
        found = NoEligibleLeader(
            f"{where}: {NoEligibleLeader.meaning} ({name}).", cluster=where.cluster
        )
        found.error = name
        fault = found
    return Elected(was_needed=True, fault=fault)
