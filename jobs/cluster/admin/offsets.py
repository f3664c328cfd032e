"""ListOffsets, and the two things that only reading records tells: timestamps and the end of data."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, NamedTuple

from confluent_kafka import TIMESTAMP_NOT_AVAILABLE, Consumer, IsolationLevel, Message
from confluent_kafka import TopicPartition as ClientPartition
from confluent_kafka.admin._listoffsets import OffsetSpec

from jobs.cluster.admin.topics import chunks
from jobs.cluster.client import ClusterClient
from jobs.cluster.descriptions import OffsetRange, TopicPartition
from jobs.cluster.errors import ClusterFault
from jobs.cluster.records import is_partition_eof

PARTITIONS_PER_REQUEST = 5000
MARKER_RANGE = 50
NO_LEADER_TRIES, NO_LEADER_PAUSE_S = 4, 0.25
_NO_LEADER = "No leaders found"
LOOK_S = 0.05


class _Question(NamedTuple):
    """What ListOffsets is asked for."""

    name: str
    spec: OffsetSpec
    isolation: IsolationLevel


# The client library leaves these three without types.
_EARLIEST: OffsetSpec = OffsetSpec.earliest()  # type: ignore[no-untyped-call]
_LATEST: OffsetSpec = OffsetSpec.latest()  # type: ignore[no-untyped-call]
_MAX_TIMESTAMP: OffsetSpec = OffsetSpec.max_timestamp()  # type: ignore[no-untyped-call]
_RANGE = (
    _Question("start", _EARLIEST, IsolationLevel.READ_UNCOMMITTED),
    _Question("end", _LATEST, IsolationLevel.READ_COMMITTED),
    _Question("high", _LATEST, IsolationLevel.READ_UNCOMMITTED),
)
_NEWEST = _Question("newest", _MAX_TIMESTAMP, IsolationLevel.READ_COMMITTED)

_READER = {
    "isolation.level": "read_committed",
    "enable.partition.eof": True,
    "auto.offset.reset": "earliest",
    # A few records are wanted, not a stream.
    "queued.max.messages.kbytes": 4096,
    "fetch.message.max.bytes": 65536,
    "fetch.max.bytes": 4194304,
    "fetch.wait.max.ms": 100,
}


def read_offset_ranges(
    client: ClusterClient, partitions: Collection[TopicPartition], *, with_timestamps: bool
) -> dict[TopicPartition, OffsetRange]:
    """Return the offsets of every partition asked for, errors included.

    The offsets of a partition are asked for at the same moment but answered one after the other; a
    log that moves in between is read as `log_start_offset <= end_offset <= high_watermark`.
    A topic that was just made is not known to every broker yet, so partitions without a leader are
    asked for again, for at most a second.
    """
    questions = (*_RANGE, _NEWEST) if with_timestamps else _RANGE
    found = _ranges(client, partitions, questions)
    for _ in range(NO_LEADER_TRIES):
        leaderless = [
            where for where, offsets in found.items() if _NO_LEADER in (offsets.error or "")
        ]
        if not leaderless:
            break
        time.sleep(NO_LEADER_PAUSE_S)
        found |= _ranges(client, leaderless, questions)
    return found


def _ranges(
    client: ClusterClient,
    partitions: Collection[TopicPartition],
    questions: tuple[_Question, ...],
) -> dict[TopicPartition, OffsetRange]:
    answers = _list_offsets(client, partitions, questions)
    return {where: _range({q: answers.get((q, where)) for q in questions}) for where in partitions}


def read_timestamp_at(
    client: ClusterClient, offsets: Mapping[TopicPartition, int]
) -> dict[TopicPartition, int | None]:
    """Return the timestamp (ms) of the first committed record at or after an offset.

    None: there is no such record, or it could not be read within the budget.
    """
    found: dict[TopicPartition, int | None] = dict.fromkeys(offsets)

    def take(where: TopicPartition, message: Message) -> bool:
        if is_partition_eof(message.error()):
            return True
        kind_and_time = message.timestamp()
        found[where] = kind_and_time[1] if kind_and_time[1] >= 0 else None
        return True

    _read_from(client, offsets, take)
    return found


def read_last_timestamp(
    client: ClusterClient, ends: Mapping[TopicPartition, int]
) -> dict[TopicPartition, int | None]:
    """Return the timestamp (ms) of the last committed record before `end` per partition.

    Not the largest one that ListOffsets tells: on a topic with transactions that may be a marker's, which
    is no record. At most the last 50 offsets are read. None: no record is among them, or it has no
    timestamp, or it could not be read within the budget.
    """
    found: dict[TopicPartition, int | None] = dict.fromkeys(ends)

    def take(where: TopicPartition, message: Message) -> bool:
        offset = message.offset() or 0
        if is_partition_eof(message.error()) or offset >= ends[where]:
            return True
        kind, timestamp_ms = message.timestamp()
        found[where] = None if kind == TIMESTAMP_NOT_AVAILABLE else timestamp_ms
        return offset + 1 >= ends[where]

    # One record and its marker first: fifty large records are a lot to read.
    for width in (2, MARKER_RANGE):
        unknown = [where for where, end in ends.items() if end > 0 and found[where] is None]
        _read_from(client, {where: max(ends[where] - width, 0) for where in unknown}, take)
    return found


def read_data_end(
    client: ClusterClient, ranges: Mapping[TopicPartition, tuple[int, int]]
) -> dict[TopicPartition, int]:
    """Return the offset after the last committed record in `(from, end)` per partition.

    Transaction markers (and aborted records) take offsets but are no data: a reader that has
    everything would seem to lag behind them for ever. At most the last 50 offsets are read; a
    partition that could not be read in time keeps its `end`.
    """
    starts = {
        w: max(first, end - MARKER_RANGE) for w, (first, end) in ranges.items() if end > first
    }
    ends = {where: end for where, (_, end) in ranges.items()}
    data_end = dict(starts)

    def take(where: TopicPartition, message: Message) -> bool:
        offset = message.offset() or 0
        if is_partition_eof(message.error()) or offset >= ends[where]:
            return True
        data_end[where] = offset + 1
        return offset + 1 >= ends[where]

    unread = _read_from(client, starts, take)
    return {
        where: end if where in unread else data_end.get(where, end) for where, end in ends.items()
    }


def _list_offsets(
    client: ClusterClient,
    partitions: Collection[TopicPartition],
    questions: tuple[_Question, ...],
) -> dict[tuple[_Question, TopicPartition], Any]:
    pieces = chunks(list(partitions), PARTITIONS_PER_REQUEST)
    return client.ask_all(
        [(question, piece) for piece in pieces for question in questions],
        _send,
        "Reading offsets",
    )


def _send(
    admin: Any, asked: tuple[_Question, Sequence[TopicPartition]], left: float
) -> dict[tuple[_Question, TopicPartition], Any]:
    question, piece = asked
    futures = admin.list_offsets(
        {ClientPartition(w.topic, w.partition): question.spec for w in piece},
        isolation_level=question.isolation,
        request_timeout=left,
    )
    return {(question, TopicPartition(w.topic, w.partition)): f for w, f in futures.items()}


def _range(answers: Mapping[_Question, Any]) -> OffsetRange:
    for question in _RANGE:
        problem = _problem(answers[question])
        if problem:
            return OffsetRange(error=problem)
    start, end, high = (answers[question].offset for question in _RANGE)
    return OffsetRange(
        log_start_offset=start,
        end_offset=max(end, start),
        high_watermark=max(high, end, start),
        max_timestamp_ms=_timestamp(answers.get(_NEWEST)),
    )


def _timestamp(answer: Any) -> int | None:
    if answer is None or isinstance(answer, ClusterFault) or answer.offset < 0:
        return None
    return int(answer.timestamp)


def _problem(answer: Any) -> str | None:
    if answer is None:
        return "Reading offsets: no time was left."
    if isinstance(answer, ClusterFault):
        return answer.message
    # The client library says nothing else about partitions whose leader did not answer in time.
    return "Reading offsets: the leader did not answer in time." if answer.offset < 0 else None


def _read_from(
    client: ClusterClient,
    offsets: Mapping[TopicPartition, int],
    take: Callable[[TopicPartition, Message], bool],
) -> set[TopicPartition]:
    """Read partitions from given offsets until `take` says enough; return those it never did for."""
    waiting = set(offsets)
    if not waiting:
        return waiting
    consumer = client.consumer(_READER)
    try:
        consumer.assign([ClientPartition(w.topic, w.partition, o) for w, o in offsets.items()])
        end = time.monotonic() + client.timeout_s
        while waiting and time.monotonic() < end:
            _take_batch(consumer, waiting, take)
    finally:
        consumer.close()
    return waiting


def _take_batch(
    consumer: Consumer,
    waiting: set[TopicPartition],
    take: Callable[[TopicPartition, Message], bool],
) -> None:
    done = []
    for message in consumer.consume(500, timeout=LOOK_S):
        where = TopicPartition(message.topic() or "", message.partition() or 0)
        error = message.error()
        if where not in waiting or (error is not None and not is_partition_eof(error)):
            continue
        if take(where, message):
            waiting.discard(where)
            done.append(ClientPartition(*where))
    if done:
        consumer.pause(done)
