"""What Kafka Streams puts into the group protocol and into its commits: user data of members, stream time.

Source: SubscriptionInfoData.json and AssignmentInfo of org.apache.kafka.streams, versions 1 to 11,
TopicPartitionMetadata and ProcessorMetadata, versions 1 and 2. Any client that may join a group writes these
bytes, so every count is bounded by the bytes left, and bytes behind the last field are an error.
"""

from __future__ import annotations

import base64
import binascii
import uuid
from collections.abc import Mapping, MutableMapping
from dataclasses import dataclass, field
from typing import NamedTuple

from jobs.wire.errors import RecordFormatError
from jobs.wire.fields import FieldReader

LATEST_VERSION = 11
# Offset sums that are no sum.
RUNNING, UNKNOWN_SUM = -2, -3
NO_REBALANCE_MS = 2**63 - 1

_SUBSCRIPTION, _ASSIGNMENT = "subscription user data", "assignment user data"
_COMMIT = "commit metadata"
_STREAM_TIME_ONLY, _WITH_STORES = 1, 2
_STREAM_TIME_BYTES = 9
# Since which version of the user data there is what.
_ENDPOINT = 2
_TWO_VERSIONS = 3
_ERROR_IN_ASSIGNMENT = 4
_TOPIC_DICTIONARY = 5
_STANDBY_MAP = 6
_OFFSET_SUMS = _NEXT_REBALANCE = 7
_UNIQUE_FIELD = 8
_ERROR_IN_SUBSCRIPTION = 9
_NAMED_TOPOLOGIES = 10
_CLIENT_TAGS = 11
# The first byte of four in UTF-8, which Java never writes.
_FOUR_BYTES = 0xF0


class Task(NamedTuple):
    """A task as members write it; `named_topology` is None but for applications of several topologies."""

    subtopology: int
    partition: int
    named_topology: str | None = None


class TopicPartitionName(NamedTuple):
    """A partition of a topic."""

    topic: str
    partition: int


class TaskOffsetSum(NamedTuple):
    """How far a member is with a task: the sum of its changelog offsets, `RUNNING` or `UNKNOWN_SUM`."""

    subtopology: int
    partition: int
    named_topology: str | None
    offset_sum: int


class StandbyTask(NamedTuple):
    """A standby or warm-up task, and the *source* partitions of it (not those of its changelogs)."""

    task: Task
    partitions: tuple[TopicPartitionName, ...]


class HostPartitions(NamedTuple):
    """What is routed to one `application.server`."""

    host: str
    port: int
    partitions: tuple[TopicPartitionName, ...]


class HostMaps(NamedTuple):
    """The routing that every member of a group carries: who is to have which partition."""

    active_by_host: tuple[HostPartitions, ...]
    standby_by_host: tuple[HostPartitions, ...]


@dataclass(frozen=True, slots=True)
class SubscriptionInfo:
    """What one thread said of itself when it joined last.

    Of a version above `LATEST_VERSION` only the two version numbers are known. Absent in older versions:
    `latest_supported_version` (1, 2), `unique_field` (1 to 7), `error_code` (1 to 8), `client_tags` (1 to 10)
    are None; `prev_tasks` and `standby_tasks` end with 6, where `task_offset_sums` begin.
    """

    version: int
    latest_supported_version: int | None = None
    process_id: str | None = None
    user_endpoint: str | None = None
    prev_tasks: tuple[Task, ...] = ()
    standby_tasks: tuple[Task, ...] = ()
    task_offset_sums: tuple[TaskOffsetSum, ...] = ()
    unique_field: int | None = None
    error_code: int | None = None
    client_tags: Mapping[str, str] | None = None

    @property
    def is_future(self) -> bool:
        """Whether its version is newer than the ones known here."""
        return self.version > LATEST_VERSION


@dataclass(frozen=True, slots=True)
class AssignmentInfo:
    """Tasks assigned to one thread, and the routing that all threads get.

    `active` has one entry per assigned partition, in the order (topic, partition): tasks repeat.
    `error_code` is 0 before version 4. `next_rebalance_ms` is 0 for "at once", `NO_REBALANCE_MS` for none,
    else a time; None before version 7.
    """

    version: int
    commonly_supported_version: int | None
    active: tuple[Task, ...]
    standby: tuple[StandbyTask, ...]
    active_by_host: tuple[HostPartitions, ...]
    standby_by_host: tuple[HostPartitions, ...]
    error_code: int = 0
    next_rebalance_ms: int | None = None


