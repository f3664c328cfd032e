"""Connections to clusters that a process keeps between questions, in one event loop with a thread of its own.

A question has metadata of its own, and shares its connections with all others of the same client id: no TLS
handshake per question. Connections that were not used for a while are closed.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import threading
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from dataclasses import dataclass
from typing import TypeVar

from jobs.cluster.connection import Connection
from jobs.cluster.protocol.cluster import RawCluster, new_pool
from jobs.cluster.protocol.transport.connection_pool import ConnectionPool
from jobs.cluster.protocol.transport.timing import Timing

IDLE_S = 90.0
# Clusters, each with its client ids, of which connections are kept; the least used are closed first.
MOST_POOLS = 200
# How long a broker may take for one answer, whatever the question's budget is: behind it wait others. A
# pause before the next attempt to connect is short beside the share of a broker in a question.
TIMING = Timing(request_timeout_s=30.0, backoff_longest_s=0.2)
# What a question may take beyond its budget, so that its own faults come before the end of waiting.
NET_S = 0.5
# Of a question's budget: the longest that one broker may take for what any other could answer.
SHARE = 0.4

_Answer = TypeVar("_Answer")
_Key = tuple[str, str, str]


@dataclass(slots=True)
class _Kept:
    pool: ConnectionPool
    used_at: float
    questions: int = 0


class KeptConnections:
    """The pools of a process by cluster, settings and client id.

    Everything but `ask` and `begin` runs in the loop.
    """

    def __init__(self, idle_s: float = IDLE_S, most_pools: int = MOST_POOLS) -> None:
        self._idle_s, self._most_pools = idle_s, most_pools
        self._kept: dict[_Key, _Kept] = {}
        self._loop = asyncio.new_event_loop()
        self._sweep: asyncio.TimerHandle | None = None
        threading.Thread(target=self._loop.run_forever, name="kafka-requests", daemon=True).start()

    def ask(
        self,
        connection: Connection,
        client_id: str,
        timeout_s: float,
        question: Callable[[RawCluster], Awaitable[_Answer]],
    ) -> _Answer:
        """Return what a question to a cluster answers or raises; see `begin`."""
        future = self.begin(connection, client_id, timeout_s, question)
        try:
            return future.result()
        finally:
            future.cancel()  # does nothing, unless the wait for it was interrupted

    def begin(
        self,
        connection: Connection,
        client_id: str,
        timeout_s: float,
        question: Callable[[RawCluster], Awaitable[_Answer]],
    ) -> Future[_Answer]:
        """Begin with a question; the future raises `TimeoutError` when the answer takes too long.

        It raises `SecretMissing` and `TlsFailed` when the settings are not usable.
        """
        asked = self._asked(connection, client_id, timeout_s, question)
        return asyncio.run_coroutine_threadsafe(asked, self._loop)

    async def _asked(
        self,
        connection: Connection,
        client_id: str,
        timeout_s: float,
        question: Callable[[RawCluster], Awaitable[_Answer]],
    ) -> _Answer:
        kept = self._kept_for(connection, client_id)
        timing = Timing(
            request_timeout_s=timeout_s,
            metadata_timeout_s=timeout_s * SHARE,
            ends_at_s=time.monotonic() + timeout_s,
        )
        kept.questions += 1
        try:
            cluster = RawCluster(
                connection, client_id=client_id, timing=timing, connections=kept.pool
            )
            async with asyncio.timeout(timeout_s + NET_S):
                return await question(cluster)
        finally:
            kept.questions -= 1
            kept.used_at = self._loop.time()

    def _kept_for(self, connection: Connection, client_id: str) -> _Kept:
        # A secret that was replaced leads to new connections; only its digest is kept.
        settings = repr(sorted(connection.client_config().items()))
        digest = hashlib.sha256(settings.encode()).hexdigest()
        key = (connection.alias, client_id, digest)
        kept = self._kept.get(key)
        if kept is None:
            self._close_beyond(self._most_pools - 1)
            pool = new_pool(connection, client_id, TIMING)
            kept = self._kept[key] = _Kept(pool, self._loop.time())
        if self._sweep is None:
            self._sweep = self._loop.call_later(self._idle_s / 2, self._close_idle)
        return kept

    def _close_idle(self) -> None:
        before = self._loop.time() - self._idle_s
        self._close([k for k, one in self._kept.items() if one.used_at < before])
        self._sweep = None
        if self._kept:
            self._sweep = self._loop.call_later(self._idle_s / 2, self._close_idle)

    def _close_beyond(self, most: int) -> None:
        by_age = sorted(self._kept, key=lambda key: self._kept[key].used_at)
        self._close(by_age[: max(len(by_age) - most, 0)])

    def _close(self, keys: list[_Key]) -> None:
        for key in keys:
            if not self._kept[key].questions:
                self._kept.pop(key).pool.close()


_of_process: tuple[int, KeptConnections] | None = None
_making = threading.Lock()


def kept_connections() -> KeptConnections:
    """Return those of this process; a process that was forked does not use its parent's sockets."""
    global _of_process  # noqa: PLW0603  one event loop per process
    with _making:
        if _of_process is None or _of_process[0] != os.getpid():
            _of_process = (os.getpid(), KeptConnections())
        return _of_process[1]
