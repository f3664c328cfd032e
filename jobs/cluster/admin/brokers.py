"""DescribeCluster: who is there, fenced brokers too, and what this principal may do (KIP-700, KIP-1073)."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass

from kio.schema.describe_cluster.v2.request import DescribeClusterRequest
from kio.schema.describe_cluster.v2.response import DescribeClusterResponse

from jobs.cluster.admin.acls import OPERATIONS
from jobs.cluster.client import ClusterClient
from jobs.cluster.descriptions import BrokerDescription, ClusterDescription
from jobs.cluster.errors import ClusterIdChanged, ProtocolMismatch, Remedy, TimedOut
from jobs.cluster.protocol.cluster import RawCluster
from jobs.cluster.protocol.errors import ConnectionLost, VersionNotOffered, Where, answer_fault
from jobs.cluster.protocol.transport.apis import DESCRIBE_CLUSTER, DESCRIBE_LIVE_CLUSTER, Api
from jobs.cluster.protocol.transport.connection import BrokerConnection
from jobs.cluster.protocol.transport.timing import RetryBudget
from jobs.cluster.protocol.transport.transport_faults import Server

_DOING = "Describing the cluster"
_NOT_TOLD = -(1 << 31)


@dataclass(frozen=True, slots=True)
class RegisteredBroker:
    """A registered broker and where it listens; `rack` is None without `broker.rack`."""

    broker_id: int
    host: str
    port: int
    rack: str | None
    is_fenced: bool

    @property
    def server(self) -> Server:
        """Where it listens."""
        return Server(self.host, self.port, self.broker_id)


def describe_cluster(client: ClusterClient) -> ClusterDescription:
    """Return the cluster's id, its live brokers, and the operations that are allowed on it.

    Raises `ClusterFault`; `SeveralClusters` while bootstrap servers tell different ids, and
    `ClusterIdChanged` when the connection names another cluster id: everything that is known about the old
    cluster would be wrong for this one.
    """
    client.refuse_several_clusters()
    described = client.ask(
        _DOING, lambda cluster: describe_whole_cluster(cluster, budget_s=client.timeout_s)
    )
    _refuse_another_cluster(client, described.cluster_id)
    return described


async def describe_whole_cluster(cluster: RawCluster, *, budget_s: float) -> ClusterDescription:
    """Return the cluster's id, its brokers that are not fenced, and the operations allowed on the cluster.

    Asks again while no broker is named, as by a single broker that was frozen for longer than its session.
    Brokers before Kafka 2.8 report no operations. Raises `ClusterFault`, `TimedOut` when the budget is over.
    Source: DescribeCluster 0 to 2.
    """
    tries = RetryBudget(cluster.timing, budget_s)
    fault = TimedOut(f"{_DOING}: no answer within {budget_s:g} s.", cluster=cluster.alias)
    while True:
        try:
            async with asyncio.timeout(tries.left_s()):
                found = await _described(cluster)
        except TimeoutError:
            raise fault from None
        except ConnectionLost as lost:
            # It ends with the first request, as at a listener that expects SASL.
            mismatch = ProtocolMismatch(lost.message, cluster=lost.cluster, hint=lost.hint)
            mismatch.remedy = Remedy.DOUBTFUL
            raise mismatch from None
        if found.brokers:
            return found
        text = f"{_DOING}: no broker is live, all of them are fenced now."
        fault = TimedOut(text, cluster=cluster.alias)
        if not await tries.pause():
            raise fault


async def list_brokers(cluster: RawCluster) -> dict[int, RegisteredBroker]:
    """Return every registered broker by its id, fenced ones too; raises `ClusterFault`.

    Raises `VersionNotOffered` before Kafka 4.0, which does not tell of fenced brokers. A broker that is
    down is fenced too: who is alive is known only by asking it (`is_alive`).
    """

    async def send(connection: BrokerConnection) -> DescribeClusterResponse:
        return await _ask(connection, DESCRIBE_CLUSTER, fenced_too=True)

    return {
        one.broker_id: RegisteredBroker(one.broker_id, one.host, one.port, one.rack, one.is_fenced)
        for one in (await cluster.ask_any(send)).brokers
    }


async def _described(cluster: RawCluster) -> ClusterDescription:
    async def send(connection: BrokerConnection) -> DescribeClusterResponse:
        return await _ask(connection, DESCRIBE_LIVE_CLUSTER, fenced_too=False)

    try:
        answer = await cluster.ask_any(send)
    except VersionNotOffered:
        known = await cluster.metadata()
        return ClusterDescription(known.cluster_id, _sorted(known.brokers.values()), None)
    brokers = [
        BrokerDescription(b.broker_id, b.host, b.port, b.rack or None) for b in answer.brokers
    ]
    bits = int(answer.cluster_authorized_operations)
    return ClusterDescription(answer.cluster_id, _sorted(brokers), _operations(bits))


async def _ask(
    connection: BrokerConnection,
    api: Api[DescribeClusterRequest, DescribeClusterResponse],
    *,
    fenced_too: bool,
) -> DescribeClusterResponse:
    request = DescribeClusterRequest(
        include_cluster_authorized_operations=not fenced_too, include_fenced_brokers=fenced_too
    )
    answer = await connection.request(api, request)
    where = Where(connection.cluster, connection.server.broker_id, _DOING)
    fault = answer_fault(int(answer.error_code), where, answer.error_message)
    if fault is not None:
        raise fault
    return answer


def _sorted(brokers: Iterable[BrokerDescription]) -> tuple[BrokerDescription, ...]:
    return tuple(sorted(brokers, key=lambda one: one.broker_id))


def _operations(bits: int) -> frozenset[str] | None:
    """Read a set of operations: the code of each is its place in the bits of an answer."""
    if bits == _NOT_TOLD:
        return None
    read = OPERATIONS.index("READ")
    return frozenset(
        name for code, name in enumerate(OPERATIONS) if code >= read and bits >> code & 1
    )


def _refuse_another_cluster(client: ClusterClient, found: str) -> None:
    expected = client.connection.cluster_id
    if expected and found != expected:
        fault = ClusterIdChanged(
            f"Registered as cluster {expected}, but {client.connection.bootstrap_servers} is now "
            f"cluster {found}. Nothing was read from it or written to it.",
            cluster=client.connection.alias,
        )
        fault.found = found
        raise fault
