"""One connection to one cluster: asks questions with a budget, makes consumers and producers."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import Future
from dataclasses import replace
from types import TracebackType
from typing import Any, TypeVar

from confluent_kafka import Consumer, KafkaError, KafkaException, Producer

from jobs.cluster.connection import Connection
from jobs.cluster.errors import (
    ClusterFault,
    Refused,
    Remedy,
    SecretReplaced,
    SeveralClusters,
    TimedOut,
    TlsFailed,
)
from jobs.cluster.librdkafka_errors import error_in, fault_of
from jobs.cluster.protocol.cluster import RawCluster
from jobs.cluster.protocol.errors import AnswerFault
from jobs.cluster.protocol.kept_connections import kept_connections
from jobs.cluster.protocol.transport.timing import Timing
from jobs.cluster.read_only import refuse_when_read_only
from jobs.cluster.untrusted_text import redact_secrets

logger = logging.getLogger(__name__)

_Client = TypeVar("_Client")
_Answer = TypeVar("_Answer")

# Requests are repeated for this time where the cluster is unreachable: a broker may be starting.
GRACE_S, PAUSE_S = 1.5, 0.25
SHARE_TO_COMPARE = 0.25
WHY_S = 2.0


class ClusterClient:
    """The door to one cluster.

    `timeout_s` is the whole budget of one question (one call of a function of `jobs.cluster`),
    however many requests it needs. It ends earlier when every broker is known to be unreachable.
    Nothing is connected before the first question; connections are those of the process, kept between
    questions (`kept_connections`). `client_id` is what brokers see: their quotas and request logs go by it.
    """

    def __init__(
        self, connection: Connection, *, timeout_s: float = 10.0, client_id: str = "crosslog"
    ) -> None:
        self.connection = connection
        self.timeout_s = timeout_s
        self._client_id = client_id
        self._heard_of_trouble = False
        self._made_with: Mapping[str, Any] = {}
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

    def close(self) -> None:
        """Nothing is left to close: consumers and producers belong to their callers."""

    def ask(
        self,
        doing: str,
        question: Callable[[RawCluster], Awaitable[_Answer]],
        *,
        timeout_s: float | None = None,
    ) -> _Answer:
        """Return the answer to a question that is harmless to repeat; raises `ClusterFault`.

        `doing` begins the sentence of a fault: "Listing groups".
        """
        budget_s = self.timeout_s if timeout_s is None else timeout_s
        began = time.monotonic()
        while True:
            try:
                found = kept_connections().ask(self.connection, self._short_id, budget_s, question)
            except TimeoutError:
                text = f"{doing}: no answer within {budget_s:g} s."
                raise TimedOut(text, cluster=self.connection.alias) from None
            except ClusterFault as fault:
                waited_s = time.monotonic() - began
                is_answer = isinstance(fault, AnswerFault) or not fault.retriable
                if is_answer or waited_s + PAUSE_S > min(GRACE_S, budget_s):
                    raise
                time.sleep(PAUSE_S)
            else:
                self._heard_of_trouble = False
                return found

    def begin(
        self, question: Callable[[RawCluster], Awaitable[_Answer]], *, timeout_s: float
    ) -> Future[_Answer]:
        """Begin with a question that is not waited for here.

        The future has the answer, or raises `ClusterFault`, or `TimeoutError` where there was none in time.
        """
        return kept_connections().begin(self.connection, self._short_id, timeout_s, question)

    def refuse_several_clusters(self) -> None:
        """Raise `SeveralClusters`; asks until each of the bootstrap servers has told its cluster once."""
        if not self._is_one_cluster:
            within_s = self.timeout_s * SHARE_TO_COMPARE

            async def compare(_: RawCluster) -> Mapping[str, str | None]:
                return await read_bootstrap_ids(
                    self.connection, client_id=self._short_id, within_s=within_s
                )

            ids = self.ask("Comparing the bootstrap servers", compare)
            refuse_several_clusters(self.connection.alias, ids)
            self._is_one_cluster = None not in ids.values()

    def consumer(self, overrides: Mapping[str, Any]) -> Consumer:
        """Return a consumer that commits nothing by itself; the caller closes it."""
        defaults = {"group.id": "crosslog", "enable.auto.commit": False}
        return self._make(Consumer, {**defaults, **overrides})

    def producer(self, overrides: Mapping[str, Any]) -> Producer:
        """Return a producer; the caller flushes it."""
        refuse_when_read_only(self.connection.alias, "Writing records")
        return self._make(Producer, dict(overrides))

    def fault(self) -> ClusterFault | None:
        """Return why the cluster cannot be reached, while a consumer or producer reports errors.

        The client library's messages are of no use to people: the cluster is queried again, for two seconds.
        """
        if not self._heard_of_trouble:
            return None
        fault = self._why()
        if fault is None and self._made_with != self.connection.client_config():
            text = "A secret was replaced, and the one before is not accepted any more."
            fault = SecretReplaced(text, cluster=self.connection.alias)
        return fault

    def _why(self) -> ClusterFault | None:
        try:
            self.ask("Connecting", RawCluster.metadata, timeout_s=WHY_S)
        except ClusterFault as fault:
            return fault
        return None

    def fault_of(self, error: KafkaError, doing: str) -> ClusterFault:
        """Return the named fault for an error of the client library."""
        return fault_of(error, cluster=self.connection.alias, doing=doing, why=self._why)

    @property
    def _short_id(self) -> str:
        return self._client_id.removeprefix("crosslog").removeprefix("-")

    def _make(
        self, kind: Callable[[dict[str, Any]], _Client], overrides: dict[str, Any]
    ) -> _Client:
        self._made_with = self.connection.client_config()
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
            "error_cb": self._hear,
            "logger": _Log(self.connection.alias),
            # A broker that hangs must be known as such before the first attempt is over.
            "socket.connection.setup.timeout.ms": setup_ms,
            "reconnect.backoff.ms": 200,
            "reconnect.backoff.max.ms": 5000,
        }

    def _hear(self, _: KafkaError) -> None:
        """Take note of an error of a consumer or producer that belongs to no request."""
        self._heard_of_trouble = True

    def _settings_fault(self, error: KafkaError, config: Mapping[str, Any]) -> ClusterFault:
        """Return the fault for settings that the client library refuses, without any secret in it."""
        text = error.str()
        for option, value in config.items():
            if "password" in option or option.endswith((".pem", ".secret")):
                text = text.replace(str(value), "***")
        for option, field in _PEM_FIELDS.items():
            if option in text:
                hint = "The file behind the reference must be in PEM format."
                message = f"{field} cannot be used: {text}"
                fault = TlsFailed(message, cluster=self.connection.alias, hint=hint, field=field)
                fault.remedy = Remedy.OPERATOR
                return fault
        return Refused(f"The settings are not usable: {text}", cluster=self.connection.alias)


_PEM_FIELDS = {
    "ssl.ca": "ssl_ca",
    "ssl.certificate": "ssl_certificate",
    "ssl.key": "ssl_key",
}


class _Log:
    """Takes librdkafka's log lines into the Python log instead of stderr."""

    def __init__(self, alias: str) -> None:
        self._alias = alias

    def log(self, _level: int, _form: str, facility: str, name: str, line: str) -> None:
        said = redact_secrets(line)
        logger.debug("librdkafka cluster=%s %s %s %s", self._alias, name, facility, said)


