"""One connection to one broker: requests go out as they come, answers come back in the same order."""

from __future__ import annotations

import asyncio
import logging
import socket
import ssl
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeVar

from jobs.cluster.errors import ClusterFault
from jobs.cluster.protocol.errors import UNSUPPORTED_VERSION, RequestTimedOut, VersionNotOffered
from jobs.cluster.protocol.transport.apis import (
    UNREADABLE,
    Api,
    BrokerVersions,
    SupportedApi,
    versions_call,
)
from jobs.cluster.protocol.transport.frames import (
    Call,
    FrameReader,
    FrameRefused,
    correlation_id_of,
    frame,
)
from jobs.cluster.protocol.transport.kafka_releases import OLDEST, TOO_OLD
from jobs.cluster.protocol.transport.login import log_in
from jobs.cluster.protocol.transport.security import Security
from jobs.cluster.protocol.transport.stream import Stream, TlsStream, connect, wrap
from jobs.cluster.protocol.transport.timing import Timing
from jobs.cluster.protocol.transport.transport_faults import (
    Server,
    closed_in_handshake,
    connect_fault,
    connect_timed_out,
    connection_lost,
    lost_before_any_answer,
    not_kafka,
    not_offered,
    tls_fault,
)

logger = logging.getLogger(__name__)

_Request = TypeVar("_Request")
_Answer = TypeVar("_Answer")
_HIGHEST_ID = 2**31 - 1
# Above a Fetch of 50 MiB with one batch too many; below what TLS and HTTP look like as a size.
LARGEST_ANSWER_BYTES = 128 << 20
# Of a session's lifetime; the rest is for requests on their way (the Java client's range).
_SESSION_SHARE, _SESSION_SPREAD = 0.85, 0.1


@dataclass(frozen=True, slots=True)
class Options:
    """What all connections to a cluster have in common; `cluster` is its alias."""

    cluster: str
    client_id: str
    security: Security = field(default_factory=Security)
    timing: Timing = field(default_factory=Timing)
    largest_answer_bytes: int = LARGEST_ANSWER_BYTES


class _Pending(NamedTuple):
    """A request without an answer; one whose asker was cancelled stays until its answer has passed."""

    correlation_id: int
    call: Call[Any]
    answer: asyncio.Future[Any]
    timeout_s: float
    late_at: float


