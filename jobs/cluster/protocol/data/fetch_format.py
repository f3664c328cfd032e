"""The bytes of Fetch, versions 12 to 16: the one answer whose largest part must not be copied.

kio copies the records of every partition, a tenth of the CPU of a whole copy; here they stay where
they were received. Source: FetchRequest.json and FetchResponse.json of Kafka 4.3
(KIP-227, KIP-320, KIP-392, KIP-516, KIP-951). The tests compare with kio field by field.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from itertools import groupby
from typing import NamedTuple
from uuid import UUID

from jobs.cluster.protocol.transport.primitives import (
    NO_TAGS,
    count,
    read_bytes,
    read_count,
    read_tags,
    string,
    varint,
)

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
_DIVERGING_EPOCH, _CURRENT_LEADER = 0, 1
_CLUSTER_ID = 0


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
    """A partition in an answer, unchanged: -1 for what is not known."""

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
    """An answer; `error` concerns the whole request. `session_id` 0: the broker keeps no session."""

    throttle_ms: int
    error: int
    partitions: list[Answered]
    session_id: int


def encode_fetch(
    version: int,
    asked: Sequence[Asked],
    limits: FetchLimits,
    rack: str,
    cluster_id: str | None = None,
    session: tuple[int, int] = _NO_SESSION,
) -> bytes:
    """Return the body of a request; partitions of a topic stand together.

    `session` is the id and epoch of a fetch session.
    A `cluster_id` is compared by controllers alone: another one is refused.
    """
    head = _REQUEST_HEAD.pack(*limits, *session)
    topics = [(topic, list(group)) for topic, group in groupby(asked, key=lambda one: one.topic)]
    parts = [b"" if version >= _REPLICA_STATE_SINCE else _CONSUMER, head, count(len(topics))]
    for topic, partitions in topics:
        parts += (_topic(topic), count(len(partitions)), *map(_partition, partitions), NO_TAGS)
    parts += (count(0), string(rack), NO_TAGS if cluster_id is None else _cluster(cluster_id))
    return b"".join(parts)


def decode_fetch(frame: memoryview, version: int, at: int) -> tuple[FetchResponse, int]:
    """Read an answer with its header; returns it and where it ended.

    The records are views of `frame`. Raises ValueError, IndexError or `struct.error` for bytes that are
    no such answer.
    """
    _, at = read_tags(frame, at + _INT32.size)  # the header: correlation id and tagged fields
    throttle_ms, error, session_id = _ANSWER_HEAD.unpack_from(frame, at)
    read_topic = _read_topic_id if version >= TOPIC_IDS_SINCE else _read_topic_name
    topics, at = read_count(frame, at + _ANSWER_HEAD.size)
    partitions: list[Answered] = []
    for _ in range(topics):
        at = _read_partitions(frame, at, read_topic, partitions)
    _, at = read_tags(frame, at)
    return FetchResponse(throttle_ms, error, partitions, session_id), at


def _read_partitions(
    frame: memoryview,
    at: int,
    read_topic: Callable[[memoryview, int], tuple[UUID | str, int]],
    found: list[Answered],
) -> int:
    topic, at = read_topic(frame, at)
    count, at = read_count(frame, at)
    for _ in range(count):
        partition, at = _read_partition(frame, at, topic)
        found.append(partition)
    _, at = read_tags(frame, at)
    return at


def _read_partition(frame: memoryview, at: int, topic: UUID | str) -> tuple[Answered, int]:
    head = _PARTITION_HEAD.unpack_from(frame, at)
    aborted, at = _read_aborted(frame, at + _PARTITION_HEAD.size)
    preferred: int = _INT32.unpack_from(frame, at)[0]
    records, at = read_bytes(frame, at + _INT32.size)
    tags, at = read_tags(frame, at)
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
    count, at = read_count(frame, at)
    found = []
    for _ in range(count):
        found.append(_ABORTED.unpack_from(frame, at))
        _, at = read_tags(frame, at + _ABORTED.size)
    return tuple(found), at


def _read_topic_id(frame: memoryview, at: int) -> tuple[UUID, int]:
    return UUID(bytes=bytes(frame[at : at + _UUID_BYTES])), at + _UUID_BYTES


def _read_topic_name(frame: memoryview, at: int) -> tuple[str, int]:
    text, at = read_bytes(frame, at)
    return str(text, "utf-8"), at


def _two_of(
    tags: Mapping[int, memoryview], tag: int, form: struct.Struct
) -> tuple[int, int] | None:
    content = tags.get(tag)
    if content is None:
        return None
    first, second = form.unpack_from(content)
    return (first, second) if first >= 0 else None


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


def _cluster(cluster_id: str) -> bytes:
    content = string(cluster_id)
    return count(0) + varint(_CLUSTER_ID) + varint(len(content)) + content


def _topic(topic: UUID | str) -> bytes:
    return topic.bytes if isinstance(topic, UUID) else string(topic)
