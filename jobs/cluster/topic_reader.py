"""Reading a topic to its end, once or again and again: for topics that are tables.

The last record of a key counts there. Records are fetched and decoded a few megabytes at a time, with the
connections that the process keeps: memory does not grow with the length of the topic.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from jobs.cluster.client import ClusterClient
from jobs.cluster.descriptions import TopicPartition
from jobs.cluster.errors import ClusterFault, TimedOut, UnknownTopicOrPartition, Unreachable
from jobs.cluster.protocol.cluster import RawCluster
from jobs.cluster.protocol.data.committed_batches import CommittedBatch, read_committed_batches
from jobs.cluster.protocol.data.offsets import LATEST, ListedOffset, list_offsets
from jobs.wire.errors import BatchError, RecordFormatError

# What is fetched before it is decoded, and of one partition in one answer.
PIECE_BYTES = 16 << 20
_PARTITION_BYTES = 1 << 20
# Of a question's budget: what a piece may take, so that it ends before the question does.
_SHARE = 0.8
# Of a partition of which the newest records are wanted: a record with the mark of its transaction, twice.
_LEAST_OFFSETS = 4


class TopicRecord(NamedTuple):
    """A committed record of a topic; `timestamp_ms` None: it has none. Names of headers are text."""

    partition: int
    offset: int
    timestamp_ms: int | None
    key: bytes | None
    value: bytes | None
    headers: list[tuple[str, bytes | None]]


Take = Callable[[TopicRecord], object]


def read_whole_topic(
    client: ClusterClient,
    topic: str,
    take: Take,
    *,
    only_partition: int | None = None,
) -> dict[int, int] | None:
    """Give every committed record of a topic to `take`; returns where reading ended, by partition.

    None: the topic does not exist. Raises `ClusterFault`, also when an end was not reached while no record
    came for the client's timeout: there are no half answers. While any transaction is open, also another
    program's, a reader sees nothing behind its first record; stopping there would be stopping too early.
    """
    found = _look(client, topic, is_complete=True)
    if found is None:
        return None
    ends = found.ends_of(only_partition)
    return _read(client, topic, dict.fromkeys(ends, 0), ends, take)


def read_topic_from(
    client: ClusterClient,
    topic: str,
    starts: Mapping[int, int],
    take: Take,
) -> dict[int, int] | None:
    """Give the records of some partitions from an offset of each to `take`; returns where reading ended.

    None: the topic does not exist. What an open transaction holds back is left for the next time. Raises
    `ClusterFault`.
    """
    found = _look(client, topic, is_complete=False)
    if found is None:
        return None
    there = {number: starts[number] for number in found.ends if number in starts}
    return _read(client, topic, there, found.ends, take)


class Newest(NamedTuple):
    """Records of a topic, newest first; `is_cut`: a limit was reached before all partitions were read."""

    records: list[TopicRecord]
    is_cut: bool


class _EnoughError(Exception):
    """A limit of `read_newest` is reached."""


def read_newest(
    client: ClusterClient, topic: str, most: int, *, budget_s: float, most_bytes: int
) -> Newest | None:
    """Return about the newest records of a topic by their timestamps; None: the topic does not exist.

    Of each partition the same number of offsets is read, so that fewer come of one that is compacted or
    written in transactions. Committed records only. Raises `ClusterFault`.
    """
    until = time.monotonic() + budget_s
    found = _look(client, topic, is_complete=False)
    if found is None:
        return None
    records: list[TopicRecord] = []
    size = 0

    def take(record: TopicRecord) -> None:
        nonlocal size
        records.append(record)
        size += len(record.key or b"") + len(record.value or b"")
        size += sum(len(name) + len(told or b"") for name, told in record.headers)
        if size > most_bytes or time.monotonic() > until:
            raise _EnoughError

    share = max(2 * most // max(len(found.ends), 1), _LEAST_OFFSETS)
    starts = {number: max(end - share, 0) for number, end in found.ends.items()}
    is_cut = False
    try:
        _read(client, topic, starts, found.ends, take)
    except _EnoughError:
        is_cut = True
    records.sort(key=lambda one: (one.timestamp_ms or 0, one.offset), reverse=True)
    return Newest(records[:most], is_cut)


def read_record(client: ClusterClient, where: TopicPartition, offset: int) -> Newest | None:
    """Return the committed record at an offset, no record where there is none; None: no such partition.

    Raises `ClusterFault`.
    """
    found = _look(client, where.topic, is_complete=False)
    if found is None or where.partition not in found.ends:
        return None
    end = min(offset + 1, found.ends[where.partition])
    records: list[TopicRecord] = []
    _read(client, where.topic, {where.partition: offset}, {where.partition: end}, records.append)
    return Newest(records, is_cut=False)


class TopicFollower:
    """Reads a topic to its end, and later what was added to it.

    `is_complete` False: what an open transaction holds back is left for the next time. `trusts_elections`
    False: where another leader was elected everything is read again, because an unclean election may have
    cut the log and it may have grown again since. One thread at a time. Invariant: every record before the
    position was taken, once, and none behind it.
    """

    def __init__(
        self,
        topic: str,
        *,
        only_partition: int | None = None,
        is_complete: bool = True,
        trusts_elections: bool = True,
    ) -> None:
        self.topic = topic
        self._only = only_partition
        self._is_complete = is_complete
        self._trusts_elections = trusts_elections
        self._before: _Topic | None = None
        self._read_to: dict[int, int] = {}

    def follow(self, client: ClusterClient, take: Take, forget: Callable[[], object]) -> bool:
        """Give every new record to `take`; returns False when there is no such topic. Raises `ClusterFault`.

        `forget` is called before the first record, whenever reading begins at the beginning: the first time,
        when the topic is another one under the same name or its log was cut, and after a fault.
        """
        found = _look(client, self.topic, is_complete=self._is_complete)
        if found is None or not self._goes_on(found):
            forget()
            self._read_to = {}
        self._before = None
        if found is None:
            return False
        ends = found.ends_of(self._only)
        starts = {number: self._read_to.get(number, 0) for number in ends}
        self._read_to = _read(client, self.topic, starts, ends, take)
        self._before = found
        return True

    def start_over(self) -> None:
        """Let the next `follow` read everything again."""
        self._before = None

    def _goes_on(self, found: _Topic) -> bool:
        """Return whether what was read is still in the log."""
        before = self._before
        if before is None or before.topic_id != found.topic_id:
            return False
        if not self._trusts_elections and before.epochs != found.epochs:
            return False
        return all(found.ends.get(number, 0) >= at for number, at in self._read_to.items())


class _Topic(NamedTuple):
    """Which topic it is ("" where the cluster has no ids), where its partitions end, and their epochs."""

    topic_id: str
    ends: dict[int, int]
    epochs: dict[int, int]

    def ends_of(self, only: int | None) -> dict[int, int]:
        return {number: end for number, end in self.ends.items() if only in (None, number)}


def _look(client: ClusterClient, topic: str, *, is_complete: bool) -> _Topic | None:
    """Return the high watermark of every partition, or its last stable offset; None without the topic.

    A leader that moves is waited for. Raises `ClusterFault`.
    """

    async def look(cluster: RawCluster) -> _Topic | None:
        described = (await cluster.metadata([topic])).topics[topic]
        if isinstance(described.error, UnknownTopicOrPartition):
            return None
        if described.error is not None:
            raise described.error
        listed = await list_offsets(
            cluster,
            {TopicPartition(topic, number): LATEST for number in described.partitions},
            read_committed=not is_complete,
            budget_s=client.timeout_s,
            unknown_s=client.timeout_s,
        )
        ends = {where.partition: _end(where, one, cluster) for where, one in listed.items()}
        epochs = {number: one.leader_epoch for number, one in described.partitions.items()}
        return _Topic(str(described.topic_id or ""), ends, epochs)

    return client.ask(f"Reading {topic}", look)


def _end(where: TopicPartition, one: ListedOffset | ClusterFault, cluster: RawCluster) -> int:
    if isinstance(one, ClusterFault):
        text = f"Reading {where}: {one.message}"
        raise Unreachable(text, cluster=cluster.alias) if one.retriable else one
    return one.offset or 0


def _read(
    client: ClusterClient,
    topic: str,
    starts: Mapping[int, int],
    ends: Mapping[int, int],
    take: Take,
) -> dict[int, int]:
    """Give the records from `starts` up to `ends` to `take`; returns where the next reading begins.

    What comes behind an end while others are read is left for the next reading: a topic that is written
    without a pause has no end of its own. Raises `ClusterFault`.
    """
    span = _Span(client, topic, dict(starts), ends)
    while span.left:
        for record in span.read_piece():
            take(record)
    return {number: max(start, ends[number]) for number, start in starts.items()}


class _Span:
    """What is read of a topic: from `at` to `ends`, by partition."""

    def __init__(
        self, client: ClusterClient, topic: str, at: dict[int, int], ends: Mapping[int, int]
    ) -> None:
        self._client, self._topic, self._at, self._ends = client, topic, at, ends

    @property
    def left(self) -> dict[TopicPartition, int]:
        """The next offset of each partition that is not at its end."""
        return {
            TopicPartition(self._topic, number): at
            for number, at in self._at.items()
            if at < self._ends[number]
        }

    def read_piece(self) -> Iterator[TopicRecord]:
        """Yield the records of the next megabytes; raises when none came within the client's timeout."""
        batches: list[tuple[int, CommittedBatch]] = []
        before = self.left
        size = 0

        def keep(where: TopicPartition, batch: CommittedBatch | None, position: int) -> bool:
            nonlocal size
            if batch is not None:
                batches.append((where.partition, batch))
                size += len(batch.content)
            self._at[where.partition] = position
            return position >= self._ends[where.partition] or size >= PIECE_BYTES

        unread = self._client.ask(
            f"Reading {self._topic}",
            lambda cluster: read_committed_batches(
                cluster,
                self.left,
                keep,
                budget_s=self._client.timeout_s * _SHARE,
                partition_bytes=_PARTITION_BYTES,
            ),
        )
        for fault in unread.values():
            if fault is not None:
                raise fault
        if self.left == before:
            raise self._silence(len(before))
        for number, batch in batches:
            yield from self._records(number, batch)

    def _records(self, number: int, batch: CommittedBatch) -> Iterator[TopicRecord]:
        try:
            for record in batch.records():
                if record.offset >= self._ends[number]:
                    return
                at_ms = record.timestamp if record.timestamp >= 0 else None
                headers = [(name.decode("utf-8", "replace"), told) for name, told in record.headers]
                yield TopicRecord(number, record.offset, at_ms, record.key, record.value, headers)
        except (BatchError, RecordFormatError) as error:
            text = f"{TopicPartition(self._topic, number)} cannot be read: {error}"
            raise ClusterFault(text, cluster=self._client.connection.alias) from None

    def _silence(self, left: int) -> ClusterFault:
        return TimedOut(
            f"Reading {self._topic}: {left} of {len(self._ends)} partitions were not read to their end "
            f"within {self._client.timeout_s:g} s. Where brokers answer, a transaction is open there: it "
            "ends by itself, or when its producer starts again.",
            cluster=self._client.connection.alias,
        )