async def read_bootstrap_ids(
    connection: Connection, *, client_id: str, within_s: float
) -> dict[str, str | None]:
    """Return the cluster id of each bootstrap server; None where it did not answer in time.

    All requests use the same security settings. Raises `SecretMissing` and `TlsFailed` when these
    are not usable.
    """
    servers = connection.bootstrap_servers.split(",")
    timing = Timing(connect_timeout_s=within_s, metadata_timeout_s=within_s)
    asked = [
        _id_at(replace(connection, bootstrap_servers=server, cluster_id=None), client_id, timing)
        for server in servers
    ]
    return dict(zip(servers, await asyncio.gather(*asked), strict=True))


async def _id_at(connection: Connection, client_id: str, timing: Timing) -> str | None:
    async with RawCluster(connection, client_id=client_id, timing=timing) as cluster:
        try:
            return (await cluster.metadata()).cluster_id
        except ClusterFault:
            # A broker may be down: only the answers of the others are compared.
            return None


def refuse_several_clusters(alias: str, ids: Mapping[str, str | None]) -> None:
    """Raise `SeveralClusters` when bootstrap servers tell different cluster ids."""
    told = {server: found for server, found in ids.items() if found}
    number = len(set(told.values()))
    if number > 1:
        named = ", ".join(f"{server} is cluster {found}" for server, found in told.items())
        raise SeveralClusters(
            f"The bootstrap servers belong to {number} clusters: {named}. Nothing was read from them.",
            cluster=alias,
        )
