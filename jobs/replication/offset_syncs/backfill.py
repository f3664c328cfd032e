"""Reads a long offset sync topic in parallel ranges into the follower's archive.

A range holds the batches that begin in it. The reader of all ranges in order joins them: what is missing
between the last batch of one and the first of the next is seen only there.
"""

from __future__ import annotations

import asyncio
import io
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from uuid import UUID

from jobs.cluster.errors import ClusterFault, Remedy
from jobs.cluster.protocol.cluster import RawCluster
from jobs.cluster.protocol.errors import TopicIdUnknown
from jobs.cluster.protocol.transport.timing import RetryBudget
from jobs.replication.offset_syncs.archive_manifest import Manifest, Source
from jobs.replication.offset_syncs.archive_writer import Increment, SyncArchive
from jobs.replication.offset_syncs.follower import CLIENT_ID, SyncsPlace, keep
from jobs.replication.offset_syncs.reader import SyncsReader, TakenSyncs, increment_of, take_syncs
from jobs.replication.offset_syncs.sync_files import SyncFile, write_syncs
from jobs.replication.offset_syncs.sync_rows import SyncTable, joined_tables, sync_table
from jobs.wire.values import id_text

LONGEST_RANGE = 2_000_000
SHORTEST_RANGE = 100_000
# For so long a range waits for leaders and for brokers that do not answer.
PATIENCE_S = 60.0


@dataclass(frozen=True, slots=True)
class SyncRange:
    """Offsets of the topic, from `start` up to `end`; only the first takes a batch that begins before it."""

    number: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class RangeSyncs:
    """What a range held: its syncs as the bytes of a Parquet file, and what `TakenSyncs` tells beside."""

    syncs: bytes
    first_offset: int | None
    next_offset: int
    holes: int
    missing: tuple[int, int] | None
    leader_epoch: int
    newest_at_ms: int | None
    refused: dict[str, int] = field(default_factory=dict)


