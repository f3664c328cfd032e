"""One connection to one cluster: makes the clients, waits with a budget, names what went wrong."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Iterable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from types import TracebackType
from typing import Any, TypeVar

from confluent_kafka import Consumer, KafkaError, KafkaException, Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._metadata import ClusterMetadata

from jobs.cluster.connection import Connection
from jobs.cluster.descriptions import ClusterDescription
from jobs.cluster.errors import ClusterFault, Refused, TlsFailed
from jobs.cluster.librdkafka_errors import TransportNotes, error_in, fault_of
from jobs.cluster.protocol.admin.cluster_description import describe_whole_cluster
from jobs.cluster.protocol.bootstrap_ids import read_bootstrap_ids, refuse_several_clusters
from jobs.cluster.protocol.cluster import RawCluster
from jobs.cluster.protocol.transport.timing import Timing
from jobs.cluster.question import Question
from jobs.cluster.read_only import refuse_when_read_only
from jobs.cluster.untrusted_text import redact_secrets

logger = logging.getLogger(__name__)

_Key = TypeVar("_Key")
_Chunk = TypeVar("_Chunk")
_Client = TypeVar("_Client")
_Answer = TypeVar("_Answer")

AT_ONCE = 20
UNTIL_CLOSED = 3600.0
# Shares of the budget at whose end an attempt is over.
ONLY = (1.0,)
FIRST_AND_SECOND = (0.4, 1.0)
SHARE_TO_COMPARE = 0.25


class ClusterClient:
    """The door to one cluster.

    `timeout_s` is the whole budget of one question (one call of a function of `jobs.cluster`),
    however many requests it needs. It ends earlier when every broker is known to be unreachable.
    Nothing is connected before the first question. One thread at a time. `client_id` is what brokers see:
    their quotas and request logs go by it.
    """

    def __init__(
        self, connection: Connection, *, timeout_s: float = 10.0, client_id: str = "crosslog"
    ) -> None:
        self.connection = connection
        self.timeout_s = timeout_s
        self._client_id = client_id
        self.notes = TransportNotes(connection.alias)
        self._admin: AdminClient | None = None
        self._is_one_cluster = "," not in connection.bootstrap_servers

    def __enter__(self) -> ClusterClient:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"ClusterClient({self.connection.alias!r}, {self.connection.bootstrap_servers!r})"

    @property
    def admin(self) -> AdminClient:
        """The admin client, made on first use; raises `SecretMissing` and faults of the settings."""
        if self._admin is None:
            self._admin = self._make(AdminClient, {})
        return self._admin

    def consumer(self, overrides: Mapping[str, Any]) -> Consumer:
        """Return a consumer that commits nothing by itself; the caller closes it."""
        defaults = {"group.id": "crosslog", "enable.auto.commit": False}
        return self._make(Consumer, {**defaults, **overrides})

    def producer(self, overrides: Mapping[str, Any]) -> Producer:
        """Return a producer; the caller flushes it."""
        refuse_when_read_only(self.connection.alias, "Writing records")
        return self._make(Producer, dict(overrides))

    def fault(self) -> ClusterFault | None:
        """Return why the cluster cannot be reached, as far as heard since its last answer."""
        return self.notes.fault()

    def fault_of(self, error: KafkaError, doing: str) -> ClusterFault:
        """Return the named fault for an error of the client library."""
        return fault_of(error, cluster=self.connection.alias, doing=doing, known=self.fault())

    def close(self) -> None:
        """Close the admin client; consumers and producers belong to whoever asked for them."""
        self._forget_admin()

    def ask(
        self,
        send: Callable[[AdminClient, float], Future[Any]],
        doing: str,
        *,
        any_broker: bool = True,
    ) -> Any:
        """Send one request and return its answer; raises `ClusterFault`."""
        answers = self.ask_all(
            [None], lambda admin, _, left: {None: send(admin, left)}, doing, any_broker=any_broker
        )
        answer = answers[None]
        if isinstance(answer, ClusterFault):
            raise answer
        return answer

    def ask_all(
        self,
        chunks: Iterable[_Chunk],
        send: Callable[[AdminClient, _Chunk, float], Mapping[_Key, Future[Any]]],
        doing: str,
        *,
        any_broker: bool = False,
        at_once: int = AT_ONCE,
    ) -> dict[_Key, Any]:
        """Send a request per chunk, at most `at_once` of them open, and return an answer per key.

        `any_broker`: the request is harmless to repeat and not bound to a leader or coordinator, so
        when the broker that got it hangs, another one is asked before the budget ends.
        An answer is the value or a `ClusterFault`; keys are missing where the budget ended before
        their chunk was sent. Raises `ClusterFault` when nothing was answered and the cluster is why.

        A request to one broker, a group's coordinator or any, must be sent with `UNTIL_CLOSED` as its own
        timeout: librdkafka aborts the process when such a request has timed out and its broker comes back
        afterwards (confluentinc/librdkafka#4605, #5397). It is ended by closing the client instead.
        """
        question = Question(self.timeout_s, doing, self.connection.alias, self.notes)
        todo: Iterable[_Chunk] = chunks
        for share in FIRST_AND_SECOND if any_broker else ONLY:
            todo = question.attempt(self.admin, todo, send, share, at_once)
            if question.ended_by or (todo and any_broker):
                self._forget_admin()
            if question.ended_by or not todo:
                break
        return question.answers()

    def describe(self) -> ClusterDescription:
        """Return who is there; raises `ClusterFault`, `SeveralClusters` among them.

        See `describe_whole_cluster`. Bootstrap servers are compared until each of them has told its cluster.
        """
        found = self.ask_raw(self._describe)
        self.notes.forget()
        return found

    def ask_raw(self, ask: Callable[[RawCluster], Coroutine[Any, Any, _Answer]]) -> _Answer:
        """Ask over connections of our own what the client library cannot be asked; raises `ClusterFault`."""
        # In a thread of its own, because the caller's may be running a loop already.
        with ThreadPoolExecutor(1) as thread:
            return thread.submit(lambda: asyncio.run(self._ask_raw(ask))).result()

    async def _ask_raw(self, ask: Callable[[RawCluster], Coroutine[Any, Any, _Answer]]) -> _Answer:
        share_s = self.timeout_s * FIRST_AND_SECOND[0]
        timing = Timing(connect_timeout_s=share_s, metadata_timeout_s=share_s)
        async with RawCluster(self.connection, client_id=self._raw_id, timing=timing) as cluster:
            return await ask(cluster)

    @property
    def _raw_id(self) -> str:
        # What brokers see is `crosslog-` and this.
        return self._client_id.removeprefix("crosslog").removeprefix("-") or "metadata"

    async def _describe(self, cluster: RawCluster) -> ClusterDescription:
        if not self._is_one_cluster:
            await self._compare_bootstrap_servers()
        return await describe_whole_cluster(cluster, budget_s=self.timeout_s)

    async def _compare_bootstrap_servers(self) -> None:
        within_s = self.timeout_s * SHARE_TO_COMPARE
        ids = await read_bootstrap_ids(self.connection, client_id=self._raw_id, within_s=within_s)
        refuse_several_clusters(self.connection.alias, ids)
        self._is_one_cluster = None not in ids.values()

    def metadata(self, doing: str) -> ClusterMetadata:
        """Return the metadata of all topics; raises `ClusterFault`. Costs up to two budgets."""
        # The call below sees nothing but the clock, so find out first whether anybody is there.
        self.describe()
        for share in FIRST_AND_SECOND:
            try:
                return self.admin.list_topics(timeout=self.timeout_s * share)
            except KafkaException as error:
                self.admin.poll(0)
                fault = self.fault_of(error_in(error), doing)
                self._forget_admin()
        raise fault

    def _forget_admin(self) -> None:
        """Close the admin client with its open requests; the next one chooses its broker anew."""
        admin, self._admin = self._admin, None
        if admin is not None:
            admin.__exit__(None, None, None)

    def _make(
        self, kind: Callable[[dict[str, Any]], _Client], overrides: dict[str, Any]
    ) -> _Client:
        config = {**self._client_config(), **overrides}
        try:
            return kind(config)
        except KafkaException as error:
            raise self._settings_fault(error_in(error), config) from None

    def _client_config(self) -> dict[str, Any]:
        setup_ms = int(min(max(self.timeout_s * 250, 1000), 10_000))
        return {
            **self.connection.client_config(),
            "client.id": self._client_id,
            "error_cb": self.notes.hear_error,
            "logger": _LogLines(self.notes),
            # A broker that hangs must be known as such before the first attempt is over.
            "socket.connection.setup.timeout.ms": setup_ms,
            "reconnect.backoff.ms": 200,
            "reconnect.backoff.max.ms": 5000,
        }

    def _settings_fault(self, error: KafkaError, config: Mapping[str, Any]) -> ClusterFault:
        """Return the fault for settings that the client library refuses, without any secret in it."""
        text = error.str()
        for option, value in config.items():
            if "password" in option or option.endswith(".pem"):
                text = text.replace(str(value), "***")
        for option, field in _PEM_FIELDS.items():
            if option in text:
                hint = "The file behind the reference must be in PEM format."
                message = f"{field} cannot be used: {text}"
                return TlsFailed(message, cluster=self.connection.alias, hint=hint, field=field)
        return Refused(f"The settings are not usable: {text}", cluster=self.connection.alias)


_PEM_FIELDS = {
    "ssl.ca": "ssl_ca",
    "ssl.certificate": "ssl_certificate",
    "ssl.key": "ssl_key",
}


class _LogLines:
    """Takes librdkafka's log lines: notes for the fault, and a quiet Python log instead of stderr."""

    def __init__(self, notes: TransportNotes) -> None:
        self.notes = notes

    def log(self, _level: int, _form: str, facility: str, name: str, line: str) -> None:
        if facility in ("FAIL", "ERROR"):
            self.notes.hear(line)
        said = redact_secrets(line)
        logger.debug("librdkafka cluster=%s %s %s %s", self.notes.cluster, name, facility, said)
