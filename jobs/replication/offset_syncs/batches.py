"""Offset syncs out of fetched bytes: whole batches, and where records were removed between them.

Only whole batches show that. To a consumer, records that were compacted away and transaction markers are the
same: offsets without a record. Where the cleaner was at work, any sync but the last of a partition may be
missing, so that place is a hole, see `SyncRows`. A sync is known from the time on that its batch says: not
before the newest record of it was there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from jobs.cluster.descriptions import TopicPartition
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
    (`skips_begun`; what is missing before that is for whoever has the range before), and ends before the
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