@dataclass(frozen=True, slots=True)
class CommitMetadata:
    """What Streams commits beside an offset.

    `stream_time_ms` is the largest record timestamp that the task has seen on this partition; None: none
    yet, or no Streams application committed. `emitted_window_close_ms` is by store, for windows that are
    emitted when they close.
    """

    stream_time_ms: int | None = None
    emitted_window_close_ms: Mapping[str, int] = field(default_factory=dict)


def decode_subscription_info(content: bytes) -> SubscriptionInfo:
    """Read the user data of a member's subscription; raises `RecordFormatError`."""
    fields = FieldReader(_SUBSCRIPTION, content)
    version = fields.int32()
    if version < 1:
        raise fields.error(f"there is no version {version}")
    latest = fields.int32() if version >= _TWO_VERSIONS else None
    if version > LATEST_VERSION:
        return SubscriptionInfo(version, latest)
    process_id = str(uuid.UUID(bytes=fields.take(16)))
    prev_tasks: tuple[Task, ...] = ()
    standby_tasks: tuple[Task, ...] = ()
    if version < _OFFSET_SUMS:
        prev_tasks, standby_tasks = _plain_tasks(fields), _plain_tasks(fields)
    endpoint = fields.text(fields.int32()) if version >= _ENDPOINT else ""
    found = SubscriptionInfo(
        version,
        latest,
        process_id,
        endpoint or None,
        prev_tasks,
        standby_tasks,
        _offset_sums(fields, version),
        fields.int8() if version >= _UNIQUE_FIELD else None,
        fields.int32() if version >= _ERROR_IN_SUBSCRIPTION else None,
        _client_tags(fields) if version >= _CLIENT_TAGS else None,
    )
    fields.end()
    return found


def decode_assignment_info(
    content: bytes, known_maps: MutableMapping[tuple[int, bytes], HostMaps] | None = None
) -> AssignmentInfo:
    """Read the user data of a member's assignment; raises `RecordFormatError`.

    Every member of a group carries the same routing, which is most of the bytes. With `known_maps`, which is
    kept between the members, equal bytes are read once.
    """
    fields = FieldReader(_ASSIGNMENT, content)
    version = fields.int32()
    if not 1 <= version <= LATEST_VERSION:
        raise fields.error(f"the version {version} is unknown: 1 to {LATEST_VERSION} are known")
    common = fields.int32() if version >= _TWO_VERSIONS else None
    with_names = version >= _NAMED_TOPOLOGIES
    active = (
        tuple(_task(fields) for _ in range(fields.count(8))) if with_names else _plain_tasks(fields)
    )
    standby = tuple(_standby(fields, with_names=with_names) for _ in range(fields.count(12)))
    tail = (4 if version >= _ERROR_IN_ASSIGNMENT else 0) + (8 if version >= _NEXT_REBALANCE else 0)
    if fields.left < tail:
        raise fields.error(f"{tail} bytes are needed at the end, {fields.left} are left")
    maps = _host_maps(version, fields.take(fields.left - tail), known_maps)
    return AssignmentInfo(
        version,
        common,
        active,
        standby,
        *maps,
        fields.int32() if version >= _ERROR_IN_ASSIGNMENT else 0,
        fields.int64() if version >= _NEXT_REBALANCE else None,
    )


def decode_commit_metadata(metadata: str | bytes) -> CommitMetadata:
    """Read what was committed beside an offset: its text (base64), or the bytes of that text.

    Text of other applications, too few bytes and unknown versions have no stream time and are no error;
    raises `RecordFormatError` where the stores of version 2 are damaged.
    """
    content = metadata if isinstance(metadata, bytes) else _from_base64(metadata)
    if len(content) < _STREAM_TIME_BYTES or content[0] not in (_STREAM_TIME_ONLY, _WITH_STORES):
        return CommitMetadata()
    if len(content) == _STREAM_TIME_BYTES:
        # Nearly all are such ones, and there are thousands in a collection.
        at_ms = int.from_bytes(content[1:], signed=True)
        return CommitMetadata(None if at_ms < 0 else at_ms)
    fields = FieldReader(_COMMIT, content)
    version, stream_time_ms = fields.int8(), fields.int64()
    stores: dict[str, int] = {}
    if version == _WITH_STORES and fields.left:
        for _ in range(fields.count(12)):
            name = fields.text(fields.int32())
            stores[name] = fields.int64()
    fields.end()
    return CommitMetadata(None if stream_time_ms < 0 else stream_time_ms, stores)


