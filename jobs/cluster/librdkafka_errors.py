"""Translate what librdkafka says into named faults, once.

A call that fails says little more than "timed out": the reason stands in the lines that librdkafka
writes for each broken connection. `TransportNotes` collects them and tells the most telling one.
"""

from __future__ import annotations

import re
import threading
from dataclasses import dataclass

from confluent_kafka import KafkaError, KafkaException

from jobs.cluster.errors import (
    AuthenticationFailed,
    ClusterFault,
    NameNotResolved,
    NotAuthorized,
    ProtocolMismatch,
    RecordTooLarge,
    Refused,
    TimedOut,
    TlsFailed,
    UnknownTopicOrPartition,
    Unreachable,
)
from jobs.cluster.untrusted_text import shortened


@dataclass(frozen=True, slots=True)
class _Rule:
    """A pattern in librdkafka's text, and the fault it means; `says` may use {server} and {reason}."""

    pattern: re.Pattern[str]
    kind: type[ClusterFault]
    says: str
    hint: str | None = None
    field: str | None = None


def _rule(
    pattern: str,
    kind: type[ClusterFault],
    says: str,
    hint: str | None = None,
    field: str | None = None,
) -> _Rule:
    return _Rule(re.compile(pattern), kind, says, hint, field)


# The most telling first: with several notes at hand, the first rule that matches any of them wins.
_RULES = (
    _rule(
        r"current SASL state",
        ProtocolMismatch,
        "{server} answers, but does not ask for SASL authentication.",
        "Choose the security protocol without SASL, or the port of the SASL listener.",
    ),
    _rule(
        r"[Uu]nsupported SASL mechanism|mechanism handshake failed",
        AuthenticationFailed,
        "{server} does not offer this SASL mechanism ({reason}).",
        "Choose a mechanism that is in sasl.enabled.mechanisms of the listener.",
        "sasl_mechanism",
    ),
    _rule(
        r"SASL authentication error|Authentication failed|SaslAuthenticateRequest failed",
        AuthenticationFailed,
        "{server} refused the user name or the secret ({reason}).",
    ),
    _rule(
        r"certificate verify failed|certificate could not be verified",
        TlsFailed,
        "The certificate of {server} is not trusted: no CA known here signed it for this host name.",
        "Give the CA that signed the broker's certificate (PEM), and the host name of the certificate.",
        "ssl_ca",
    ),
    _rule(
        r"alert (bad certificate|certificate required|unknown ca|certificate unknown)",
        TlsFailed,
        "{server} does not accept the client certificate ({reason}).",
        "The listener wants a client certificate that its truststore knows.",
        "ssl_certificate",
    ),
    _rule(
        r"PLAINTEXT broker listener|wrong version number|packet length too long",
        TlsFailed,
        "{server} does not speak TLS.",
        "Choose a security protocol without SSL, or the port of the TLS listener.",
    ),
    _rule(r"SSL handshake failed", TlsFailed, "The TLS handshake with {server} failed ({reason})."),
    _rule(r"Failed to resolve", NameNotResolved, "The host name of {server} is not known."),
    _rule(r"Connection refused", Unreachable, "Nobody listens on {server} (connection refused)."),
    _rule(
        r"[Nn]o route to host|unreachable|timed out in state (TRY_)?CONNECT",
        Unreachable,
        "{server} cannot be reached ({reason}).",
    ),
    _rule(
        r"timed out in state SSL",
        TimedOut,
        "{server} takes connections but does not answer the TLS handshake.",
        "The broker hangs, or the port is not a TLS listener.",
    ),
    _rule(
        r"timed out in state AUTH",
        TimedOut,
        "{server} takes connections but does not answer the authentication.",
        "The broker hangs or cannot reach the place where its users are kept.",
    ),
    _rule(
        r"timed out in state",
        TimedOut,
        "{server} takes connections but does not answer.",
        "The broker hangs (stopped, or out of memory), or the port is not Kafka's.",
    ),
    _rule(
        r"Invalid response size",
        ProtocolMismatch,
        "{server} answers, but not in Kafka's protocol.",
        "Check the port: another kind of server listens there, or a TLS listener.",
    ),
    _rule(
        r"Disconnected.*in state (APIVERSION|AUTH)|Disconnected.*after \d{1,3}ms in state UP",
        ProtocolMismatch,
        "{server} closes the connection before it answers.",
        "The listener probably expects TLS or SASL: compare the security protocol with the broker's "
        "listeners. A proxy without a live broker behind it does the same.",
    ),
    _rule(r"Disconnected|timed out|[Tt]imeout", Unreachable, "{server} was lost ({reason})."),
)

_LINE = re.compile(
    r"^(?:\[thrd:.*?\]: )?(?:\w+://)?(?P<server>\S+?)/(?P<source>bootstrap|GroupCoordinator|\d+): "
    r"(?P<reason>.*)$"
)
_TAIL = re.compile(r" \(after \d+ms in state .*\)$")
_ADVERTISED = (
    " This address comes from the broker itself (advertised.listeners), "
    "not from the bootstrap servers."
)


def explain(text: str, cluster: str) -> tuple[int, ClusterFault] | None:
    """Return the rank (0 is the most telling) and the fault that a line of librdkafka means."""
    line = _LINE.match(text)
    if line is None:
        return None
    for rank, rule in enumerate(_RULES):
        if rule.pattern.search(text):
            reason = shortened(_TAIL.sub("", line["reason"]))
            message = rule.says.format(server=line["server"], reason=reason)
            if line["source"] != "bootstrap" and rule.kind in (NameNotResolved, Unreachable):
                message += _ADVERTISED
            return rank, rule.kind(message, cluster=cluster, hint=rule.hint, field=rule.field)
    return None