class BrokerConnection:
    """An open connection, made by `open`.

    Invariant: an answer belongs to the oldest request without one; whatever contradicts that, is not
    readable, or comes too late ends the connection and fails every pending request.
    """

    def __init__(self, server: Server, options: Options, connected: socket.socket) -> None:
        self.server = server
        self.options = options
        self.versions = BrokerVersions({}, {})
        self._client_id = options.client_id.encode()
        self._loop = asyncio.get_running_loop()
        self._frames = FrameReader(options.largest_answer_bytes, self._take)
        self._pending: deque[_Pending] = deque()
        self._timer: asyncio.TimerHandle | None = None
        self._last_id = 0
        self._is_ready = False
        self._has_answered = False
        self._first_request = ""
        self._is_retired = False
        self._ended: OSError | None = None
        self._is_closed = False
        self._session_ends_at: float | None = None
        kind = TlsStream if isinstance(connected, ssl.SSLSocket) else Stream
        self._stream = kind(connected, self)

    @classmethod
    async def open(cls, server: Server, options: Options) -> BrokerConnection:
        """Connect, shake hands and log in within `connect_timeout_s`; raises `ClusterFault`."""
        timeout_s = options.timing.connect_timeout_s
        try:
            async with asyncio.timeout(timeout_s):
                connection = cls(server, options, await _connect(server, options))
                try:
                    await connection._introduce()
                except BaseException:
                    connection.close()
                    raise
        except TimeoutError:
            raise connect_timed_out(server, options.cluster, timeout_s) from None
        logger.debug("cluster=%s connected to %s", options.cluster, server)
        return connection

    @property
    def cluster(self) -> str:
        return self.options.cluster

    @property
    def is_usable(self) -> bool:
        """Whether a new request can go this way: open, and the session does not end soon."""
        if self._is_closed or self._is_retired:
            return False
        ends_at = self._session_ends_at
        return ends_at is None or self.options.timing.clock() < ends_at

    @property
    def is_closed(self) -> bool:
        return self._is_closed

    @property
    def in_flight(self) -> int:
        """The number of requests without an answer."""
        return len(self._pending)

    def version(self, speaks: SupportedApi, *, at_most: int | None = None) -> int:
        """Return the best version of a request that both sides speak; raises `VersionNotOffered`."""
        version = self.versions.best(speaks, at_most=at_most)
        if version is None:
            offered = self.versions.ranges.get(speaks.key)
            raise not_offered(self.server, self.cluster, speaks, offered)
        return version

    async def request(
        self, api: Api[_Request, _Answer], request: _Request, /, *, at_most: int | None = None
    ) -> _Answer:
        """Send a message of kio in the best version and return the answer; raises `ClusterFault`."""
        return await self.ask(api.call(request, self.version(api.speaks, at_most=at_most)))

    async def ask(self, call: Call[_Answer], *, wait_ms: int = 0) -> _Answer:
        """Send a call and return its answer; raises `ConnectionLost`, `RequestTimedOut`, `ProtocolMismatch`.

        `wait_ms` is how long the call itself asks the broker to wait. Cancelling the caller
        leaves the connection as it is: the answer is thrown away when it comes.
        """
        if self._is_closed:
            raise connection_lost(self._ended, self.server, self.cluster, may_have_arrived=False)
        timeout_s = self.options.timing.request_timeout_s + wait_ms / 1000
        self._last_id = self._last_id % _HIGHEST_ID + 1
        answer: asyncio.Future[_Answer] = self._loop.create_future()
        if self._is_ready and not self._first_request:
            self._first_request = f"{call.name} in version {call.version}"
        late_at = self._loop.time() + timeout_s
        self._pending.append(_Pending(self._last_id, call, answer, timeout_s, late_at))
        self._watch(late_at)
        self._stream.write(frame(call, self._last_id, self._client_id))
        return await answer

    def retire(self) -> None:
        """Take no more requests, and close when the last pending one is answered."""
        self._is_retired = True
        if not self._pending:
            self.close()

    def close(self) -> None:
        """Close at once; pending requests fail with `ConnectionLost`."""
        ours = OSError("it was closed here")
        self._close(lambda: self._lost_fault(ours))

    def space(self) -> memoryview:
        """Return where received bytes go (for the stream)."""
        return self._frames.space()

    def received(self, count: int) -> None:
        """Take received bytes (for the stream)."""
        try:
            self._frames.received(count)
        except FrameRefused as error:
            self._refuse(str(error))

    def lost(self, error: OSError | None) -> None:
        """Take note that the other side is gone (for the stream)."""
        self._ended = error
        self._close(lambda: self._lost_fault(error))

    async def _introduce(self) -> None:
        self.versions = await self.ask(versions_call())
        if self.versions.error == UNSUPPORTED_VERSION:
            raise VersionNotOffered(
                f"{self.server} is older than Kafka {OLDEST}: it does not know ApiVersions 3.",
                cluster=self.cluster,
                hint=TOO_OLD,
            )
        if self.versions.error or not self.versions.ranges:
            error = f" (error {self.versions.error})" if self.versions.error else ""
            raise VersionNotOffered(
                f"{self.server} does not tell which requests it knows{error}.",
                cluster=self.cluster,
                hint=f"Brokers of Kafka {OLDEST} and newer tell it; a proxy in front of them may hide it.",
            )
        credentials = self.options.security.credentials
        if credentials is not None:
            lifetime_ms = await log_in(self, credentials)
            self._session_ends_at = self._session_end(lifetime_ms)
        self._is_ready = True

    def _session_end(self, lifetime_ms: int) -> float | None:
        """Return when to stop using a session: before the broker ends it (KIP-368)."""
        if lifetime_ms <= 0:
            return None
        timing = self.options.timing
        share = _SESSION_SHARE + _SESSION_SPREAD * timing.chance()
        return timing.clock() + lifetime_ms / 1000 * share

    def _take(self, answer: memoryview) -> None:
        """Give an answer to the oldest request."""
        if self._is_closed:
            return
        if not self._pending or correlation_id_of(answer) != self._pending[0].correlation_id:
            self._refuse("an answer to something that was not asked")
            return
        pending = self._pending[0]
        if not pending.answer.done():
            try:
                pending.answer.set_result(_read(pending.call, answer))
            except UNREADABLE as error:
                self._refuse(f"{pending.call.name} version {pending.call.version}: {error}")
                return
        self._pending.popleft()
        self._has_answered = self._is_ready
        if self._is_retired and not self._pending:
            self.close()

    def _watch(self, late_at: float) -> None:
        """Look for a late answer at `late_at`; one timer serves all requests."""
        if self._timer is None or late_at < self._timer.when():
            if self._timer is not None:
                self._timer.cancel()
            self._timer = self._loop.call_at(late_at, self._look_for_late)

    def _look_for_late(self) -> None:
        """End a connection on which an answer is missing: all later ones would come behind it."""
        self._timer = None
        first = min(self._pending, key=lambda pending: pending.late_at, default=None)
        if first is None:
            return
        if first.late_at > self._loop.time():
            self._watch(first.late_at)
            return
        name = first.call.name
        logger.debug("cluster=%s %s: %s timed out", self.cluster, self.server, name)
        message = f"{self.server} did not answer {name} within {first.timeout_s:g} s."
        self._close(lambda: RequestTimedOut(message, cluster=self.cluster))

    def _refuse(self, reason: str) -> None:
        self._close(lambda: not_kafka(self.server, self.cluster, reason))

    def _lost_fault(self, error: OSError | None) -> ClusterFault:
        if self._has_answered:
            return connection_lost(error, self.server, self.cluster, may_have_arrived=True)
        if self._is_ready:
            return lost_before_any_answer(error, self.server, self.cluster, self._first_request)
        if isinstance(error, ssl.SSLError):
            return tls_fault(error, self.server, self.cluster)
        return closed_in_handshake(self.server, self.cluster)

    def _close(self, fault: Callable[[], ClusterFault]) -> None:
        """Close the socket and fail every pending request with a fault of its own."""
        if self._is_closed:
            return
        self._is_closed = True
        self._stream.close()
        if self._timer is not None:
            self._timer.cancel()
        while self._pending:
            pending = self._pending.popleft()
            if not pending.answer.done():
                pending.answer.set_exception(fault())


def _read(call: Call[_Answer], answer: memoryview) -> _Answer:
    content, end = call.decode(answer, 0)
    if end != len(answer):
        raise ValueError(f"{len(answer) - end} bytes too many")
    return content


async def _connect(server: Server, options: Options) -> socket.socket:
    context = options.security.tls
    try:
        plain = await connect(server.host, server.port)
        return plain if context is None else await wrap(plain, context, server.host)
    except OSError as error:
        if isinstance(error, TimeoutError):
            raise
        raise connect_fault(error, server, options.cluster) from None