def _from_base64(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return b""


def _plain_tasks(fields: FieldReader) -> tuple[Task, ...]:
    numbers = fields.integers("i", 2 * fields.count(8))
    return tuple(map(Task, numbers[::2], numbers[1::2]))


def _offset_sums(fields: FieldReader, version: int) -> tuple[TaskOffsetSum, ...]:
    if version < _OFFSET_SUMS:
        return ()
    found: list[TaskOffsetSum] = []
    if version >= _NAMED_TOPOLOGIES:
        for _ in range(fields.count(18)):
            subtopology, partition, total = fields.int32(), fields.int32(), fields.int64()
            found.append(TaskOffsetSum(subtopology, partition, fields.nullable_string(), total))
        return tuple(found)
    for _ in range(fields.count(8)):
        subtopology = fields.int32()
        found += [
            TaskOffsetSum(subtopology, fields.int32(), None, fields.int64())
            for _ in range(fields.count(12))
        ]
    return tuple(found)


def _client_tags(fields: FieldReader) -> dict[str, str]:
    tags = {}
    for _ in range(fields.count(8)):
        name = fields.text(fields.int32())
        tags[name] = fields.text(fields.int32())
    return tags


def _task(fields: FieldReader) -> Task:
    """Read a task of version 10 or later: the length of its name counts UTF-16 units."""
    subtopology, partition, units = fields.int32(), fields.int32(), fields.int32()
    if units < 0:
        raise fields.error(f"a name has the length {units}")
    if not units:
        return Task(subtopology, partition)
    try:
        return Task(subtopology, partition, fields.take(2 * units).decode("utf-16-be"))
    except UnicodeDecodeError as error:
        raise fields.error(f"a name is not UTF-16: {error.reason}") from None


def _standby(fields: FieldReader, *, with_names: bool) -> StandbyTask:
    task = _task(fields) if with_names else Task(fields.int32(), fields.int32())
    return StandbyTask(task, _named_partitions(fields))


def _named_partitions(fields: FieldReader) -> tuple[TopicPartitionName, ...]:
    return tuple(
        TopicPartitionName(_java_text(fields), fields.int32()) for _ in range(fields.count(6))
    )


def _host_maps(
    version: int, content: bytes, known: MutableMapping[tuple[int, bytes], HostMaps] | None
) -> HostMaps:
    place = (version, content)
    found = None if known is None else known.get(place)
    if found is None:
        found = _read_host_maps(version, FieldReader(_ASSIGNMENT, content))
        if known is not None:
            known[place] = found
    return found


def _read_host_maps(version: int, fields: FieldReader) -> HostMaps:
    active: tuple[HostPartitions, ...] = ()
    standby: tuple[HostPartitions, ...] = ()
    if _ENDPOINT <= version < _TOPIC_DICTIONARY:
        active = tuple(
            HostPartitions(_java_text(fields), fields.int32(), _named_partitions(fields))
            for _ in range(fields.count(10))
        )
    if version >= _TOPIC_DICTIONARY:
        topics: dict[int, str] = {}
        for _ in range(fields.count(6)):
            index = fields.int32()
            topics[index] = _java_text(fields)
        active = _hosts_by_index(fields, topics)
        standby = _hosts_by_index(fields, topics) if version >= _STANDBY_MAP else ()
    fields.end()
    return HostMaps(active, standby)


def _hosts_by_index(fields: FieldReader, topics: Mapping[int, str]) -> tuple[HostPartitions, ...]:
    found = []
    for _ in range(fields.count(10)):
        host, port = _java_text(fields), fields.int32()
        numbers = fields.integers("i", 2 * fields.count(8))
        try:
            names = [topics[index] for index in numbers[::2]]
        except KeyError as error:
            raise fields.error(f"no topic has the index {error}") from None
        found.append(
            HostPartitions(host, port, tuple(map(TopicPartitionName, names, numbers[1::2])))
        )
    return tuple(found)


def _java_text(fields: FieldReader) -> str:
    """Read what DataOutputStream.writeUTF wrote: a UINT16 length, then modified UTF-8."""
    content = fields.take(fields.int16() & 0xFFFF)
    if content.isascii():
        return content.decode("ascii")
    # NUL is C0 80 there, and characters above U+FFFF are two surrogates of three bytes each.
    if any(byte >= _FOUR_BYTES for byte in content):
        raise fields.error("a text is not modified UTF-8")
    try:
        units = content.replace(b"\xc0\x80", b"\0").decode("utf-8", "surrogatepass")
        return units.encode("utf-16-be", "surrogatepass").decode("utf-16-be")
    except UnicodeDecodeError as error:
        raise RecordFormatError(_ASSIGNMENT, f"a text is not UTF-8: {error.reason}") from None
