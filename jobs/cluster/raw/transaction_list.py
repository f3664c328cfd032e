"""Every transactional id that begins like a flow's, so that a new driver can fence them all."""

from __future__ import annotations

import asyncio

from kio.schema.list_transactions.v0.request import ListTransactionsRequest

from jobs.cluster.errors import ClusterFault
from jobs.cluster.raw.apis import LIST_TRANSACTIONS
from jobs.cluster.raw.cluster import RawCluster
from jobs.cluster.raw.errors import Unavailable, Where, answer_fault
from jobs.cluster.raw.lanes import COORDINATOR
from jobs.cluster.raw.metadata import ClusterMetadata
from jobs.cluster.raw.timing import Tries

_STATE_TOPIC = "__transaction_state"


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
