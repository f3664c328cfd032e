"""The ways to a cluster that acting needs, and what actors do there: ask, wait for an effect, count time."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import TypeVar

from jobs.availability.acting.plans import Verdict
from jobs.availability.runbooks.kafka_commands import KafkaTools
from jobs.cluster.admin.controllers import TIMING, Controllers
from jobs.cluster.admin.quorum import read_quorum
from jobs.cluster.connection import Connection
from jobs.cluster.errors import ClusterFault, NotAuthorized
from jobs.cluster.protocol.cluster import RawCluster
from jobs.cluster.protocol.transport.timing import Timing

_CLIENT_ID = "standby"
_LEARN_S = 5.0
_LOOK_S = 0.05
# Longer than brokers are behind one another with the metadata log, on a busy machine too.
_BROKERS_APART_S = 5.0
_Value = TypeVar("_Value")


@dataclass(frozen=True, slots=True)
class ClusterConnections:
    """How a cluster is reached.

    `connection` leads to its brokers. `controllers` leads to the listeners of the controllers where they
    need other credentials; None: DescribeQuorum returns them, with the credentials of the brokers.
    """

    connection: Connection
    controllers: Connection | None = None
    timing: Timing = TIMING

    @property
    def alias(self) -> str:
        return self.connection.alias

    @property
    def tools(self) -> KafkaTools:
        """Kafka's own tools with the address of this cluster, for what a person would type instead."""
        return KafkaTools(self.connection.bootstrap_servers)

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


def with_cluster(
    connections: ClusterConnections, work: Callable[[RawCluster], Awaitable[_Value]]
) -> _Value:
    """Run something with the way to a cluster open; not to be called inside a running event loop."""

    async def open_and_work() -> _Value:
        async with connections.cluster() as cluster:
            return await work(cluster)

    return asyncio.run(open_and_work())


async def wait_for(
    seen: Callable[[], Awaitable[_Value | None]], within_s: float, look_s: float = _LOOK_S
) -> _Value | None:
    """Return the first value that is not None, looking again and again; None: it did not come in time."""
    end = time.monotonic() + within_s
    while True:
        found = await seen()
        if found is not None or time.monotonic() > end:
            return found
        await asyncio.sleep(look_s)


async def settled(
    look: Callable[[], Awaitable[Verdict]], within_s: float = _BROKERS_APART_S
) -> Verdict:
    """Return the verdict, looking again while the effect is not there; the last look counts.

    Each look may ask another broker, and each broker reads the metadata log in its own time: one that is
    a moment behind must not deny what another one has told already.
    """

    async def seen() -> Verdict | None:
        verdict = await look()
        return verdict if verdict.is_there else None

    return await wait_for(seen, within_s) or await look()


def verify(
    connections: ClusterConnections, look: Callable[[RawCluster], Awaitable[Verdict]]
) -> Verdict:
    """Say whether an effect is there, as `settled` does; not to be called inside a running event loop."""
    return with_cluster(connections, lambda cluster: settled(lambda: look(cluster)))


class Stopwatch:
    """Counts milliseconds from when it was made."""

    def __init__(self) -> None:
        self._began = time.monotonic()

    @property
    def ms(self) -> int:
        """Milliseconds so far."""
        return round((time.monotonic() - self._began) * 1000)
