"""The committed batches of many partitions: where data ends, when records were written, and the records."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from jobs.cluster.descriptions import TopicPartition
from jobs.cluster.errors import ClusterFault
from jobs.cluster.protocol.cluster import RawCluster
from jobs.cluster.protocol.data.fetch import FetchedPartition, FetchPosition, fetch
from jobs.cluster.protocol.data.fetch_format import FetchLimits
from jobs.cluster.protocol.data.offsets import EARLIEST, ListedOffset, list_offsets
from jobs.cluster.protocol.errors import OffsetOutOfRange
from jobs.cluster.protocol.metadata import ClusterMetadata
from jobs.cluster.protocol.transport.timing import RetryBudget
from jobs.wire.batches.compression import EXPANSION_LIMIT_BYTES
from jobs.wire.batches.record_batch import (
    BatchHeader,
    ControlType,
    control_type,
    iterate_batches,
)
from jobs.wire.batches.records import (
    PlacedRecord,
    placed_records,
    record_timestamp,
    records_body,
    split_records,
)
from jobs.wire.errors import BatchError, RecordFormatError

# Where a few records are wanted, not a stream; a larger batch comes whole.
_PARTITION_BYTES = 64 << 10
_LIMITS = FetchLimits(max_wait_ms=100, min_bytes=1, max_bytes=4 << 20, read_committed=True)
_PARTITIONS_PER_REQUEST = 200
# So long a partition is looked for that is unknown or without a leader.
UNKNOWN_S = 1.0


class CommittedBatch(NamedTuple):
    """A batch with records that a reader of committed data gets, from `position` on."""

    header: BatchHeader
    content: memoryview
    position: int

    def places(self) -> Iterator[tuple[int, int]]:
        """Yield offset and timestamp (ms) of each record; raises `BatchError`, `RecordFormatError`."""
        body = records_body(self.header, self.content, EXPANSION_LIMIT_BYTES)
        for record in split_records(body, self.header.record_count):
            offset = self.header.base_offset + record.offset_delta
            if offset >= self.position:
                yield offset, record_timestamp(self.header, record.timestamp_delta)

    def records(self) -> Iterator[PlacedRecord]:
        """Yield the records; raises `BatchError`, `RecordFormatError`."""
        for record in placed_records(self.content):
            if record.offset >= self.position:
                yield record

    def last_offset_below(self, end: int) -> int | None:
        """Return the offset of its last record below `end`, None when it has none."""
        if self.header.is_dense:
            last = min(self.header.last_offset, end - 1)
            return last if last >= max(self.position, self.header.base_offset) else None
        return max((offset for offset, _ in self.places() if offset < end), default=None)


# Gets a batch, or None at the end of the partition, and the offset that is read next.
Take = Callable[[TopicPartition, CommittedBatch | None, int], bool]


class _Reading:
    """Read position of a partition, and the producers whose transactions are aborted there."""

    def __init__(self, where: TopicPartition, position: int) -> None:
        self.where = where
        self.position = position
        self._aborting: set[int] = set()

    def feed(self, fetched: FetchedPartition, take: Take) -> bool:
        """Give what was fetched to `take`; returns whether it has enough."""
        aborted = sorted(fetched.aborted, key=lambda one: one.first_offset)
        has_batch = not fetched.records
        for header, content in iterate_batches(fetched.records):
            has_batch = True
            if header.last_offset < self.position:
                continue
            while aborted and aborted[0].first_offset <= header.last_offset:
                self._aborting.add(aborted.pop(0).producer_id)
            is_data = self._is_data(header, content)
            batch = CommittedBatch(header, content, self.position)
            self.position = header.next_offset
            if is_data and take(self.where, batch, self.position):
                return True
        if not has_batch:
            # A broker sends the first batch whole.
            raise RecordFormatError("fetched records", "they do not begin with a whole batch")
        end = fetched.last_stable_offset
        return end is not None and self.position >= end and take(self.where, None, self.position)

    def _is_data(self, header: BatchHeader, content: memoryview) -> bool:
        if header.is_control:
            if control_type(content) is ControlType.ABORT:
                self._aborting.discard(header.producer_id)
            return False
        return not (header.is_transactional and header.producer_id in self._aborting)


async def read_committed_batches(
    cluster: RawCluster,
    starts: Mapping[TopicPartition, int],
    take: Take,
    *,
    budget_s: float,
    partition_bytes: int = _PARTITION_BYTES,
    max_wait_ms: int = _LIMITS.max_wait_ms,
) -> dict[TopicPartition, ClusterFault | None]:
    """Give the committed batches from `starts` on to `take` until it returns True.

    Returns the partitions for which it never did: what makes them unreadable, or None where they could not be
    read in time. A start that retention has overtaken becomes the start of the log. Leaders that move are
    followed, and one that hangs costs its own partitions only; raises `ClusterFault` without metadata.
    `partition_bytes`: of a partition in one answer. `max_wait_ms`: how long a broker waits for records.
    """
    limits = _LIMITS._replace(max_wait_ms=max_wait_ms)
    spans = _Spans(cluster, starts, take, partition_bytes, limits)
    tries = RetryBudget(cluster.timing, budget_s)
    metadata = await cluster.metadata({where.topic for where in starts})
    try:
        async with asyncio.timeout(tries.left_s()):
            await spans.read(metadata, tries)
    except (TimeoutError, ClusterFault):
        pass  # what was read stays read
    return {**dict.fromkeys(spans.waiting), **spans.unreadable}


class _Spans:
    """The partitions that are read, by leader and at the same time."""

    def __init__(
        self,
        cluster: RawCluster,
        starts: Mapping[TopicPartition, int],
        take: Take,
        partition_bytes: int,
        limits: FetchLimits,
    ) -> None:
        self.waiting = {where: _Reading(where, start) for where, start in starts.items()}
        self.unreadable: dict[TopicPartition, ClusterFault] = {}
        self._cluster, self._take, self._limits = cluster, take, limits
        self._partition_bytes = partition_bytes

    async def read(self, metadata: ClusterMetadata, tries: RetryBudget) -> None:
        unknown = RetryBudget(self._cluster.timing, UNKNOWN_S)
        while self.waiting:
            asked = self._positions(metadata)
            if not asked and not unknown.left_s():
                return
            if await self._read_once(asked):
                continue
            # Nothing came: a leader may have moved.
            if not await tries.pause():
                return
            topics = {where.topic for where in self.waiting}
            metadata = await self._cluster.metadata(topics, newer_than=metadata)

    def _positions(self, metadata: ClusterMetadata) -> dict[int, list[FetchPosition]]:
        by_leader: dict[int, list[FetchPosition]] = defaultdict(list)
        for where in sorted(self.waiting):
            partition = metadata.partition(where)
            if partition is None or partition.leader is None:
                continue
            position = FetchPosition(
                where.topic,
                metadata.topics[where.topic].topic_id,
                where.partition,
                self.waiting[where].position,
                partition.leader_epoch,
                max_bytes=self._partition_bytes,
            )
            by_leader[partition.leader].append(position)
        return by_leader

    async def _read_once(self, by_leader: Mapping[int, list[FetchPosition]]) -> bool:
        """Ask every leader once, at the same time; returns whether anything came."""
        asked = [
            self._ask(leader, positions[at : at + _PARTITIONS_PER_REQUEST])
            for leader, positions in by_leader.items()
            for at in range(0, len(positions), _PARTITIONS_PER_REQUEST)
        ]
        before = self._progress()
        await asyncio.gather(*asked)
        return self._progress() != before

    async def _ask(self, leader: int, positions: list[FetchPosition]) -> None:
        """Take the answer of one leader as soon as it comes; none within its share is no progress."""
        try:
            async with asyncio.timeout(self._cluster.timing.metadata_timeout_s):
                answer = await fetch(self._cluster, leader, positions, self._limits)
        except (TimeoutError, ClusterFault):
            return
        overtaken = []
        for where, fetched in answer.partitions.items():
            if fetched.error is None:
                self._feed(where, fetched)
            elif isinstance(fetched.error, OffsetOutOfRange):
                overtaken.append(where)
            elif not fetched.error.retriable:
                self._give_up(where, fetched.error)
        await self._go_to_the_start(overtaken)

    def _progress(self) -> tuple[int, int]:
        return len(self.waiting), sum(one.position for one in self.waiting.values())

    def _feed(self, where: TopicPartition, fetched: FetchedPartition) -> None:
        try:
            if self.waiting[where].feed(fetched, self._take):
                del self.waiting[where]
        except (BatchError, RecordFormatError) as error:
            text = f"{where} cannot be read: {error}"
            self._give_up(where, ClusterFault(text, cluster=self._cluster.alias))

    def _give_up(self, where: TopicPartition, fault: ClusterFault) -> None:
        self.unreadable[where] = fault
        del self.waiting[where]

    async def _go_to_the_start(self, overtaken: list[TopicPartition]) -> None:
        if not overtaken:
            return
        moments = dict.fromkeys(overtaken, EARLIEST)
        listed = await list_offsets(self._cluster, moments, read_committed=False)
        for where, one in listed.items():
            first = one.offset if isinstance(one, ListedOffset) else None
            if first is not None and first > self.waiting[where].position:
                self.waiting[where].position = first
            elif first is not None and self._take(where, None, self.waiting[where].position):
                # Beyond the end: there is nothing to read.
                del self.waiting[where]