UNKNOWN_ERROR = -1


class TransportNotes:
    """What was heard about broken connections since the last answer of the cluster."""

    def __init__(self, cluster: str) -> None:
        self.cluster = cluster
        self._lock = threading.Lock()
        self._best: tuple[int, ClusterFault] | None = None
        self._all_down = False

    def hear(self, text: str) -> None:
        """Take note of a line; a later line replaces an earlier one that tells no more."""
        found = explain(text, self.cluster)
        with self._lock:
            if found and (self._best is None or found[0] <= self._best[0]):
                self._best = found

    def hear_error(self, error: KafkaError) -> None:
        """Take note of an error that belongs to no request."""
        if error.name() == "_ALL_BROKERS_DOWN":
            with self._lock:
                self._all_down = True
        else:
            self.hear(error.str())

    def forget(self) -> None:
        """Drop everything: the cluster has answered."""
        with self._lock:
            self._best = None
            self._all_down = False

    def fault(self) -> ClusterFault | None:
        """Return the most telling fault since the last answer."""
        with self._lock:
            return self._best[1] if self._best else None

    def final_fault(self) -> ClusterFault | None:
        """Return the fault once no broker is left that could still answer."""
        with self._lock:
            return self._best[1] if self._best and self._all_down else None


_TRANSPORT = frozenset(
    {
        "_TRANSPORT",
        "_TIMED_OUT",
        "_TIMED_OUT_QUEUE",
        "_MSG_TIMED_OUT",
        "_ALL_BROKERS_DOWN",
        "_RESOLVE",
        "_SSL",
        "_AUTHENTICATION",
        "_WAIT_COORD",
        "_DESTROY",
        "_DESTROY_BROKER",
        # Metadata that name no broker: all of them are fenced at the moment.
        "_PARTIAL",
        "NETWORK_EXCEPTION",
    }
)
_NAMED: dict[str, type[ClusterFault]] = {
    "SASL_AUTHENTICATION_FAILED": AuthenticationFailed,
    "UNSUPPORTED_SASL_MECHANISM": AuthenticationFailed,
    "ILLEGAL_SASL_STATE": ProtocolMismatch,
    "TOPIC_AUTHORIZATION_FAILED": NotAuthorized,
    "GROUP_AUTHORIZATION_FAILED": NotAuthorized,
    "CLUSTER_AUTHORIZATION_FAILED": NotAuthorized,
    "TRANSACTIONAL_ID_AUTHORIZATION_FAILED": NotAuthorized,
    "REQUEST_TIMED_OUT": TimedOut,
    "UNKNOWN_TOPIC_OR_PART": UnknownTopicOrPartition,
    "UNKNOWN_TOPIC_ID": UnknownTopicOrPartition,
    "_UNKNOWN_TOPIC": UnknownTopicOrPartition,
    "_UNKNOWN_PARTITION": UnknownTopicOrPartition,
    "MSG_SIZE_TOO_LARGE": RecordTooLarge,
    "RECORD_LIST_TOO_LARGE": RecordTooLarge,
}
# Kafka's RetriableExceptions that have no name of their own here.
_RETRIABLE = frozenset(
    {
        "LEADER_NOT_AVAILABLE",
        "NOT_LEADER_FOR_PARTITION",
        "REPLICA_NOT_AVAILABLE",
        "COORDINATOR_LOAD_IN_PROGRESS",
        "COORDINATOR_NOT_AVAILABLE",
        "NOT_COORDINATOR",
        "NOT_ENOUGH_REPLICAS",
        "NOT_ENOUGH_REPLICAS_AFTER_APPEND",
        "NOT_CONTROLLER",
        "KAFKA_STORAGE_ERROR",
        "FENCED_LEADER_EPOCH",
        "UNKNOWN_LEADER_EPOCH",
        "OFFSET_NOT_AVAILABLE",
        "THROTTLING_QUOTA_EXCEEDED",
        "UNSTABLE_OFFSET_COMMIT",
    }
)


def fault_of(
    error: KafkaError, *, cluster: str, doing: str, known: ClusterFault | None
) -> ClusterFault:
    """Return the fault that an error means; `known` is what is known about broken connections."""
    name = error.name()
    if name in _TRANSPORT:
        return known or TimedOut(f"{doing}: no answer ({sentence_of(error)}).", cluster=cluster)
    kind = _NAMED.get(name, Refused)
    fault = kind(f"{doing}: {sentence_of(error)}.", cluster=cluster)
    if name in _RETRIABLE or error.retriable():
        fault.retriable = True
    return fault


def sentence_of(error: KafkaError) -> str:
    """Return an error as a person can read and search it: Kafka's words, then its name."""
    text = error.str().removeprefix("Broker: ").removeprefix("Local: ")
    return f"{shortened(text).rstrip('.')} ({error.name()})"


def error_in(raised: KafkaException | KafkaError) -> KafkaError:
    """Return the error inside an exception of the client library."""
    if isinstance(raised, KafkaError):
        return raised
    inside = raised.args[0] if raised.args else None
    return inside if isinstance(inside, KafkaError) else KafkaError(UNKNOWN_ERROR, str(raised))


def is_cluster_wide(fault: ClusterFault) -> bool:
    """Return whether a fault means that the cluster, and not one topic or group, has a problem."""
    return isinstance(
        fault,
        (Unreachable, NameNotResolved, TlsFailed, ProtocolMismatch, AuthenticationFailed, TimedOut),
    )
