"""Translate what librdkafka says of consumers and producers into named faults."""

from __future__ import annotations

from collections.abc import Callable

from confluent_kafka import KafkaError, KafkaException

from jobs.cluster.errors import ClusterFault, Refused, Remedy, TimedOut, UnknownTopicOrPartition
from jobs.cluster.protocol.errors import Where, answer_fault
from jobs.cluster.untrusted_text import shortened

UNKNOWN_ERROR = -1
# The connection, not the request, is the problem.
TRANSPORT = frozenset(
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
_UNKNOWN = frozenset({"_UNKNOWN_TOPIC", "_UNKNOWN_PARTITION"})


def fault_of(
    error: KafkaError, *, cluster: str, doing: str, why: Callable[[], ClusterFault | None]
) -> ClusterFault:
    """Return the fault that an error means; `why` says what is wrong with the way to the cluster."""
    name, sentence = error.name(), f"{doing}: {sentence_of(error)}."
    if name in TRANSPORT:
        return why() or TimedOut(f"{doing}: no answer ({sentence_of(error)}).", cluster=cluster)
    if name in _UNKNOWN:
        return UnknownTopicOrPartition(sentence, cluster=cluster)
    if error.code() > 0:
        # Kafka's own numbers.
        return answer_fault(error.code(), Where(cluster, None, doing)) or Refused(
            sentence, cluster=cluster
        )
    fault = Refused(sentence, cluster=cluster)
    if error.retriable():
        fault.remedy = Remedy.RETRY
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
