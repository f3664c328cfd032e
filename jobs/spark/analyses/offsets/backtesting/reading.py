"""One side of a partition, read in whole batches: the newest records, each as a hash with its time in it."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from jobs.cluster.connection import Connection
from jobs.cluster.descriptions import TopicPartition
from jobs.cluster.errors import ClusterFault, TimedOut
from jobs.cluster.protocol.cluster import RawCluster
from jobs.cluster.protocol.data.fetch import (
    AbortedTransaction,
    FetchedPartition,
    FetchPosition,
    fetch,
)
from jobs.cluster.protocol.data.fetch_format import FetchLimits
from jobs.cluster.protocol.data.offsets import EARLIEST, LATEST, list_offsets
from jobs.cluster.protocol.errors import LeaderMoved
from jobs.cluster.protocol.transport.timing import RetryBudget
from jobs.spark.analyses.offsets.backtesting.truth import Side
from jobs.wire.batches.record_batch import ControlType, control_type, iterate_batches
from jobs.wire.errors import ExpandsTooFar
from jobs.wire.rebatch.rebatcher import Fingerprints, fingerprints
from jobs.wire.rebatch.table import HASH_FACTOR

CLIENT_ID = "backtest"
STEP_BYTES = 4 << 20
BUDGET_S = 30.0
_WAIT_MS = 200


class Span(NamedTuple):
    """What is there to read: from `start` up to `end`; `is_cut`: older offsets are not read."""

    start: int
    end: int
    is_cut: bool


@dataclass(slots=True)
class SideRecords:
    """The records of one side. `has_own_times`: the broker has put its own times into some of them."""

    span: Span
    found: Fingerprints
    has_own_times: bool = False

    def side(self, *, with_times: bool) -> Side:
        """Return it for `truth.align`; `with_times`: a record with another time is another one."""
        offsets, times, hashes = self.found
        if with_times:
            hashes = (hashes ^ (times * HASH_FACTOR)) * HASH_FACTOR
        return Side(offsets, hashes, *self.span)


async def read_side(
    connection: Connection, where: TopicPartition, most: int, *, read_committed: bool
) -> SideRecords:
    """Return the newest records of a partition, those of at most so many offsets.

    What is there when it begins is read, no more. Raises `ClusterFault` and `RecordFormatError`. Memory: 24
    bytes a record.
    """
    async with RawCluster(connection, client_id=CLIENT_ID) as cluster:
        span = await _span(cluster, where, most, read_committed=read_committed)
        reading = _Reading(cluster, where, span, read_committed)
        return SideRecords(span, await reading.all(), reading.has_own_times)


async def _span(
    cluster: RawCluster, where: TopicPartition, most: int, *, read_committed: bool
) -> Span:
    ends = []
    for moment in (EARLIEST, LATEST):
        listed = await list_offsets(cluster, {where: moment}, read_committed=read_committed)
        found = listed[where]
        if isinstance(found, ClusterFault):
            raise found
        ends.append(found.offset or 0)
    start, end = ends
    return Span(max(start, end - most), end, end - most > start)


@dataclass(slots=True)
class _Reading:
    cluster: RawCluster
    where: TopicPartition
    span: Span
    read_committed: bool
    has_own_times: bool = False
    _parts: list[Fingerprints] = field(default_factory=list)

    async def all(self) -> Fingerprints:
        position = self.span.start
        tries = RetryBudget(self.cluster.timing, BUDGET_S)
        heard_at = time.monotonic()
        while position < self.span.end:
            try:
                fetched = await self._fetch(position)
            except ClusterFault as fault:
                if not fault.retriable or not await tries.pause():
                    raise
                await self.cluster.metadata(newer_than=await self.cluster.metadata())
                continue
            after = self._take(fetched, position)
            if after > position:
                heard_at, tries = time.monotonic(), RetryBudget(self.cluster.timing, BUDGET_S)
            elif time.monotonic() - heard_at > BUDGET_S:
                text = f"Reading {self.where}: nothing came from offset {position} on."
                raise TimedOut(text, cluster=self.cluster.alias)
            position = after
        return _joined(self._parts)

    async def _fetch(self, position: int) -> FetchedPartition:
        where = self.where
        metadata = await self.cluster.metadata([where.topic])
        topic, partition = metadata.topics[where.topic], metadata.partition(where)
        if topic.error is not None:
            raise topic.error
        if partition is None or partition.leader is None:
            raise LeaderMoved(f"Reading {where}: it has no leader now.", cluster=self.cluster.alias)
        asked = FetchPosition(
            where.topic,
            topic.topic_id,
            where.partition,
            position,
            partition.leader_epoch,
            max_bytes=STEP_BYTES,
        )
        limits = FetchLimits(_WAIT_MS, 1, STEP_BYTES, self.read_committed)
        answer = await fetch(self.cluster, partition.leader, [asked], limits)
        found = answer.partitions.get(where)
        if found is None:
            raise LeaderMoved(f"Reading {where}: no answer.", cluster=self.cluster.alias)
        if found.error is not None:
            raise found.error
        return found

    def _take(self, fetched: FetchedPartition, position: int) -> int:
        """Take the records of an answer; returns where the next one begins."""
        kept = []
        for batch, next_offset, has_own_times in self._wanted(fetched.records, fetched.aborted):
            position = max(position, next_offset)
            if batch is not None:
                kept.append(batch)
                self.has_own_times |= has_own_times
        found = _opened(kept)
        inside = (found.offsets >= self.span.start) & (found.offsets < self.span.end)
        if inside.any():
            self._parts.append(Fingerprints(*(column[inside] for column in found)))
        return position

    def _wanted(
        self, records: memoryview, aborted: Sequence[AbortedTransaction]
    ) -> Iterator[tuple[memoryview | None, int, bool]]:
        """Yield each batch (None: a marker, or aborted), the next offset, if the broker set times."""
        coming = sorted(aborted, key=lambda one: one.first_offset, reverse=True)
        aborting: set[int] = set()
        for header, batch in iterate_batches(records):
            while coming and coming[-1].first_offset <= header.last_offset:
                aborting.add(coming.pop().producer_id)
            is_out = header.is_transactional and header.producer_id in aborting
            if header.is_control and control_type(batch) is ControlType.ABORT:
                aborting.discard(header.producer_id)
            is_data = not header.is_control and not is_out and header.record_count > 0
            yield batch if is_data else None, header.next_offset, header.is_log_append_time


def _opened(batches: Sequence[memoryview]) -> Fingerprints:
    try:
        return fingerprints(batches)
    except ExpandsTooFar:
        if len(batches) == 1:
            raise
    # Each alone may still be within the limit.
    return _joined([fingerprints([one]) for one in batches])


def _joined(parts: Sequence[Fingerprints]) -> Fingerprints:
    if not parts:
        return fingerprints([])
    return Fingerprints(*(np.concatenate(one) for one in zip(*parts, strict=True)))
