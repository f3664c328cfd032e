"""kio's narrow types without their price: casts here, because kio checks every value when it is made.

What does not fit is refused all the same, by `struct` when the message is written.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import timedelta
from itertools import groupby
from typing import cast

from kio.schema.types import BrokerId, ProducerId, TopicName, TransactionalId
from kio.static.primitive import i8, i16, i32, i32Timedelta, i64

from jobs.cluster.descriptions import TopicPartition

_MS = timedelta(milliseconds=1)


def int8(value: int) -> i8:
    return cast("i8", value)


def int16(value: int) -> i16:
    return cast("i16", value)


def int32(value: int) -> i32:
    return cast("i32", value)


def int64(value: int) -> i64:
    return cast("i64", value)


def broker_number(value: int) -> BrokerId:
    """Return a broker id."""
    return cast("BrokerId", value)


def producer_number(value: int) -> ProducerId:
    """Return a producer id."""
    return cast("ProducerId", value)


def topic_name(value: str) -> TopicName:
    return cast("TopicName", value)


def transactional_name(value: str) -> TransactionalId:
    """Return a transactional id."""
    return cast("TransactionalId", value)


def duration(milliseconds: int) -> i32Timedelta:
    """Return a duration for a field in milliseconds."""
    return cast("i32Timedelta", timedelta(milliseconds=milliseconds))


def milliseconds(value: timedelta) -> int:
    """Return a duration of kio in milliseconds."""
    return value // _MS


def by_topic(
    partitions: Iterable[TopicPartition],
) -> Iterator[tuple[TopicName, list[TopicPartition]]]:
    """Return each topic once, with its partitions in order."""
    for topic, group in groupby(sorted(partitions), key=lambda where: where.topic):
        yield topic_name(topic), list(group)
