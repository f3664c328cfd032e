"""A cluster as the copy engine sees it: its metadata, and a connection to each broker that is needed."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable, Collection, Iterable
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, TypeVar

from jobs.cluster.connection import Connection
from jobs.cluster.errors import ClusterFault, ClusterIdChanged, Remedy, TimedOut, Unreachable
from jobs.cluster.protocol.errors import BrokerNotKnown, VersionNotOffered
from jobs.cluster.protocol.metadata import ClusterMetadata, metadata_call, newest, read_metadata
from jobs.cluster.protocol.transport.apis import METADATA as METADATA_API
from jobs.cluster.protocol.transport.apis import BrokerVersions, SupportedApi
from jobs.cluster.protocol.transport.connection import BrokerConnection, Options
from jobs.cluster.protocol.transport.connection_pool import METADATA, ConnectionPool
from jobs.cluster.protocol.transport.security import security_of
from jobs.cluster.protocol.transport.timing import Timing
from jobs.cluster.protocol.transport.transport_faults import Server

if TYPE_CHECKING:
    from jobs.cluster.protocol.data.transaction_log import TransactionTail

CLIENT_ID_PREFIX = "crosslog-"
_Answer = TypeVar("_Answer")


class RawCluster:
    """The door to one cluster for whole record batches; an async context manager.

    `client_id` is what brokers see, after `crosslog-`; "": `crosslog` alone. `rack` is where this client
    runs, so that brokers may send it to a replica nearby (KIP-392); None: no wish. Nothing is connected
    before the first question. With `connections`, these are used and outlive it; else it has its own, and
    making it raises `SecretMissing` or `TlsFailed` when the settings are not usable.
    """

    def __init__(
        self,
        connection: Connection,
        *,
        client_id: str,
        rack: str | None = None,
        timing: Timing | None = None,
        connections: ConnectionPool | None = None,
    ) -> None:
        self.connection = connection
        self.rack = rack
        self.timing = timing or Timing()
        self._owns_connections = connections is None
        self._connection_pool = connections or new_pool(connection, client_id, self.timing)
        self._bootstrap = bootstrap_servers(connection.bootstrap_servers)
        self._topics: set[str] = set()
        self._metadata: ClusterMetadata | None = None
        self._reading = asyncio.Lock()
        self._supports_transactions_v2: bool | None = None
        # Which broker coordinates a transactional id, as far as known; see `coordinator`.
        self.coordinators: dict[str, int] = {}
        # What was read of `__transaction_state`, by partition; see `transaction_log`.
        self.transaction_tails: dict[int, TransactionTail] = {}

    async def __aenter__(self) -> RawCluster:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"RawCluster({self.alias!r}, {self.connection.bootstrap_servers!r})"

    @property
    def alias(self) -> str:
        return self.connection.alias

    def close(self) -> None:
        """Close every connection of its own; pending requests fail with `ConnectionLost`."""
        if self._owns_connections:
            self._connection_pool.close()

    async def metadata(
        self, topics: Collection[str] = (), *, newer_than: ClusterMetadata | None = None
    ) -> ClusterMetadata:
        """Return metadata that knows at least these topics (or their error); raises `ClusterFault`.

        What is known is returned while it is younger than `metadata_max_age_s` and not the snapshot
        that the caller has found to be old (`newer_than`): of many tasks that lost their leader at
        once, one asks. Topics are requested again with every refresh until `forget`.
        """
        self._topics.update(topics)
        async with self._reading:
            known = self._metadata
            if known is None or not self._is_good(known, topics, newer_than):
                known = self._accept(known, await self.ask_any(self._metadata_of_all))
                self._metadata = known
        return known

    def begin_with(self, known: ClusterMetadata | None) -> None:
        """Take over the metadata of an earlier question about the same topics."""
        self._metadata = known

    async def metadata_from(
        self, connection: BrokerConnection, topics: Collection[str] | None
    ) -> ClusterMetadata:
        """Return what this one broker knows now of these topics alone (None: of all); nothing is kept.

        Raises `ClusterFault`.
        """
        asked_at_s = self.timing.clock()
        named = None if topics is None else frozenset(topics)
        answer = await connection.ask(metadata_call(named, connection.version(METADATA_API.speaks)))
        return read_metadata(answer, self.alias, connection.server.broker_id, asked_at_s)

    def forget(self, topics: Iterable[str]) -> None:
        """Stop asking for topics."""
        self._topics.difference_update(topics)

    async def connection_to(self, broker_id: int, lane: str) -> BrokerConnection:
        """Return a connection to a broker of the metadata; raises `ClusterFault`."""
        metadata = self._metadata or await self.metadata()
        if broker_id not in metadata.brokers:
            metadata = await self.metadata(newer_than=metadata)
        broker = metadata.brokers.get(broker_id)
        if broker is None:
            known = ", ".join(map(str, sorted(metadata.brokers))) or "none"
            raise BrokerNotKnown(
                f"Broker {broker_id} is not in the cluster now (brokers: {known}).",
                cluster=self.alias,
            )
        return await self._connection_pool.get(Server(broker.host, broker.port, broker_id), lane)

    async def connection_at(self, server: Server, lane: str) -> BrokerConnection:
        """Return a connection to a broker that the metadata leaves out, as it does with fenced ones.

        Raises `ClusterFault`.
        """
        return await self._connection_pool.get(server, lane)

    async def ask_any(self, send: Callable[[BrokerConnection], Awaitable[_Answer]]) -> _Answer:
        """Ask what any broker can answer and what does no harm twice; raises `ClusterFault`.

        One broker after the other gets its share of time (`metadata_timeout_s`), those that failed
        last come last.
        """
        faults: list[ClusterFault] = []
        for server in self._candidates():
            try:
                async with asyncio.timeout(self.timing.metadata_timeout_s):
                    answer = await send(await self._connection_pool.get(server, METADATA))
            except TimeoutError:
                faults.append(self._timed_out(server))
            except ClusterFault as fault:
                faults.append(fault)
            else:
                self._connection_pool.failed_at.pop(server[:2], None)
                return answer
            self._connection_pool.failed_at[server[:2]] = self.timing.clock()
        raise most_telling(faults, self.alias)

    async def offers(self, speaks: SupportedApi) -> dict[int, bool | None]:
        """Return by live broker whether it has a version of a request that crosslog speaks.

        None: it did not answer. Raises `ClusterFault` without metadata.
        """

        async def ask(broker_id: int) -> bool | None:
            try:
                async with asyncio.timeout(self.timing.metadata_timeout_s):
                    connection = await self.connection_to(broker_id, METADATA)
            except VersionNotOffered:
                return False  # older than any that crosslog reads
            except (TimeoutError, ClusterFault):
                return None
            return connection.versions.best(speaks) is not None

        brokers = list((await self.metadata()).brokers)
        return dict(zip(brokers, await asyncio.gather(*map(ask, brokers)), strict=True))

    async def compare_brokers(self, fault: ClusterFault) -> None:
        """Let a request that one broker lacks wait while others may know it, as in a rolling upgrade."""
        if not isinstance(fault, VersionNotOffered) or fault.speaks is None:
            return
        found = await self.offers(fault.speaks)
        for known, what in ((True, "know it"), (None, "did not answer")):
            brokers = ", ".join(str(one) for one in sorted(found) if found[one] is known)
            if brokers:
                fault.remedy = Remedy.RETRY
                fault.message += f" Brokers that {what}: {brokers}."
                fault.hint = (
                    "The request is repeated until all brokers run the same version of Kafka."
                )

    async def ask_controller(
        self, send: Callable[[BrokerConnection], Awaitable[_Answer]]
    ) -> _Answer:
        """Ask for a change that is harmless to repeat: the controller, then any other; raises `ClusterFault`.

        With KRaft every broker is named as the controller now and then, and passes requests on.
        """
        named = (await self.metadata()).controller_id
        if named is not None:
            try:
                async with asyncio.timeout(self.timing.metadata_timeout_s):
                    return await send(await self.connection_to(named, METADATA))
            except TimeoutError:
                pass
            except ClusterFault as fault:
                if not fault.retriable:
                    raise
        return await self.ask_any(send)

    async def supports_transactions_v2(self) -> bool:
        """Return whether transactions follow KIP-890 here; asked once, so that no transaction mixes both."""
        if self._supports_transactions_v2 is None:
            await self.metadata()
            versions = await self.ask_any(_versions_of)
            self._supports_transactions_v2 = versions.supports_transactions_v2
        return self._supports_transactions_v2

    def _is_good(
        self, known: ClusterMetadata, topics: Collection[str], newer_than: ClusterMetadata | None
    ) -> bool:
        if newer_than is not None and known.read_at_s <= newer_than.read_at_s:
            return False
        age_s = self.timing.clock() - known.read_at_s
        return age_s < self.timing.metadata_max_age_s and known.topics.keys() >= set(topics)

    async def _metadata_of_all(self, connection: BrokerConnection) -> ClusterMetadata:
        return await self.metadata_from(connection, self._topics)

    def _accept(self, known: ClusterMetadata | None, found: ClusterMetadata) -> ClusterMetadata:
        self._refuse_another_cluster(found.cluster_id)
        brokers = {Server(b.host, b.port, b.broker_id) for b in found.brokers.values()}
        self._connection_pool.retain({*brokers, *self._bootstrap})
        return found if known is None else newest(known, found)

    def _refuse_another_cluster(self, found: str) -> None:
        expected = self.connection.cluster_id
        if not expected or found == expected:
            return
        fault = ClusterIdChanged(
            f"Registered as cluster {expected}, but {self.connection.bootstrap_servers} is now "
            f"cluster {found}. No record was read from it or written to it.",
            cluster=self.alias,
        )
        fault.found = found
        raise fault

    def _candidates(self) -> list[Server]:
        """Return whom to ask: known brokers, then the bootstrap list; those that failed last come last."""
        known = self._metadata.brokers.values() if self._metadata else ()
        by_address = {server[:2]: server for server in self._bootstrap}
        by_address |= {(b.host, b.port): Server(b.host, b.port, b.broker_id) for b in known}
        # A random turn among equals, so that not every client asks the first of the list.
        turns = {address: self.timing.chance() for address in by_address}

        def rank(server: Server) -> tuple[float, bool, float]:
            address = server[:2]
            failed_at = self._connection_pool.failed_at.get(address, -math.inf)
            return failed_at, server.broker_id is None, turns[address]

        return sorted(by_address.values(), key=rank)

    def _timed_out(self, server: Server) -> ClusterFault:
        share_s = self.timing.metadata_timeout_s
        text = f"{server} did not answer within {share_s:g} s."
        return TimedOut(text, cluster=self.alias)


def new_pool(connection: Connection, client_id: str, timing: Timing) -> ConnectionPool:
    """Return connections, none open yet; raises `SecretMissing`, `TlsFailed`. See `RawCluster`."""
    name = CLIENT_ID_PREFIX + client_id if client_id else CLIENT_ID_PREFIX.rstrip("-")
    options = Options(connection.alias, name, security_of(connection), timing)
    return ConnectionPool(options, partial(security_of, connection))


def bootstrap_servers(text: str) -> list[Server]:
    """Read `host:port,[::1]:port`, which `Connection.from_mapping` has checked."""
    found = []
    for part in text.split(","):
        host, _, port = part.strip().rpartition(":")
        found.append(Server(host.strip("[]"), int(port)))
    return found


def most_telling(faults: Collection[ClusterFault], alias: str) -> ClusterFault:
    """Return the fault that people should see: one that waiting does not fix, else the last.

    It is not final while another broker may answer.
    """
    final = [fault for fault in faults if not fault.retriable]
    last = list(faults)[-1:]
    found = (final or last or [Unreachable("There is no server to ask.", cluster=alias)])[0]
    if found.is_final and len(final) < len(faults):
        found.remedy = Remedy.DOUBTFUL
    return found


async def _versions_of(connection: BrokerConnection) -> BrokerVersions:
    return connection.versions
