"""The ways to a cluster that acting needs: its brokers, and the leader of its controllers."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace

from jobs.cluster.admin.controllers import TIMING, Controllers
from jobs.cluster.admin.quorum import read_quorum
from jobs.cluster.connection import Connection
from jobs.cluster.errors import ClusterFault, NotAuthorized
from jobs.cluster.protocol.cluster import RawCluster
from jobs.cluster.protocol.transport.timing import Timing

_CLIENT_ID = "standby"
_LEARN_S = 5.0


@dataclass(frozen=True, slots=True)
class ClusterConnections:
    """How a cluster is reached.

    `connection` leads to its brokers. `controllers` leads to the listeners of the controllers where they
    need other credentials; None: they are asked for by DescribeQuorum and reached like the brokers.
    """

    connection: Connection
    controllers: Connection | None = None
    timing: Timing = TIMING

    @property
    def alias(self) -> str:
        return self.connection.alias

    @asynccontextmanager
    async def cluster(self) -> AsyncIterator[RawCluster]:
        """Open the way to the brokers; connects nothing yet."""
        async with RawCluster(self.connection, client_id=_CLIENT_ID, timing=self.timing) as cluster:
            yield cluster

    @asynccontextmanager
    async def leader(self, cluster: RawCluster) -> AsyncIterator[Controllers]:
        """Open the way to the controllers, wherever their leader goes."""
        connection = self.controllers or self.connection
        known = connection.cluster_id or self.connection.cluster_id
        door = Controllers(
            replace(connection, cluster_id=known), client_id=_CLIENT_ID, timing=self.timing
        )
        async with door as controllers:
            if self.controllers is None:
                await learn(controllers, cluster)
            yield controllers


async def learn(controllers: Controllers, cluster: RawCluster) -> None:
    """Ask the brokers where the controllers listen; without an answer the bootstrap servers may be some."""
    try:
        quorum = await read_quorum(cluster, budget_s=_LEARN_S)
    except NotAuthorized:
        return
    except ClusterFault as fault:
        if not fault.retriable:
            raise
        return
    controllers.learn(quorum.nodes)
