"""Reads a topic of offset syncs from the end of an archive, over new leaders, new topics and cut logs.

Whole batches are read, because only they show where records were removed between them. To a consumer, records
that were compacted away and transaction markers are the same: offsets without a record. Where the cleaner was
at work, any sync but the last of a partition may be missing, so that place is a hole, see `SyncRows`. A sync
is known from the time on that its batch says: not before the newest record of it was there.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from jobs.cluster.descriptions import TopicPartition
from jobs.cluster.errors import ClusterFault
from jobs.cluster.protocol.cluster import RawCluster
from jobs.cluster.protocol.data.fetch import FetchedPartition, FetchPosition, fetch
from jobs.cluster.protocol.data.fetch_format import FetchLimits
from jobs.cluster.protocol.data.offsets import EARLIEST, LATEST, list_offsets
from jobs.cluster.protocol.errors import LeaderMoved, OffsetOutOfRange
from jobs.cluster.protocol.metadata import TopicMetadata
from jobs.replication.offset_syncs.archive_manifest import Gap, GapKind, Manifest, Source
from jobs.replication.offset_syncs.archive_writer import Increment
from jobs.replication.offset_syncs.sync_rows import SyncRows
from jobs.wire.batches.record_batch import (
    HIGHEST_OFFSET,
    BatchHeader,
    ControlType,
    control_type,
    has_possible_offsets,
    iterate_batches,
)
from jobs.wire.errors import BatchError, Damaged, RecordFormatError
from jobs.wire.topics.offset_syncs import Batch, DecodedSyncs, decode_compiled, decode_plain
from jobs.wire.values import id_text

UNREADABLE = "in bytes that are no batch"
# From so many records or bytes on the compiled loop is worth its start.
_MANY, _MANY_BYTES = 5_000, 256 * 1024


@dataclass(slots=True)
class TakenSyncs:
    """What some fetched bytes held.

    `first_offset` is where their first batch begins, None without any; `next_offset` is behind the last.
    `missing` spans the holes, of which there are `holes`. `newest_at_ms` is the time of the newest record.
    """

    next_offset: int
    names: list[TopicPartition] = field(default_factory=list)
    rows: SyncRows = field(default_factory=SyncRows.empty)
    first_offset: int | None = None
    holes: int = 0
    missing: tuple[int, int] | None = None
    refused: Counter[str] = field(default_factory=Counter)
    leader_epoch: int = -1
    newest_at_ms: int | None = None

    def note_hole(self, start: int, end: int) -> None:
        """Count a place where records were removed."""
        self.holes += 1
        self.missing = (self.missing[0] if self.missing else start, end)


def take_syncs(
    content: memoryview,
    position: int,
    aborted: Iterable[tuple[int, int]] = (),
    *,
    until: int | None = None,
    skips_begun: bool = False,
    is_range: bool = False,
) -> TakenSyncs:
    """Read the committed offset syncs of fetched bytes from a position on.

    `aborted` are (producer id, first offset) of aborted transactions that reach into these bytes. What is no
    sync is counted and passed by. A range of a log begins with the first batch that begins in it
    (`skips_begun`; what is missing before that belongs to the range before), and ends before the
    first batch that begins at `until` or behind. Where the bytes hold very many syncs, what is behind them is
    left for the next call.
    """
    taken, aborted = TakenSyncs(position), list(aborted)
    batches: list[Batch] = []
    holes: list[int] = []
    starts: list[int] = []
    end = 0
    try:
        for header, batch, is_data in _committed(content, aborted):
            start, end = end, end + len(batch)
            if until is not None and header.base_offset >= until:
                break
            if header.next_offset <= taken.next_offset:
                continue
            if skips_begun and header.base_offset < position:
                taken.next_offset = header.next_offset
                continue
            _walk_over(taken, header, is_seam=is_range and taken.first_offset is None)
            if is_data:
                batches.append((header, batch))
                holes.append(taken.holes)
                starts.append(start)
            _note_inside(taken, header)
    except RecordFormatError as error:
        # Where the next batch begins cannot be known; nothing is behind it in this answer.
        taken.refused[UNREADABLE] += 1
        bad = error.offset if isinstance(error, BatchError) else taken.next_offset
        is_possible = taken.next_offset <= bad < HIGHEST_OFFSET
        taken.next_offset = (bad if is_possible else taken.next_offset) + 1
    read = _decode(taken, batches, holes, position)
    if read == len(batches):
        return taken
    return take_syncs(
        content[: starts[read]],
        position,
        aborted,
        until=until,
        skips_begun=skips_begun,
        is_range=is_range,
    )


def _walk_over(taken: TakenSyncs, header: BatchHeader, *, is_seam: bool) -> None:
    """Go behind a batch; note what is missing before it, or in it. At a seam somebody else notes it."""
    if taken.first_offset is None:
        taken.first_offset = header.base_offset
    if header.base_offset > taken.next_offset and not is_seam:
        taken.note_hole(taken.next_offset, header.base_offset)
    _note_inside(taken, header)
    taken.next_offset = header.next_offset
    taken.leader_epoch = header.partition_leader_epoch


def _note_inside(taken: TakenSyncs, header: BatchHeader) -> None:
    """Note where records were removed from a batch: that is before its syncs, and behind them."""
    if not header.is_control and not header.is_dense:
        taken.note_hole(header.base_offset, header.next_offset)


def _committed(
    content: memoryview, aborted: Iterable[tuple[int, int]]
) -> Iterator[tuple[BatchHeader, memoryview, bool]]:
    """Yield every batch, and whether it has records that count."""
    coming = sorted(aborted, key=lambda pair: pair[1], reverse=True)
    aborting: set[int] = set()
    for header, batch in iterate_batches(content):
        if not has_possible_offsets(header):
            raise Damaged(header.base_offset, "has offsets that no log has")
        while coming and coming[-1][1] <= header.last_offset:
            aborting.add(coming.pop()[0])
        if header.is_control:
            if control_type(batch) is ControlType.ABORT:
                aborting.discard(header.producer_id)
            yield header, batch, False
        else:
            is_aborted = header.is_transactional and header.producer_id in aborting
            yield header, batch, header.record_count > 0 and not is_aborted


def _decode(
    taken: TakenSyncs, batches: Sequence[Batch], holes: Sequence[int], position: int
) -> int:
    """Fill in the syncs of batches; return of how many."""
    if not batches:
        return 0
    found = decode(batches)
    taken.refused += found.refused
    ends = np.array([header.last_offset for header, _ in batches], np.int64)
    of_batch = np.searchsorted(ends, found.offset).clip(max=len(ends) - 1)
    rows = SyncRows(
        found.key,
        found.upstream,
        found.downstream,
        np.array(holes, np.int64)[of_batch],
        found.follows_upstream,
        found.follows_downstream,
        np.array([header.max_timestamp for header, _ in batches], np.int64)[of_batch],
        found.chained,
    )
    taken.rows = rows.pick(found.offset >= position)
    taken.names = [TopicPartition(*key) for key in found.keys]
    if len(rows.partition):
        taken.newest_at_ms = max(header.max_timestamp for header, _ in batches)
    return found.batches


def decode(batches: Sequence[Batch]) -> DecodedSyncs:
    """Read data batches, by the compiled loop where there is much in them."""
    records = sum(header.record_count for header, _ in batches)
    if records >= _MANY or sum(len(batch) for _, batch in batches) >= _MANY_BYTES:
        try:
            return decode_compiled(batches)
        except ImportError:
            return decode_plain(batches)
    return decode_plain(batches)


# MirrorMaker 2 writes all of them to one partition.
PARTITION = 0
STEP_BYTES = 4 << 20
WAIT_MS = 500

RECREATED = "The topic of offset syncs was deleted and created again."
DELETED = (
    "The log begins behind the next offset to read: records were deleted before they were read."
)
CUT = "The log was cut (an unclean leader election): what was read from its end is gone."
COMPACTED = "Compaction removed offset syncs before they were read."


class Step(NamedTuple):
    """What one request brought; `is_at_end`: the end of the topic was reached."""

    increment: Increment
    is_at_end: bool


@dataclass(slots=True)
class SyncsReader:
    """Reads one topic; knows where it is, and resumes there after a fault.

    `next_offset` is None before anything was read; `leader_epoch` is that of the last batch, -1 for not
    known. `is_first`: nothing was ever read, so nothing can be missing.
    """

    cluster: RawCluster
    topic: str
    next_offset: int | None = None
    leader_epoch: int = -1
    topic_id: str | None = None
    is_first: bool = True

    @classmethod
    def after(cls, cluster: RawCluster, topic: str, manifest: Manifest) -> SyncsReader:
        """Resume at the end of an archive; of another topic everything is read."""
        source = manifest.source
        if source is None or manifest.next_offset is None:
            return cls(cluster, topic)
        if source.topic != topic:
            return cls(cluster, topic, is_first=False)
        place = (manifest.next_offset, manifest.leader_epoch, source.topic_id)
        return cls(cluster, topic, *place, is_first=False)

    @property
    def where(self) -> TopicPartition:
        """The partition that is read."""
        return TopicPartition(self.topic, PARTITION)

    async def step(self, wait_ms: int = WAIT_MS) -> Step:
        """Read the next syncs, waiting for some at the end; raises `ClusterFault`, also without the topic.

        What is missing is reported as a gap, and reading continues behind it.
        """
        try:
            return await self._step(wait_ms)
        except ClusterFault:
            await self.look_again()
            raise

    async def _step(self, wait_ms: int) -> Step:
        topic = (await self.cluster.metadata([self.topic])).topics[self.topic]
        if topic.error is not None:
            raise topic.error
        lost = None
        if self.next_offset is None or self.topic_id != id_text(topic.topic_id):
            lost = await self._begin(topic)
        fetched = await self.fetch(topic, wait_ms)
        if fetched.diverging_epoch is not None:
            return self._gap_only(await self._start_over(CUT))
        if isinstance(fetched.error, OffsetOutOfRange):
            return self._gap_only(await self._start_over(await self._why_out_of_range()))
        if fetched.error is not None:
            raise fetched.error
        return self._take(fetched, lost)

    async def _begin(self, topic: TopicMetadata) -> Gap | None:
        """Go to the beginning of a topic that was never read, or is another one than before."""
        was_first, before = self.is_first, self.next_offset or 0
        self.next_offset = await self._listed(EARLIEST)
        self.topic_id, self.leader_epoch, self.is_first = id_text(topic.topic_id), -1, False
        return None if was_first else gap_of(GapKind.LOST, (before, None), RECREATED)

    async def _start_over(self, reason: str) -> Gap:
        """Read everything again that the log has now."""
        before, self.next_offset = self.next_offset or 0, await self._listed(EARLIEST)
        self.leader_epoch = -1
        return gap_of(GapKind.LOST, (before, max(before, self.next_offset)), reason)

    async def _why_out_of_range(self) -> str:
        return DELETED if (self.next_offset or 0) < await self._listed(EARLIEST) else CUT

    async def _listed(self, moment: int) -> int:
        found = (await list_offsets(self.cluster, {self.where: moment}, read_committed=True))[
            self.where
        ]
        if isinstance(found, ClusterFault):
            raise found
        return found.offset or 0

    async def end(self) -> int:
        """Return the last stable offset; raises `ClusterFault`."""
        return await self._listed(LATEST)

    async def fetch(self, topic: TopicMetadata, wait_ms: int) -> FetchedPartition:
        """Ask the leader for what comes next; errors of the partition stand in the answer."""
        partition = topic.partitions.get(PARTITION)
        if partition is None or partition.leader is None:
            text = f"Reading {self.where}: it has no leader now."
            raise LeaderMoved(text, cluster=self.cluster.alias)
        position = FetchPosition(
            self.topic,
            topic.topic_id,
            PARTITION,
            self.next_offset or 0,
            partition.leader_epoch,
            self.leader_epoch,
            STEP_BYTES,
        )
        limits = FetchLimits(wait_ms, 1, STEP_BYTES, read_committed=True)
        answer = await fetch(self.cluster, partition.leader, [position], limits)
        if self.where not in answer.partitions:
            raise LeaderMoved(f"Reading {self.where}: no answer.", cluster=self.cluster.alias)
        return answer.partitions[self.where]

    async def look_again(self) -> None:
        """Ask for leaders and topic ids again, as far as anybody answers."""
        try:
            await self.cluster.metadata(newer_than=await self.cluster.metadata())
        except ClusterFault:
            return

    def _take(self, fetched: FetchedPartition, lost: Gap | None) -> Step:
        taken = take_syncs(fetched.records, self.next_offset or 0, fetched.aborted)
        self.next_offset = taken.next_offset
        if taken.leader_epoch >= 0:
            self.leader_epoch = taken.leader_epoch
        end = fetched.last_stable_offset
        is_at_end = end is None or self.next_offset >= end
        read_at_ms = _now_ms() if is_at_end else None
        return Step(
            increment_of(taken, self._source(), self.leader_epoch, lost, read_at_ms), is_at_end
        )

    def _gap_only(self, gap: Gap) -> Step:
        nothing = TakenSyncs(self.next_offset or 0)
        return Step(increment_of(nothing, self._source(), -1, gap), is_at_end=False)

    def _source(self) -> Source:
        return Source(self.cluster.alias, self.topic, self.topic_id)


def increment_of(
    taken: TakenSyncs,
    source: Source,
    leader_epoch: int = -1,
    lost: Gap | None = None,
    read_at_ms: int | None = None,
) -> Increment:
    """Return what was taken as an increment for the archive; a loss is worse than a hole."""
    gap = lost
    if gap is None and taken.missing is not None:
        gap = gap_of(GapKind.COMPACTED, taken.missing, COMPACTED)
    return Increment(
        source,
        taken.names,
        taken.rows,
        taken.next_offset,
        refused=taken.refused,
        gap=gap,
        holes=taken.holes,
        leader_epoch=leader_epoch,
        newest_at_ms=taken.newest_at_ms,
        read_at_ms=read_at_ms,
    )


def gap_of(kind: GapKind, span: tuple[int, int | None], reason: str) -> Gap:
    """Return a gap that was seen now."""
    return Gap(kind, *span, before=0, at_ms=_now_ms(), reason=reason)


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
