"""What brokers know of transactions: which ids a flow has, to be fenced, and where an open one wrote."""

from __future__ import annotations

import asyncio

from kio.schema.describe_transactions.v0.request import DescribeTransactionsRequest
from kio.schema.list_transactions.v0.request import ListTransactionsRequest

from jobs.cluster.descriptions import TopicPartition
from jobs.cluster.errors import ClusterFault
from jobs.cluster.raw.apis import DESCRIBE_TRANSACTIONS, LIST_TRANSACTIONS
from jobs.cluster.raw.cluster import RawCluster
from jobs.cluster.raw.connection import BrokerConnection
from jobs.cluster.raw.coordinator import GaveUp, ask_coordinator
from jobs.cluster.raw.errors import Unavailable, Where, answer_fault
from jobs.cluster.raw.lanes import COORDINATOR
from jobs.cluster.raw.metadata import ClusterMetadata
from jobs.cluster.raw.primitives import transactional_name
from jobs.cluster.raw.timing import Tries

_STATE_TOPIC = "__transaction_state"
_ONGOING, _NOT_FOUND = "Ongoing", "TRANSACTIONAL_ID_NOT_FOUND"


async def list_transactions(
    cluster: RawCluster, prefix: str, *, budget_s: float = 30.0
) -> list[str]:
    """Return the transactional ids that begin with `prefix`, whatever state they are in, sorted.

    A broker knows those that it coordinates. While coordinators move, one could be missed
    between two brokers' answers, so the list is made again until no leader of `__transaction_state`
    changed meanwhile. Ids that the principal may not DESCRIBE are not in it. Raises `ClusterFault`,
    also when a broker does not answer: a list with a hole would leave a zombie alive.
    """
    tries = Tries(cluster.timing, budget_s)
    while True:
        try:
            before = await cluster.metadata([_STATE_TOPIC])
            found = await asyncio.gather(*(_of(cluster, broker) for broker in before.brokers))
            after = await cluster.metadata([_STATE_TOPIC], newer_than=before)
            if _leaders(before) == _leaders(after):
                return sorted(
                    {name for names in found for name in names if name.startswith(prefix)}
                )
            last: ClusterFault | None = None
        except ClusterFault as fault:
            if not fault.retriable:
                raise
            last = fault
        if not await tries.pause():
            raise last or _unsettled(cluster)


async def open_partitions(
    cluster: RawCluster, transactional_id: str, *, budget_s: float = 30.0
) -> set[TopicPartition]:
    """Return where the open transaction of an id has written; empty where none is open.

    Source: DescribeTransactions (API 65, KIP-664). Raises `ClusterFault`.
    """
    request = DescribeTransactionsRequest(transactional_ids=(transactional_name(transactional_id),))

    async def send(connection: BrokerConnection) -> set[TopicPartition]:
        answer = await connection.request(DESCRIBE_TRANSACTIONS, request)
        (state,) = answer.transaction_states
        doing = f"Describing transaction {transactional_id}"
        fault = answer_fault(
            state.error_code, Where(cluster.alias, connection.server.broker_id, doing)
        )
        if fault is not None and fault.error != _NOT_FOUND:
            raise fault
        if fault is not None or state.transaction_state != _ONGOING:
            return set()
        return {TopicPartition(one.topic, n) for one in state.topics for n in one.partitions}

    try:
        return await ask_coordinator(cluster, transactional_id, send, budget_s)
    except GaveUp as gave_up:
        raise gave_up.fault from None


async def _of(cluster: RawCluster, broker_id: int) -> list[str]:
    connection = await cluster.connection_to(broker_id, COORDINATOR)
    request = ListTransactionsRequest(state_filters=(), producer_id_filters=())
    answer = await connection.request(LIST_TRANSACTIONS, request)
    fault = answer_fault(
        answer.error_code, Where(cluster.alias, broker_id, "Listing transactional ids")
    )
    if fault is not None:
        raise fault
    return [state.transactional_id for state in answer.transaction_states]


def _leaders(metadata: ClusterMetadata) -> list[tuple[int, int | None, int]]:
    """Return who coordinates what; [] when that is not told, or nobody ever used a transaction."""
    topic = metadata.topics.get(_STATE_TOPIC)
    partitions = topic.partitions.values() if topic else ()
    return sorted((p.partition, p.leader, p.leader_epoch) for p in partitions)


def _unsettled(cluster: RawCluster) -> ClusterFault:
    fault = Unavailable(
        "Listing transactional ids: coordinators moved all the time.", cluster=cluster.alias
    )
    fault.error = "COORDINATOR_NOT_AVAILABLE"
    return fault
