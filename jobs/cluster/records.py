"""What the record path needs from the client library: its own types, and predicates over its errors.

The types are the library's, not wrappers: there is no call of ours per record.
"""

from __future__ import annotations

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

from jobs.cluster.librdkafka_errors import error_in, sentence_of

__all__ = [
    "OFFSET_BEGINNING",
    "OFFSET_END",
    "TIMESTAMP_CREATE_TIME",
    "TIMESTAMP_NOT_AVAILABLE",
    "ClientPartition",
    "Consumer",
    "KafkaError",
    "KafkaException",
    "Message",
    "Producer",
    "error_in",
    "is_fatal",
    "is_offset_out_of_range",
    "is_partition_eof",
    "is_queue_full",
    "is_record_too_large",
    "is_transport",
    "is_unknown_topic",
    "sentence_of",
]

PARTITION_EOF: int = -191
_TOO_LARGE = frozenset({"MSG_SIZE_TOO_LARGE", "RECORD_LIST_TOO_LARGE"})
_UNKNOWN = frozenset(
    {"UNKNOWN_TOPIC_OR_PART", "UNKNOWN_TOPIC_ID", "_UNKNOWN_TOPIC", "_UNKNOWN_PARTITION"}
)
_OUT_OF_RANGE = frozenset({"OFFSET_OUT_OF_RANGE", "_AUTO_OFFSET_RESET"})
_TRANSPORT = frozenset(
    {"_TRANSPORT", "_ALL_BROKERS_DOWN", "_RESOLVE", "_TIMED_OUT", "_MSG_TIMED_OUT", "_SSL"}
)


def is_partition_eof(error: KafkaError | None) -> bool:
    """Return whether the reader is at the end of a partition (`enable.partition.eof`)."""
    return error is not None and error.code() == PARTITION_EOF


def is_record_too_large(error: KafkaError) -> bool:
    """Return whether the target refuses a record or batch for its size."""
    return error.name() in _TOO_LARGE


def is_unknown_topic(error: KafkaError) -> bool:
    """Return whether the topic or partition does not exist (any more)."""
    return error.name() in _UNKNOWN


def is_offset_out_of_range(error: KafkaError) -> bool:
    """Return whether the position is no longer, or not yet, in the log."""
    return error.name() in _OUT_OF_RANGE


def is_transport(error: KafkaError) -> bool:
    """Return whether the connection, and not the request, is the problem."""
    return error.name() in _TRANSPORT


def is_queue_full(error: KafkaError) -> bool:
    """Return whether the producer's queue has no room now."""
    return error.name() == "_QUEUE_FULL"


def is_fatal(error: KafkaError) -> bool:
    """Return whether the client can never work again and must be made anew."""
    return bool(error.fatal())
