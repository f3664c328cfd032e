"""The connections to a cluster: one per broker and lane, opened when first needed and again when lost."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection
from dataclasses import replace

from jobs.cluster.errors import AuthenticationFailed, ClusterFault, SecretMissing, TlsFailed
from jobs.cluster.protocol.transport.connection import BrokerConnection, Options
from jobs.cluster.protocol.transport.security import Security
from jobs.cluster.protocol.transport.timing import Backoff
from jobs.cluster.protocol.transport.transport_faults import Server, connection_lost

# A broker answers the requests of one connection one after the other, so that a Fetch which waits for
# data would hold up everything behind it.
METADATA, FETCH, PRODUCE, COORDINATOR = "metadata", "fetch", "produce", "coordinator"
_OF_SECRETS = (AuthenticationFailed, TlsFailed, SecretMissing)


class _Slot:
    """Where a connection is, or will be; one attempt at a time."""

    def __init__(self, backoff: Backoff) -> None:
        self.connection: BrokerConnection | None = None
        self.lock = asyncio.Lock()
        self.backoff = backoff
        self.not_before_s = 0.0
        self.attempts = 0
        self.fault: ClusterFault | None = None

    @property
    def usable(self) -> BrokerConnection | None:
        """The connection, when it takes requests."""
        connection = self.connection
        return connection if connection is not None and connection.is_usable else None


class ConnectionPool:
    """The connections by server and lane.

    Asking for one makes at most one attempt to connect; after a failure the next attempt waits for its
    back-off first, so callers may ask in a loop. Those who wait for the same attempt share its fault.
    After a refusal of the secrets they are read again with `read_secrets`: a person may have corrected them.
    """

    def __init__(self, options: Options, read_secrets: Callable[[], Security]) -> None:
        self._options = options
        self._read_secrets = read_secrets
        self._is_refused = False
        self._slots: dict[tuple[Server, str], _Slot] = {}
        self._is_closed = False
        # When an address last failed to answer what any broker can.
        self.failed_at: dict[tuple[str, int], float] = {}

    async def get(self, server: Server, lane: str) -> BrokerConnection:
        """Return an open connection; raises `ClusterFault`."""
        if self._is_closed:
            ours = OSError("it was closed here")
            raise connection_lost(ours, server, self._options.cluster, may_have_arrived=False)
        slot = self._slots.get((server, lane))
        if slot is None:
            slot = self._slots[server, lane] = _Slot(Backoff(self._options.timing))
        if slot.usable is not None:
            return slot.usable
        seen = slot.attempts
        async with slot.lock:
            if slot.usable is not None:
                return slot.usable
            if slot.attempts != seen and slot.fault is not None:
                raise slot.fault
            return await self._open(slot, server)

    def retain(self, servers: Collection[Server]) -> None:
        """Let go of connections to servers that are not in the cluster any more."""
        for key in [key for key in self._slots if key[0] not in servers]:
            connection = self._slots.pop(key).connection
            if connection is not None:
                connection.retire()

    def close(self) -> None:
        self._is_closed = True
        for slot in self._slots.values():
            if slot.connection is not None:
                slot.connection.close()
        self._slots.clear()

    async def _open(self, slot: _Slot, server: Server) -> BrokerConnection:
        if slot.connection is not None:
            slot.connection.retire()  # its session ends soon, or it is closed already
        clock = self._options.timing.clock
        await asyncio.sleep(max(0.0, slot.not_before_s - clock()))
        slot.attempts += 1
        slot.fault = None
        try:
            if self._is_refused:
                self._options = replace(self._options, security=self._read_secrets())
            opened = await BrokerConnection.open(server, self._options)
        except ClusterFault as fault:
            self._is_refused |= isinstance(fault, _OF_SECRETS)
            slot.fault = fault
            slot.not_before_s = clock() + slot.backoff.next_s()
            raise
        if self._is_closed:
            opened.close()
        self._is_refused = False
        slot.connection = opened
        slot.backoff.reset()
        return opened
