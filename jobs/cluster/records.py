"""What the record path needs from the client library: its own types, and predicates over its errors.

The types are the library's, not wrappers: there is no call of ours per record.
"""

from __future__ import annotations

import re

from confluent_kafka import (
    OFFSET_BEGINNING,
    OFFSET_END,
    TIMESTAMP_CREATE_TIME,
    TIMESTAMP_NOT_AVAILABLE,
    Consumer,
    KafkaError,
    KafkaException,
    Message,
    Producer,
)
from confluent_kafka import TopicPartition as ClientPartition
from confluent_kafka._types import HeadersType as Headers

from jobs.cluster.descriptions import TopicPartition
from jobs.cluster.librdkafka_errors import TRANSPORT, error_in, sentence_of

__all__ = [
    "OFFSET_BEGINNING",
    "OFFSET_END",
    "TIMESTAMP_CREATE_TIME",
    "TIMESTAMP_NOT_AVAILABLE",
    "ClientPartition",
    "Consumer",
    "Headers",
    "KafkaError",
    "KafkaException",
    "Message",
    "Producer",
    "error_in",
    "is_aftermath",
    "is_denied",
    "is_fatal",
    "is_offset_out_of_range",
    "is_partition_eof",
    "is_queue_full",
    "is_record_refused",
    "is_record_too_large",
    "is_retriable",
    "is_transport",
    "is_unknown_topic",
    "refusal_in",
    "sentence_of",
]

PARTITION_EOF: int = -191
_TOO_LARGE = frozenset({"MSG_SIZE_TOO_LARGE", "RECORD_LIST_TOO_LARGE"})
# The record itself is the problem: it is refused again, whenever it is sent.
_RECORD = _TOO_LARGE | {
    "INVALID_MSG",
    "INVALID_MSG_SIZE",
    "INVALID_RECORD",
    "INVALID_TIMESTAMP",
    "POLICY_VIOLATION",
    "UNSUPPORTED_FOR_MESSAGE_FORMAT",
}
# What a producer says about the other records after it gave up because of one.
_AFTERMATH = frozenset(
    {"_PURGE_QUEUE", "_PURGE_INFLIGHT", "_FATAL", "_GAPLESS_GUARANTEE", "_DESTROY", "_STATE"}
)
_UNKNOWN = frozenset(
    {"UNKNOWN_TOPIC_OR_PART", "UNKNOWN_TOPIC_ID", "_UNKNOWN_TOPIC", "_UNKNOWN_PARTITION"}
)
_OUT_OF_RANGE = frozenset({"OFFSET_OUT_OF_RANGE", "_AUTO_OFFSET_RESET"})
_REFUSED_BATCH = re.compile(
    r"ProduceRequest for (?P<topic>\S+) \[(?P<partition>\d+)\] with \d+ message\(s\) failed: "
    r"(?P<words>.+?) \(broker "
)
_BROKER_CODES = {
    KafkaError(code).str(): code
    for name in dir(KafkaError)
    if name.isupper() and isinstance(code := getattr(KafkaError, name), int) and code > 0
}


def is_partition_eof(error: KafkaError | None) -> bool:
    """Return whether the reader is at the end of a partition (`enable.partition.eof`)."""
    return error is not None and error.code() == PARTITION_EOF


def is_record_too_large(error: KafkaError) -> bool:
    """Return whether the target refuses a record or batch for its size."""
    return error.name() in _TOO_LARGE


def is_record_refused(error: KafkaError) -> bool:
    """Return whether the target refuses a record for what it is, so that it will do so again."""
    return error.name() in _RECORD


def is_denied(error: KafkaError) -> bool:
    """Return whether an authorizer refuses it."""
    return error.name().endswith("AUTHORIZATION_FAILED")


def is_aftermath(error: KafkaError) -> bool:
    """Return whether a record was not sent because the producer had given up before."""
    return error.name() in _AFTERMATH


def is_retriable(error: KafkaError) -> bool:
    """Return whether the client library tries again by itself."""
    return bool(error.retriable())


def is_unknown_topic(error: KafkaError) -> bool:
    """Return whether the topic or partition does not exist (any more)."""
    return error.name() in _UNKNOWN


def is_offset_out_of_range(error: KafkaError) -> bool:
    """Return whether the position is no longer, or not yet, in the log."""
    return error.name() in _OUT_OF_RANGE


def is_transport(error: KafkaError) -> bool:
    """Return whether the connection, and not the request, is the problem."""
    return error.name() in TRANSPORT


def refusal_in(raised: BaseException) -> tuple[TopicPartition, KafkaError] | None:
    """Return which partition refused a batch, and why, from what a producer without gaps raised.

    The client library raises the fatal error in the middle of its callbacks: the first delivery
    report after it comes back as a SystemError, with the fatal error as its cause, and is lost.
    """
    fatal = raised.__cause__ if isinstance(raised, SystemError) else raised
    if not isinstance(fatal, KafkaException):
        return None
    found = _REFUSED_BATCH.search(error_in(fatal).str())
    code = _BROKER_CODES.get(found["words"]) if found else None
    if found is None or code is None:
        return None
    return TopicPartition(found["topic"], int(found["partition"])), KafkaError(code)


def is_queue_full(error: KafkaError) -> bool:
    """Return whether the producer's queue has no room now."""
    return error.name() == "_QUEUE_FULL"


def is_fatal(error: KafkaError) -> bool:
    """Return whether the client can never work again and must be created again."""
    return bool(error.fatal())
