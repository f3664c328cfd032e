"""What actors share: running a coroutine from ordinary code, waiting for an effect, counting time."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeVar

from jobs.availability.acting.cluster_connections import ClusterConnections
from jobs.cluster.protocol.cluster import RawCluster

_Value = TypeVar("_Value")
_LOOK_S = 0.05


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


class Stopwatch:
    """Counts milliseconds from when it was made."""

    def __init__(self) -> None:
        self._began = time.monotonic()

    @property
    def ms(self) -> int:
        """Milliseconds so far."""
        return round((time.monotonic() - self._began) * 1000)
