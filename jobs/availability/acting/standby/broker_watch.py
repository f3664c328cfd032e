"""Watches the brokers that a standby loop speaks for, and sends its heartbeats.

Three connections to the controllers: one waits for news of the log, one asks who reads it, one sends. A
question that hangs must not hold up a heartbeat.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Collection
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

from jobs.availability.acting.cluster_connections import ClusterConnections
from jobs.availability.acting.standby.decisions import BrokerView, FencingHeartbeat
from jobs.availability.acting.standby.standbys import ALIVE_MS, fetched_ago_ms, reached_offset
from jobs.cluster.admin.broker_heartbeat import Heartbeat, HeartbeatAnswer, send_heartbeat
from jobs.cluster.admin.brokers import list_brokers
from jobs.cluster.admin.controllers import Controllers
from jobs.cluster.admin.quorum import QuorumDescription, quorum_at
from jobs.cluster.admin.registrations import RegistrationLog
from jobs.cluster.errors import ClusterFault
from jobs.cluster.protocol.cluster import RawCluster
from jobs.cluster.protocol.transport.connection_pool import COORDINATOR
from jobs.cluster.protocol.transport.timing import Patience
from jobs.cluster.protocol.transport.transport_faults import Server

logger = logging.getLogger(__name__)

_POLL_S = 1.0
_PAUSE_S = 0.3
_LONG_PAUSE_S = 5.0
_ANSWER_S = 2.0


@dataclass(slots=True)
class _Life:
    """What was seen of a broker: when it was last known to live, and in which epoch it answered."""

    alive_at_ms: int | None = None
    ready_epoch: int = -1
    reached: int = -1


class BrokerWatch:
    """The brokers of a cluster as a loop needs them; made by `opened`."""

    def __init__(
        self,
        cluster: RawCluster,
        connections: tuple[Controllers, Controllers, Controllers],
        now_ms: Callable[[], int],
    ) -> None:
        self._cluster = cluster
        self._following, self._polling, self._sending = connections
        self._now_ms = now_ms
        self._log = RegistrationLog(self._following)
        self._lives: dict[int, _Life] = {}
        self._looked: set[int] = set()
        self.changed = asyncio.Event()
        self.interest: frozenset[int] = frozenset()
        self.problem = ""
        # The problem is shown before the loop ends with it.
        self._patience = Patience(
            waits_for_people=True, has_worked=True, clock=cluster.timing.clock
        )

    @classmethod
    @asynccontextmanager
    async def opened(
        cls, connections: ClusterConnections, now_ms: Callable[[], int]
    ) -> AsyncIterator[BrokerWatch]:
        """Open the connections; the first requests are those of `follow` and `poll`."""
        async with AsyncExitStack() as stack:
            cluster = await stack.enter_async_context(connections.cluster())
            three = [await stack.enter_async_context(connections.leader(cluster)) for _ in range(3)]
            yield cls(cluster, (three[0], three[1], three[2]), now_ms)

    @property
    def is_known(self) -> bool:
        """Whether the registrations have been read once."""
        return self._log.is_at_end or bool(self._log.brokers)

    def views(self) -> dict[int, BrokerView]:
        """Return every registered broker as it is known now."""
        return {number: self._view(number) for number in self._log.brokers}

    def has_looked(self, number: int) -> bool:
        """Say whether it was looked yet whether a broker lives."""
        return number in self._looked

    async def follow(self) -> None:
        """Follow the metadata log until cancelled; problems are noted, and outlived unless they are final."""
        while True:
            if await self._outlive(self._step, "Reading the metadata log"):
                self.changed.set()

    async def poll(self) -> None:
        """Ask again and again who lives, until cancelled."""
        while True:
            await self._outlive(self._look, "Looking who is alive")
            await asyncio.sleep(_POLL_S)

    async def send(self, beat: FencingHeartbeat) -> HeartbeatAnswer:
        """Send one heartbeat; raises `ClusterFault`."""
        heartbeat = Heartbeat(
            beat.broker_id, beat.broker_epoch, beat.metadata_offset, beat.want_fence
        )
        # The follower of the log is the first to know a new leader.
        self._sending.know_epoch(self._following.leader_epoch)
        try:
            return await send_heartbeat(self._sending, heartbeat)
        except ClusterFault as fault:
            if fault.retriable:
                await self._learn_again()
            raise

    async def _step(self) -> bool:
        return await self._log.step()

    async def _outlive(self, ask: Callable[[], Awaitable[bool]], doing: str) -> bool:
        try:
            is_news = await ask()
        except Exception as error:
            hint = error.hint if isinstance(error, ClusterFault) else ""
            self.problem = f"{doing}: {error} {hint}"
            logger.debug("cluster=%s %s", self._cluster.alias, self.problem)
            if isinstance(error, ClusterFault) and not error.retriable:
                if not self.is_known and self._patience.is_over(error):
                    raise
                await asyncio.sleep(_LONG_PAUSE_S)
            await self._learn_again()
            await asyncio.sleep(_PAUSE_S)
            return False
        if self.problem.startswith(doing):
            self.problem = ""
        return is_news

    async def _learn_again(self) -> None:
        """Ask the brokers where the controllers are by now, as all of them may have moved."""
        try:
            async with asyncio.timeout(_ANSWER_S):
                quorum = await self._cluster.ask_any(quorum_at)
        except (ClusterFault, TimeoutError):
            return
        for door in (self._following, self._polling, self._sending):
            door.learn(quorum.nodes)

    async def _look(self) -> bool:
        quorum = await self._quorum()
        now_ms = self._now_ms()
        silent = []
        wanted = self.interest & self._log.brokers.keys()
        for number in wanted:
            life = self._lives.setdefault(number, _Life())
            ago_ms = fetched_ago_ms(quorum, number)
            life.reached = max(life.reached, reached_offset(quorum, number) or -1)
            if ago_ms is not None:
                life.alive_at_ms = now_ms - ago_ms
            if ago_ms is None or not self._is_ready(number):
                silent.append(number)
        if silent:
            await self._ask_directly(silent, is_proof=quorum is None)
        self._looked |= wanted
        return False

    async def _quorum(self) -> QuorumDescription | None:
        """Query the leader for the readers of its log; None without the right, or without an answer."""
        try:
            async with asyncio.timeout(_ANSWER_S):
                return await self._polling.ask(quorum_at)
        except (ClusterFault, TimeoutError):
            self._polling.know_epoch(self._following.leader_epoch)
            return None

    async def _ask_directly(self, numbers: Collection[int], *, is_proof: bool) -> None:
        """Query brokers on their client listeners: those that answer are ready and alive."""
        servers = {
            one.broker_id: one.server for one in (await list_brokers(self._cluster)).values()
        }
        asked = [servers[number] for number in numbers if number in servers]
        answers = await asyncio.gather(*(self._answers(server) for server in asked))
        for server, does in zip(asked, answers, strict=True):
            known = self._log.brokers.get(server.broker_id if server.broker_id is not None else -1)
            if not does or known is None:
                continue
            life = self._lives.setdefault(known.broker_id, _Life())
            life.ready_epoch = known.broker_epoch
            if is_proof or life.alive_at_ms is None:
                life.alive_at_ms = self._now_ms()

    async def _answers(self, server: Server) -> bool:
        try:
            async with asyncio.timeout(_ANSWER_S):
                connection = await self._cluster.connection_at(server, COORDINATOR)
                await self._cluster.metadata_from(connection, ())
        except (ClusterFault, TimeoutError):
            return False
        return True

    def _is_ready(self, number: int) -> bool:
        known, life = self._log.brokers.get(number), self._lives.get(number)
        return known is not None and life is not None and life.ready_epoch == known.broker_epoch

    def _view(self, number: int) -> BrokerView:
        known = self._log.brokers[number]
        life = self._lives.get(number, _Life())
        seen_ms = life.alive_at_ms
        return BrokerView(
            broker_id=number,
            broker_epoch=known.broker_epoch,
            metadata_offset=life.reached,
            is_fenced=known.is_fenced,
            fencings=known.fencings,
            is_alive=seen_ms is not None and self._now_ms() - seen_ms <= ALIVE_MS,
            is_ready=self._is_ready(number),
        )
