"""DescribeCluster: who is there, and what this principal may do.

The client library's own request aborts the process when the answer names no broker (librdkafka 2.16.0,
`rd_kafka_admin_response_parse`), as that of a single broker does that was frozen for longer than its session.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

from kio.schema.describe_cluster.v2.request import DescribeClusterRequest

from jobs.cluster.descriptions import BrokerDescription, ClusterDescription
from jobs.cluster.errors import ClusterFault, ProtocolMismatch, TimedOut
from jobs.cluster.protocol.cluster import RawCluster
from jobs.cluster.protocol.errors import ConnectionLost, VersionNotOffered, Where, answer_fault
from jobs.cluster.protocol.transport.apis import DESCRIBE_LIVE_CLUSTER
from jobs.cluster.protocol.transport.connection import BrokerConnection
from jobs.cluster.protocol.transport.timing import RetryBudget

_DOING = "Describing the cluster"
# So long it is asked again where nobody answers: a broker may be starting.
_GRACE_S = 1.5
_NOT_TOLD = -(1 << 31)
# AclOperation by its code, which is its place in the bits of an answer.
_OPERATIONS = {
    3: "READ",
    4: "WRITE",
    5: "CREATE",
    6: "DELETE",
    7: "ALTER",
    8: "DESCRIBE",
    9: "CLUSTER_ACTION",
    10: "DESCRIBE_CONFIGS",
    11: "ALTER_CONFIGS",
    12: "IDEMPOTENT_WRITE",
    13: "CREATE_TOKENS",
    14: "DESCRIBE_TOKENS",
    15: "TWO_PHASE_COMMIT",
}


async def describe_whole_cluster(cluster: RawCluster, *, budget_s: float) -> ClusterDescription:
    """Return the cluster's id, its brokers that are not fenced, and the operations allowed on the cluster.

    Asks again while no broker is named, and for a moment where nobody answers. Before Kafka 2.8 no operations
    are told. Raises `ClusterFault`, `TimedOut` when the budget is over.
    Source: DescribeCluster 0 to 2 (KIP-700).
    """
    tries, short = (
        RetryBudget(cluster.timing, budget_s),
        RetryBudget(cluster.timing, min(_GRACE_S, budget_s)),
    )
    fault: ClusterFault = TimedOut(
        f"{_DOING}: no answer within {budget_s:g} s.", cluster=cluster.alias
    )
    while True:
        more = tries
        try:
            async with asyncio.timeout(tries.left_s()):
                found = await _asked(cluster)
            if found.brokers:
                return found
            fault = _nobody_is_live(cluster.alias)
        except TimeoutError:
            raise fault from None
        except ClusterFault as heard:
            fault, more = _told(heard), short
        if not fault.retriable or not await more.pause():
            raise fault


def _told(fault: ClusterFault) -> ClusterFault:
    """Name a connection that ends with the first request, as a listener does that expects SASL."""
    if not isinstance(fault, ConnectionLost):
        return fault
    mismatch = ProtocolMismatch(fault.message, cluster=fault.cluster, hint=fault.hint)
    mismatch.retriable = True
    return mismatch


def _nobody_is_live(alias: str) -> TimedOut:
    return TimedOut(f"{_DOING}: no broker is live, all of them are fenced now.", cluster=alias)


async def _asked(cluster: RawCluster) -> ClusterDescription:
    try:
        return await cluster.ask_any(_ask)
    except VersionNotOffered:
        known = await cluster.metadata()
    return ClusterDescription(known.cluster_id, _sorted(known.brokers.values()), None)


async def _ask(connection: BrokerConnection) -> ClusterDescription:
    request = DescribeClusterRequest(
        include_cluster_authorized_operations=True, include_fenced_brokers=False
    )
    answer = await connection.request(DESCRIBE_LIVE_CLUSTER, request)
    where = Where(connection.cluster, connection.server.broker_id, _DOING)
    fault = answer_fault(int(answer.error_code), where, answer.error_message)
    if fault is not None:
        raise fault
    brokers = [
        BrokerDescription(b.broker_id, b.host, b.port, b.rack or None) for b in answer.brokers
    ]
    bits = int(answer.cluster_authorized_operations)
    return ClusterDescription(answer.cluster_id, _sorted(brokers), _operations(bits))


def _sorted(brokers: Iterable[BrokerDescription]) -> tuple[BrokerDescription, ...]:
    return tuple(sorted(brokers, key=lambda one: one.broker_id))


def _operations(bits: int) -> frozenset[str] | None:
    if bits == _NOT_TOLD:
        return None
    return frozenset(name for code, name in _OPERATIONS.items() if bits >> code & 1)
