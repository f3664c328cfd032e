"""All registered brokers, those that are fenced too (DescribeCluster, KIP-700; KIP-1073 in Kafka 4.1)."""

from __future__ import annotations

from dataclasses import dataclass

from kio.schema.describe_cluster.v2.request import DescribeClusterRequest

from jobs.cluster.protocol.cluster import RawCluster
from jobs.cluster.protocol.errors import Where, answer_fault
from jobs.cluster.protocol.transport.apis import DESCRIBE_CLUSTER
from jobs.cluster.protocol.transport.connection import BrokerConnection
from jobs.cluster.protocol.transport.transport_faults import Server


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


async def list_brokers(cluster: RawCluster) -> dict[int, RegisteredBroker]:
    """Return every registered broker by its id, fenced ones too; raises `ClusterFault`.

    Raises `VersionNotOffered` before Kafka 4.1, which does not tell of fenced brokers. A broker that is
    down is fenced too: who is alive is known only by asking it (`is_alive`).
    """
    return await cluster.ask_any(_ask)


async def _ask(connection: BrokerConnection) -> dict[int, RegisteredBroker]:
    request = DescribeClusterRequest(
        include_cluster_authorized_operations=False, include_fenced_brokers=True
    )
    answer = await connection.request(DESCRIBE_CLUSTER, request)
    where = Where(connection.cluster, connection.server.broker_id, "Describing the cluster")
    fault = answer_fault(int(answer.error_code), where, answer.error_message)
    if fault is not None:
        raise fault
    return {
        one.broker_id: RegisteredBroker(one.broker_id, one.host, one.port, one.rack, one.is_fenced)
        for one in answer.brokers
    }