def ranges_of(start: int, end: int, readers: int) -> list[SyncRange]:
    """Return ranges for so many readers: as long as memory allows, and enough for everybody to be busy."""
    size = max(SHORTEST_RANGE, min(LONGEST_RANGE, -(-(end - start) // max(readers, 1))))
    starts = range(start, end, size)
    return [SyncRange(number, at, min(at + size, end)) for number, at in enumerate(starts)]


def begin_backfill(place: SyncsPlace, archive: SyncArchive) -> tuple[int, int]:
    """Find out where to resume and where the topic ends; what happened to the topic is noted in the archive.

    Raises `ClusterFault`.
    """
    return asyncio.run(_begin(place, archive))


async def _begin(place: SyncsPlace, archive: SyncArchive) -> tuple[int, int]:
    async with RawCluster(place.connection, client_id=CLIENT_ID) as cluster:
        reader = SyncsReader.after(cluster, place.topic, archive.manifest)
        keep(archive, await reader.step(wait_ms=0))
        return reader.next_offset or 0, await reader.end()


def read_range(place: SyncsPlace, topic_id: str | None, span: SyncRange) -> RangeSyncs:
    """Read a range; raises `ClusterFault`, also when the topic is not the one of `topic_id`."""
    return asyncio.run(_read(place, topic_id, span))


async def _read(place: SyncsPlace, topic_id: str | None, span: SyncRange) -> RangeSyncs:
    async with RawCluster(place.connection, client_id=CLIENT_ID) as cluster:
        reader = SyncsReader(cluster, place.topic, span.start)
        collected = Collected(TakenSyncs(span.start))
        while True:
            content, aborted = await _fetched(reader, topic_id, collected.whole.next_offset)
            if not collected.take(content, aborted, span):
                return collected.result()


async def _fetched(
    reader: SyncsReader, topic_id: str | None, offset: int
) -> tuple[memoryview, tuple[tuple[int, int], ...]]:
    """Ask for what is at an offset, over new leaders."""
    tries = RetryBudget(reader.cluster.timing, PATIENCE_S)
    reader.next_offset = offset
    while True:
        try:
            topic = (await reader.cluster.metadata([reader.topic])).topics[reader.topic]
            if topic.error is not None:
                raise topic.error
            _refuse_another(reader, topic.topic_id, topic_id)
            fetched = await reader.fetch(topic, wait_ms=0)
            if fetched.error is not None:
                raise fetched.error
        except ClusterFault as fault:
            if not fault.retriable or isinstance(fault, _Another) or not await tries.pause():
                raise
            await reader.look_again()
        else:
            return fetched.records, fetched.aborted


class _Another(TopicIdUnknown):
    remedy = Remedy.FINAL


def _refuse_another(reader: SyncsReader, found: UUID | None, expected: str | None) -> None:
    if id_text(found) != expected:
        text = f"{reader.where} was deleted and created again while it was read: begin again."
        raise _Another(text, cluster=reader.cluster.alias)


class Collected:
    """What a range held so far."""

    def __init__(self, whole: TakenSyncs) -> None:
        self.whole = whole
        self._tables: list[SyncTable] = []

    def take(
        self, content: memoryview, aborted: Iterable[tuple[int, int]], span: SyncRange
    ) -> bool:
        """Take one more answer; returns whether there may be more."""
        whole = self.whole
        is_begun = whole.first_offset is not None
        piece = take_syncs(
            content,
            whole.next_offset,
            aborted,
            until=span.end,
            skips_begun=span.number > 0 and not is_begun,
            is_range=not is_begun,
        )
        rows = piece.rows._replace(hole=piece.rows.hole + whole.holes)
        self._tables.append(sync_table(piece.names, rows))
        moved = piece.next_offset > whole.next_offset
        whole.next_offset = piece.next_offset
        whole.holes += piece.holes
        whole.refused += piece.refused
        if piece.missing is not None:
            start = whole.missing[0] if whole.missing else piece.missing[0]
            whole.missing = (start, piece.missing[1])
        if whole.first_offset is None:
            whole.first_offset = piece.first_offset
        if piece.leader_epoch >= 0:
            whole.leader_epoch = piece.leader_epoch
        whole.newest_at_ms = max(
            (at for at in (whole.newest_at_ms, piece.newest_at_ms) if at is not None), default=None
        )
        return moved and piece.next_offset < span.end

    def result(self) -> RangeSyncs:
        whole, file = self.whole, io.BytesIO()
        write_syncs(file, joined_tables(self._tables))
        return RangeSyncs(
            file.getvalue(),
            whole.first_offset,
            whole.next_offset,
            whole.holes,
            whole.missing,
            whole.leader_epoch,
            whole.newest_at_ms,
            dict(whole.refused),
        )


def append_ranges(
    archive: SyncArchive, source: Source, found: Iterable[RangeSyncs]
) -> Iterator[int]:
    """Append ranges in their order; yields how many syncs each brought. Tidy the archive at the end."""
    for one in found:
        if one.first_offset is None:
            continue  # everything in it was removed, or belongs to the range before
        increment = joined_to(archive.manifest, source, one)
        archive.append(increment, tidies=False)
        yield len(increment.rows.partition)


def joined_to(manifest: Manifest, source: Source, one: RangeSyncs) -> Increment:
    """Return the increment for a range; what is missing before it is seen here."""
    table = SyncFile(io.BytesIO(one.syncs)).table()
    known, first = manifest.next_offset, one.first_offset or 0
    taken = TakenSyncs(
        one.next_offset,
        list(table.names),
        table.all_rows,
        one.first_offset,
        one.holes,
        one.missing,
        Counter(one.refused),
        one.leader_epoch,
        one.newest_at_ms,
    )
    if known is not None and first > known:
        taken.rows = taken.rows._replace(hole=taken.rows.hole + 1)
        taken.holes += 1
        taken.missing = (known, taken.missing[1] if taken.missing else first)
    return increment_of(taken, source, one.leader_epoch)
