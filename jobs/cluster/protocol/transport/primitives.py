"""Kafka's primitive fields: kio's narrow types without their price, and the compact fields of KIP-482. Pure.

Narrow types are casts here, because kio checks every value when it is made; what does not fit is refused
all the same, by `struct` when the message is written. Compact fields have lengths as UNSIGNED_VARINT + 1,
and tags; what is read of them is bounds-checked: bytes that end too early raise ValueError, IndexError or
`struct.error`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
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
    """Return each topic once, with its partitions in the order of Kafka's requests."""
    for topic, group in groupby(sorted(partitions), key=lambda where: where.topic):
        yield topic_name(topic), list(group)


_SEVEN_BITS, _MORE_FOLLOWS, _LONGEST_VARINT = 0x7F, 0x80, 5
_EMPTY = memoryview(b"")
_NO_TAGS: Mapping[int, memoryview] = {}
NO_TAGS = b"\0"


def varint(value: int) -> bytes:
    """Return an UNSIGNED_VARINT: seven bits a byte, the lowest first."""
    parts = bytearray()
    while value > _SEVEN_BITS:
        parts.append(value & _SEVEN_BITS | _MORE_FOLLOWS)
        value >>= 7
    parts.append(value)
    return bytes(parts)


def count(number: int) -> bytes:
    """Return the length of a COMPACT_ARRAY or COMPACT_RECORDS that is not null."""
    return varint(number + 1)


def string(text: str) -> bytes:
    """Return a COMPACT_STRING."""
    content = text.encode()
    return varint(len(content) + 1) + content


def read_varint(frame: memoryview, at: int) -> tuple[int, int]:
    """Read an UNSIGNED_VARINT; returns it and where it ended, as all of these do."""
    byte = frame[at]
    if byte < _MORE_FOLLOWS:
        return byte, at + 1
    value = byte & _SEVEN_BITS
    for position in range(1, _LONGEST_VARINT):
        byte = frame[at + position]
        value |= (byte & _SEVEN_BITS) << (7 * position)
        if byte < _MORE_FOLLOWS:
            return value, at + position + 1
    raise ValueError(f"a length of more than {_LONGEST_VARINT} bytes at byte {at}")


def read_count(frame: memoryview, at: int) -> tuple[int, int]:
    """Read the length of a COMPACT_ARRAY; null counts as empty."""
    length, at = read_varint(frame, at)
    return max(0, length - 1), at


def read_bytes(frame: memoryview, at: int) -> tuple[memoryview, int]:
    """Read COMPACT_BYTES, COMPACT_STRING or COMPACT_RECORDS as a view; null counts as empty."""
    length, at = read_varint(frame, at)
    if length <= 1:
        return _EMPTY, at
    end = at + length - 1
    if end > len(frame):
        raise ValueError(f"{end - at} bytes are announced at byte {at}, {len(frame) - at} are left")
    return frame[at:end], end


def read_tags(frame: memoryview, at: int) -> tuple[Mapping[int, memoryview], int]:
    """Read tagged fields: the content by tag."""
    number = frame[at]
    if not number:
        return _NO_TAGS, at + 1
    number, at = read_varint(frame, at)
    found = {}
    for _ in range(number):
        tag, at = read_varint(frame, at)
        size, at = read_varint(frame, at)
        found[tag] = frame[at : at + size]
        at += size
    return found, at
