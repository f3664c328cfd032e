"""What actors share: running a coroutine from ordinary code, waiting for an effect, counting time."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeVar

from jobs.availability.acting.cluster_connections import ClusterConnections
from jobs.availability.acting.plans import Verdict
from jobs.cluster.protocol.cluster import RawCluster

_Value = TypeVar("_Value")
_LOOK_S = 0.05
# Longer than brokers are behind one another with the metadata log, on a busy machine too.
_BROKERS_APART_S = 5.0


def run(work: Coroutine[Any, Any, _Value]) -> _Value:
    """Run a coroutine to its end; not to be called inside a running event loop."""
    return asyncio.run(work)


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
