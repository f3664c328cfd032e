"""The controllers of a cluster, and the one of them that leads, wherever the leadership goes.

Measured on Kafka 4.3.1: after the death of a leader the others name the dead one for two seconds, then
none, then refuse the old epoch and name the new leader; one that was removed names itself for a second.
"""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Iterable
from functools import partial
from types import TracebackType
from typing import TypeVar

from jobs.cluster.admin.quorum import QuorumNode
from jobs.cluster.connection import Connection
from jobs.cluster.errors import ClusterFault, ClusterIdChanged
from jobs.cluster.protocol.cluster import CLIENT_ID_PREFIX, bootstrap_servers, most_telling
from jobs.cluster.protocol.data.metadata_log import NotAController, NotLeading
from jobs.cluster.protocol.errors import Denied
from jobs.cluster.protocol.transport.connection import BrokerConnection, Options
from jobs.cluster.protocol.transport.connection_pool import FETCH, ConnectionPool
from jobs.cluster.protocol.transport.security import security_of
from jobs.cluster.protocol.transport.timing import Timing
from jobs.cluster.protocol.transport.transport_faults import Server

# A leader that hangs is replaced within three seconds; followers must not wait much longer for it.
TIMING = Timing(request_timeout_s=3.0, connect_timeout_s=3.0, backoff_longest_s=0.5)
# A snapshot piece or an answer has a megabyte, or one batch of at most eight.
_LARGEST_ANSWER_BYTES = 32 << 20
_MOST_HOPS = 20
_Answer = TypeVar("_Answer")


class Controllers:
    """The door to the leader of the quorum; an async context manager.

    The bootstrap servers of `connection` are controllers, or become known with `learn`. Making it raises
    `SecretMissing` or `TlsFailed` when the settings are not usable.
    """

    def __init__(self, connection: Connection, *, client_id: str, timing: Timing = TIMING) -> None:
        self.connection = connection
        self.timing = timing
        # The highest epoch that any controller told; 0: none yet.
        self.leader_epoch = 0
        self._leader: Server | None = None
        self._known = {
            server[:2]: server for server in bootstrap_servers(connection.bootstrap_servers)
        }
        self._failed_at: dict[tuple[str, int], float] = {}
        name = CLIENT_ID_PREFIX + client_id
        security = security_of(connection)
        self._connection_pool = ConnectionPool(
            Options(connection.alias, name, security, timing, _LARGEST_ANSWER_BYTES),
            partial(security_of, connection),
        )

    async def __aenter__(self) -> Controllers:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._connection_pool.close()

    @property
    def leader_id(self) -> int | None:
        """The id of the leader; None while it is not known, or was found without its id."""
        return self._leader.broker_id if self._leader else None

    def learn(self, nodes: Iterable[QuorumNode]) -> None:
        """Take note of where voters listen, at the first of their endpoints."""
        for node in nodes:
            for endpoint in node.endpoints[:1]:
                self._note(Server(endpoint.host, endpoint.port, node.id))

    def know_epoch(self, leader_epoch: int) -> None:
        """Take note of an epoch that the log has, so that no older leader is believed."""
        self.leader_epoch = max(self.leader_epoch, leader_epoch)

    async def ask(self, send: Callable[[BrokerConnection], Awaitable[_Answer]]) -> _Answer:
        """Ask the leader, looking for it among all controllers, each once per epoch.

        Raises `ClusterFault`: retriable while no controller leads; the caller waits before it asks again, or
        it would spin while a leader names itself. Raises `NotAController` when only brokers are known.
        """
        asked: set[tuple[tuple[str, int], int]] = set()
        faults: list[ClusterFault] = []
        while (server := self._whom(asked)) is not None and len(faults) < _MOST_HOPS:
            asked.add((server[:2], self.leader_epoch))
            try:
                answer = await send(await self._connection_pool.get(server, FETCH))
            except (Denied, ClusterIdChanged):
                raise
            except ClusterFault as fault:
                faults.append(fault)
                self._note_fault(server, fault)
            else:
                self._leader = server
                self._failed_at.pop(server[:2], None)
                return answer
        raise self._nobody(faults)

    def _whom(self, asked: set[tuple[tuple[str, int], int]]) -> Server | None:
        """Return whom to ask next: the leader, then those that did not fail, then the others."""
        order = sorted(
            self._known.values(), key=lambda one: self._failed_at.get(one[:2], -math.inf)
        )
        first = [self._leader] if self._leader else []
        epoch = self.leader_epoch
        return next((one for one in first + order if (one[:2], epoch) not in asked), None)

    def _note_fault(self, server: Server, fault: ClusterFault) -> None:
        if isinstance(fault, NotLeading):
            self._follow(fault)
            return
        if self._leader is not None and self._leader[:2] == server[:2]:
            self._leader = None
        self._failed_at[server[:2]] = self.timing.clock()
        if isinstance(fault, NotAController):
            self._known.pop(server[:2], None)

    def _follow(self, fault: NotLeading) -> None:
        """Believe what a controller says of the leader, unless it is behind what is known."""
        self._leader = None
        if fault.leader_epoch < self.leader_epoch:
            return
        self.leader_epoch = fault.leader_epoch
        if fault.leader is not None:
            self._note(fault.leader)
        named = (one for one in self._known.values() if one.broker_id == fault.leader_id)
        self._leader = next(named, None) if fault.leader_id is not None else None

    def _note(self, server: Server) -> None:
        """Remember where a controller listens now, and not where it did before."""
        for address, known in list(self._known.items()):
            if known.broker_id is not None and known.broker_id == server.broker_id:
                del self._known[address]
        self._known[server[:2]] = server

    def _nobody(self, faults: list[ClusterFault]) -> ClusterFault:
        if any(not isinstance(fault, NotAController) for fault in faults):
            faults = [fault for fault in faults if not isinstance(fault, NotAController)]
        if faults:
            return most_telling(faults, self.connection.alias)
        return NotAController("No address of a controller is known.", cluster=self.connection.alias)
