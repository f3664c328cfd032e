"""One connection to one cluster: makes the clients, waits with a budget, names what went wrong."""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future
from types import TracebackType
from typing import Any, TypeVar

from confluent_kafka import Consumer, KafkaError, KafkaException, Producer
from confluent_kafka.admin import AdminClient

from jobs.cluster.connection import Connection
from jobs.cluster.errors import ClusterFault, Refused, TimedOut, TlsFailed
from jobs.cluster.librdkafka_errors import TransportNotes, error_in, fault_of, is_cluster_wide

logger = logging.getLogger(__name__)

_Key = TypeVar("_Key")
_Chunk = TypeVar("_Chunk")
_Client = TypeVar("_Client")

LOOK_S = 0.05
GRACE_S = 1.5
AT_ONCE = 20


class ClusterClient:
    """The door to one cluster.

    `timeout_s` is the whole budget of one question (one call of a function of `jobs.cluster`),
    however many requests it needs. It ends earlier when every broker is known to be unreachable.
    Nothing is connected before the first question. May be used by several threads.
    """

    def __init__(self, connection: Connection, *, timeout_s: float = 10.0) -> None:
        self.connection = connection
        self.timeout_s = timeout_s
        self.notes = TransportNotes(connection.alias)
        self._admin: AdminClient | None = None
        self._lock = threading.Lock()

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
        with self._lock:
            if self._admin is None:
                self._admin = self._make(AdminClient, {})
            return self._admin

    def consumer(self, overrides: Mapping[str, Any]) -> Consumer:
        """Return a consumer that commits nothing by itself; the caller closes it."""
        defaults = {"group.id": "crosslog", "enable.auto.commit": False}
        return self._make(Consumer, {**defaults, **overrides})

    def producer(self, overrides: Mapping[str, Any]) -> Producer:
        """Return a producer; the caller flushes it."""
        return self._make(Producer, dict(overrides))

    def fault(self) -> ClusterFault | None:
        """Return why the cluster cannot be reached, as far as heard since its last answer."""
        return self.notes.fault()

    def fault_of(self, error: KafkaError, doing: str) -> ClusterFault:
        """Return the named fault for an error of the client library."""
        return fault_of(error, cluster=self.connection.alias, doing=doing, known=self.fault())

    def close(self) -> None:
        """Close the admin client; consumers and producers belong to whoever asked for them."""
        with self._lock:
            admin, self._admin = self._admin, None
        if admin is not None:
            admin.__exit__(None, None, None)

    def ask(self, send: Callable[[AdminClient, float], Future[Any]], doing: str) -> Any:
        """Send one request and return its answer; raises `ClusterFault`."""
        answers = self.ask_all([None], lambda admin, _, left: {None: send(admin, left)}, doing)
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
        at_once: int = AT_ONCE,
    ) -> dict[_Key, Any]:
        """Send a request per chunk, at most `at_once` of them open, and return an answer per key.

        An answer is the value or a `ClusterFault`; keys are missing where the budget ended before
        their chunk was sent. Raises `ClusterFault` when nothing was answered and the cluster is why.
        """
        question = _Question(self, doing)
        for chunk in chunks:
            if question.is_over():
                break
            question.add(send(self.admin, chunk, question.left_s()))
            question.settle(keep=at_once - 1)
        question.settle(keep=0)
        return question.answers()

    def _make(self, kind: Callable[[dict[str, Any]], _Client], overrides: dict[str, Any]) -> _Client:
        config = {**self._client_config(), **overrides}
        try:
            return kind(config)
        except KafkaException as error:
            raise self._settings_fault(error_in(error), config) from None

    def _client_config(self) -> dict[str, Any]:
        setup_ms = int(min(max(self.timeout_s * 400, 1000), 10_000))
        return {
            **self.connection.client_config(),
            "client.id": "crosslog",
            "error_cb": self.notes.hear_error,
            "logger": _LogLines(self.notes),
            # A hung broker must be known as such before the question's budget is used up.
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
        logger.debug("librdkafka cluster=%s %s %s %s", self.notes.cluster, name, facility, line)


class _Question:
    """The open requests of one question and the time that is left for them."""

    def __init__(self, client: ClusterClient, doing: str) -> None:
        self.client = client
        self.doing = doing
        self.began = time.monotonic()
        self.ended_by: ClusterFault | None = None
        self._open: deque[Mapping[Any, Future[Any]]] = deque()
        self._answers: dict[Any, Any] = {}

    def left_s(self) -> float:
        return max(self.client.timeout_s - (time.monotonic() - self.began), 0.01)

    def is_over(self) -> bool:
        return self.ended_by is not None

    def add(self, futures: Mapping[Any, Future[Any]]) -> None:
        self._open.append(futures)

    def settle(self, *, keep: int) -> None:
        """Wait for the oldest requests until only `keep` of them are open."""
        while len(self._open) > keep:
            for key, future in self._open.popleft().items():
                self._answers[key] = self._answer(future)

    def answers(self) -> dict[Any, Any]:
        """Return what was answered; raises the cluster's fault when that is all there is."""
        faults = [a for a in self._answers.values() if isinstance(a, ClusterFault)]
        if faults and len(faults) == len(self._answers) and all(map(is_cluster_wide, faults)):
            raise faults[-1]
        return self._answers

    def _answer(self, future: Future[Any]) -> Any:
        while not future.done() and self.ended_by is None:
            self._wait(future)
        if not future.done():
            return self.ended_by
        try:
            answer = future.result()
        except KafkaException as error:
            return self.client.fault_of(error_in(error), self.doing)
        self.client.notes.forget()
        return answer

    def _wait(self, future: Future[Any]) -> None:
        try:
            future.result(timeout=LOOK_S)
        except TimeoutError:
            self.client.admin.poll(0)
            self.ended_by = self._end()
        except KafkaException:
            self.client.admin.poll(0)

    def _end(self) -> ClusterFault | None:
        """Return the fault that ends the question: no broker left to wait for, or no time."""
        age = time.monotonic() - self.began
        final = self.client.notes.final_fault()
        if final and (not final.retriable or age > min(GRACE_S, self.client.timeout_s)):
            return final
        # The request's own timeout comes first; this is the net below it.
        if age > self.client.timeout_s + 0.5:
            return self.client.fault() or TimedOut(
                f"{self.doing}: no answer within {self.client.timeout_s:g} s.",
                cluster=self.client.connection.alias,
            )
        return None
