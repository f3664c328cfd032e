"""The bytes of Fetch, versions 12 to 16: the one answer whose largest part must not be copied.

kio copies the records of every partition, which costs more than everything else that a Fetch takes;
here they stay where they were received. Source: FetchRequest.json and FetchResponse.json of Kafka 4.3
(KIP-227, KIP-320, KIP-392, KIP-516, KIP-951). The tests compare with kio field by field.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from itertools import groupby
from typing import NamedTuple
from uuid import UUID

TOPIC_IDS_SINCE = 13
_REPLICA_STATE_SINCE = 15

_ANSWER_HEAD = struct.Struct(">ihi")
_PARTITION_HEAD = struct.Struct(">ihqqq")
_ABORTED = struct.Struct(">qq")
_INT32 = struct.Struct(">i")
_EPOCH_END = struct.Struct(">iq")
_LEADER = struct.Struct(">ii")
_REQUEST_HEAD = struct.Struct(">iiibii")
_REQUEST_PARTITION = struct.Struct(">iiqiqiB")
_CONSUMER = _INT32.pack(-1)
_UUID_BYTES = 16
_NO_SESSION = (0, -1)
_EMPTY = memoryview(b"")
_DIVERGING_EPOCH, _CURRENT_LEADER = 0, 1
_SEVEN_BITS, _MORE_FOLLOWS, _LONGEST_VARINT = 0x7F, 0x80, 5


class Asked(NamedTuple):
    """A partition in a request; `topic` is its id since version 13, its name before."""

    topic: UUID | str
    partition: int
    current_leader_epoch: int
    offset: int
    last_fetched_epoch: int
    max_bytes: int


class FetchLimits(NamedTuple):
    """When a broker answers, and with how much.

    It answers when it has `min_bytes`, or after `max_wait_ms`. One batch is returned even when it is larger
    than `max_bytes`. With `read_committed`, nothing above the last stable offset.
    """

    max_wait_ms: int
    min_bytes: int
    max_bytes: int
    read_committed: bool


class Answered(NamedTuple):
    """A partition in an answer, as it stands there: -1 for what is not known."""

    topic: UUID | str
    partition: int
    error: int
    high_watermark: int
    last_stable_offset: int
    log_start_offset: int
    aborted: tuple[tuple[int, int], ...]
    preferred_read_replica: int
    records: memoryview
    diverging_epoch: tuple[int, int] | None
    current_leader: tuple[int, int] | None


class FetchResponse(NamedTuple):
    """An answer; `error` concerns the whole request."""

    throttle_ms: int
    error: int
    partitions: list[Answered]


def encode_fetch(version: int, asked: Sequence[Asked], limits: FetchLimits, rack: str) -> bytes:
    """Return the body of a request without a fetch session; partitions of a topic stand together."""
    head = _REQUEST_HEAD.pack(*limits, *_NO_SESSION)
    topics = [(topic, list(group)) for topic, group in groupby(asked, key=lambda one: one.topic)]
    parts = [b"" if version >= _REPLICA_STATE_SINCE else _CONSUMER, head, _count(len(topics))]
    for topic, partitions in topics:
        parts += (_topic(topic), _count(len(partitions)), *map(_partition, partitions), b"\0")
    parts += (_count(0), _string(rack), b"\0")
    return b"".join(parts)


def decode_fetch(frame: memoryview, version: int, at: int) -> tuple[FetchResponse, int]:
    """Read an answer with its header; returns it and where it ended.

    The records are views of `frame`. Raises ValueError, IndexError or `struct.error` for bytes that are
    no such answer.
    """
    _, at = _read_tags(frame, at + _INT32.size)  # the header: correlation id and tagged fields
    throttle_ms, error, _session = _ANSWER_HEAD.unpack_from(frame, at)
    read_topic = _read_topic_id if version >= TOPIC_IDS_SINCE else _read_topic_name
    topics, at = _read_count(frame, at + _ANSWER_HEAD.size)
    partitions: list[Answered] = []
    for _ in range(topics):
        at = _read_partitions(frame, at, read_topic, partitions)
    _, at = _read_tags(frame, at)
    return FetchResponse(throttle_ms, error, partitions), at


def _read_partitions(
    frame: memoryview,
    at: int,
    read_topic: Callable[[memoryview, int], tuple[UUID | str, int]],
    found: list[Answered],
) -> int:
    topic, at = read_topic(frame, at)
    count, at = _read_count(frame, at)
    for _ in range(count):
        partition, at = _read_partition(frame, at, topic)
        found.append(partition)
    _, at = _read_tags(frame, at)
    return at


def _read_partition(frame: memoryview, at: int, topic: UUID | str) -> tuple[Answered, int]:
    head = _PARTITION_HEAD.unpack_from(frame, at)
    aborted, at = _read_aborted(frame, at + _PARTITION_HEAD.size)
    preferred: int = _INT32.unpack_from(frame, at)[0]
    records, at = _read_bytes(frame, at + _INT32.size)
    tags, at = _read_tags(frame, at)
    diverging = leader = None
    if tags:
        diverging = _two_of(tags, _DIVERGING_EPOCH, _EPOCH_END)
        leader = _two_of(tags, _CURRENT_LEADER, _LEADER)
    partition, error, high, stable, start = head
    return Answered(
        topic,
        partition,
        error,
        high,
        stable,
        start,
        aborted,
        preferred,
        records,
        diverging,
        leader,
    ), at


def _read_aborted(frame: memoryview, at: int) -> tuple[tuple[tuple[int, int], ...], int]:
    count, at = _read_count(frame, at)
    found = []
    for _ in range(count):
        found.append(_ABORTED.unpack_from(frame, at))
        _, at = _read_tags(frame, at + _ABORTED.size)
    return tuple(found), at


def _read_topic_id(frame: memoryview, at: int) -> tuple[UUID, int]:
    return UUID(bytes=bytes(frame[at : at + _UUID_BYTES])), at + _UUID_BYTES


def _read_topic_name(frame: memoryview, at: int) -> tuple[str, int]:
    text, at = _read_bytes(frame, at)
    return str(text, "utf-8"), at


def _read_bytes(frame: memoryview, at: int) -> tuple[memoryview, int]:
    """Read COMPACT_BYTES: length + 1 first, 0 for null, which counts as empty here."""
    length, at = _read_varint(frame, at)
    if length <= 1:
        return _EMPTY, at
    end = at + length - 1
    if end > len(frame):
        raise ValueError(f"{end - at} bytes are announced at byte {at}, {len(frame) - at} are left")
    return frame[at:end], end


def _read_count(frame: memoryview, at: int) -> tuple[int, int]:
    """Read the length of a COMPACT_ARRAY; null counts as empty."""
    length, at = _read_varint(frame, at)
    return max(0, length - 1), at


def _read_tags(frame: memoryview, at: int) -> tuple[Mapping[int, memoryview], int]:
    """Read tagged fields (KIP-482): tag, size, content."""
    count = frame[at]
    if not count:
        return _NO_TAGS, at + 1
    count, at = _read_varint(frame, at)
    found = {}
    for _ in range(count):
        tag, at = _read_varint(frame, at)
        size, at = _read_varint(frame, at)
        found[tag] = frame[at : at + size]
        at += size
    return found, at


_NO_TAGS: Mapping[int, memoryview] = {}


def _two_of(
    tags: Mapping[int, memoryview], tag: int, form: struct.Struct
) -> tuple[int, int] | None:
    content = tags.get(tag)
    if content is None:
        return None
    first, second = form.unpack_from(content)
    return (first, second) if first >= 0 else None


def _read_varint(frame: memoryview, at: int) -> tuple[int, int]:
    """Read an UNSIGNED_VARINT: seven bits a byte, the lowest first."""
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


def _partition(one: Asked) -> bytes:
    return _REQUEST_PARTITION.pack(
        one.partition,
        one.current_leader_epoch,
        one.offset,
        one.last_fetched_epoch,
        -1,  # log_start_offset: for followers
        one.max_bytes,
        0,  # no tagged fields
    )


def _topic(topic: UUID | str) -> bytes:
    return topic.bytes if isinstance(topic, UUID) else _string(topic)


def _string(text: str) -> bytes:
    content = text.encode()
    return _count(len(content)) + content


def _count(number: int) -> bytes:
    """Return a compact length: the number + 1 as an UNSIGNED_VARINT."""
    return varint(number + 1)


def varint(value: int) -> bytes:
    """Return an UNSIGNED_VARINT."""
    parts = bytearray()
    while value > _SEVEN_BITS:
        parts.append(value & _SEVEN_BITS | _MORE_FOLLOWS)
        value >>= 7
    parts.append(value)
    return bytes(parts)
