"""From fetched bytes to outgoing batches: what is dropped, what passes as it is, what is repacked.

Dropped: transaction markers, batches of aborted transactions (read_committed), batches below the
position. Passed: a dense batch of a good size. Repacked: everything else that format v2 can hold,
which is batches with gaps (compaction), batches that begin before the position, small ones, those
that are too large for the target, and those whose timestamps the source's broker had set.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, groupby
from typing import NamedTuple

from jobs.replication.copy.batches.outgoing import OutgoingBatch
from jobs.wire.batches.record_batch import (
    COMPRESSION_MASK,
    HIGHEST_OFFSET,
    TRANSACTIONAL_MASK,
    BatchHeader,
    Codec,
    ControlType,
    control_type,
    iterate_batches,
    verify_crc,
)
from jobs.wire.batches.records import encode_batch, placed_records
from jobs.wire.errors import BatchError, Damaged, RecordFormatError
from jobs.wire.rebatch.rebatcher import NewBatch, alike, rebatch

Aborted = tuple[int, int]
"""Producer id and first offset of an aborted transaction, as Fetch tells."""


class Run(NamedTuple):
    """Batches one behind the other that can be packed together: mostly one, or many small ones.

    The lengths are those of the batches, negative for the commit markers between them.
    """

    header: BatchHeader
    content: memoryview
    lengths: Sequence[int]

    @property
    def is_one(self) -> bool:
        """Whether it is only one batch."""
        return len(self.lengths) == 1

    @property
    def last(self) -> BatchHeader:
        """The header of the last batch; `header` is the first one's."""
        return self.header if self.is_one else BatchHeader.decode(self.content[-self.lengths[-1] :])

    def one_by_one(self) -> Iterator[Run]:
        """Yield a run for each batch."""
        for header, batch in iterate_batches(self.content):
            if not header.is_control:
                yield Run(header, batch, (len(batch),))


# Below this many bytes a batch costs more as a request of its own than its packing with others. What
# is compressed must be decompressed for that, so it is worth it for the very small ones only.
SMALL_BYTES = {
    Codec.NONE: 32 * 1024,
    Codec.LZ4: 4096,
    Codec.SNAPPY: 4096,
    Codec.GZIP: 1024,
    Codec.ZSTD: 2048,
}
TARGET_BYTES = 512 * 1024


@dataclass(slots=True)
class FilteredBatches:
    """What came out of some fetched bytes: outgoing batches, and the position behind all that was looked at.

    `problem` is why nothing can be taken from `next_offset` on. `last_seen` is the last offset of the last
    whole batch.
    """

    batches: list[OutgoingBatch] = field(default_factory=list)
    next_offset: int = 0
    leader_epoch: int = -1
    problem: RecordFormatError | None = None
    last_seen: int | None = None

    def stop(self, offset: int, problem: RecordFormatError) -> None:
        """Note that nothing can be taken from an offset on."""
        self.next_offset, self.problem = offset, problem


@dataclass(slots=True)
class BatchFilter:
    """Takes the bytes of one partition, fetch after fetch; knows nothing of the fetch before.

    `limit_bytes` is the remote topic's max.message.bytes. `until`: the first offset that is not wanted. Bytes
    with a wrong checksum are found where they have to be opened; what passes unopened is checked by the
    target.
    """

    limit_bytes: int
    read_committed: bool = True
    small_bytes: dict[Codec, int] = field(default_factory=lambda: dict(SMALL_BYTES))
    target_bytes: int = TARGET_BYTES
    until: int | None = None

    def filter(
        self, fetched: memoryview, position: int, aborted: Sequence[Aborted] = ()
    ) -> FilteredBatches:
        """Sort the batches of one fetch that began at `position`.

        `aborted` are all aborted transactions that reach into these bytes, whenever they began.
        """
        filtered = FilteredBatches(next_offset=position)
        waiting: list[Run] = []
        try:
            for run in self._kept(fetched, position, aborted, filtered):
                if not self._passes(run.header, position):
                    waiting.append(run)
                    continue
                self._pack(waiting, position, filtered)
                waiting = []
                if filtered.problem is not None:
                    break
                filtered.batches.append(_as_it_is(run))
        except RecordFormatError as error:
            self._stop(error, position, waiting, filtered)
        else:
            self._pack(waiting, position, filtered)
            _check_headway(filtered, position)
        _close_gaps(filtered.batches, position)
        return filtered

    def _stop(
        self,
        error: RecordFormatError,
        position: int,
        waiting: list[Run],
        filtered: FilteredBatches,
    ) -> None:
        """Take what is before a batch that cannot be taken."""
        offset = error.offset if isinstance(error, BatchError) else filtered.next_offset
        self._pack(waiting, position, filtered)
        if filtered.problem is None:
            filtered.stop(max(position, offset), error)

    def _kept(
        self,
        fetched: memoryview,
        position: int,
        aborted: Iterable[Aborted],
        filtered: FilteredBatches,
    ) -> Iterator[Run]:
        coming = sorted(aborted, key=lambda pair: pair[1], reverse=True)
        aborting: set[int] = set()
        batches, at = iterate_batches(fetched), 0
        while (found := next(batches, None)) is not None:
            header, batch = found
            filtered.last_seen = header.last_offset
            if self.until is not None and header.base_offset >= self.until:
                filtered.next_offset = max(position, self.until)
                return
            while coming and coming[-1][1] <= header.last_offset:
                aborting.add(coming.pop()[0])
            run = Run(header, batch, (len(batch),))
            if self._wants(header, batch, aborting) and header.next_offset > position:
                if self._is_small(header) and not (aborting and header.is_transactional):
                    mask = COMPRESSION_MASK | (TRANSACTIONAL_MASK if aborting else 0)
                    run = self._with_alike(run, fetched[at:], mask, coming)
                yield from self._cut(run)
            at += len(run.content)
            if not run.is_one:
                batches = iterate_batches(fetched[at:])
            self._pass(run.last, filtered)

    def _with_alike(self, run: Run, rest: memoryview, mask: int, coming: Sequence[Aborted]) -> Run:
        """Return a small batch with those behind it that need not be looked at one by one."""
        if len(rest) == len(run.content):
            return run
        before = HIGHEST_OFFSET if self.until is None else self.until
        if coming:
            before = min(before, coming[-1][1])
        small_bytes = self.small_bytes[run.header.codec]
        behind = alike(rest, mask=mask, before=before, small_bytes=small_bytes)
        lengths = [*run.lengths, *behind]
        return Run(run.header, rest[: sum(map(abs, lengths))], lengths)

    def _pass(self, last: BatchHeader, filtered: FilteredBatches) -> None:
        """Note that everything up to a batch was looked at."""
        filtered.last_seen = last.last_offset
        if last.next_offset > filtered.next_offset:
            filtered.next_offset = self._until(last.next_offset)
            filtered.leader_epoch = last.partition_leader_epoch

    def _until(self, offset: int) -> int:
        return offset if self.until is None else min(offset, self.until)

    def _wants(self, header: BatchHeader, batch: memoryview, aborting: set[int]) -> bool:
        """Whether this batch holds records for the target; an abort marker ends what it aborts."""
        if header.is_control:
            if control_type(batch) is ControlType.ABORT:
                aborting.discard(header.producer_id)
            return False
        if self.read_committed and header.is_transactional and header.producer_id in aborting:
            return False
        return header.record_count > 0

    def _cut(self, run: Run) -> Iterator[Run]:
        """Leave out the records of a batch that are not wanted any more; nearly always there are none."""
        until, header = self.until, run.header
        if until is None or header.last_offset < until:
            yield run
            return
        verify_crc(run.content)
        records = [record for record in placed_records(run.content) if record.offset < until]
        if records:
            epoch = header.partition_leader_epoch
            made = encode_batch(records, codec=header.codec, partition_leader_epoch=epoch)
            yield Run(BatchHeader.decode(made), memoryview(made), (len(made),))

    def _could_pass(self, header: BatchHeader, position: int) -> bool:
        return (
            header.is_claimable
            and header.base_offset >= position
            and header.size_bytes <= self.limit_bytes
            and not header.is_log_append_time
        )

    def _is_small(self, header: BatchHeader) -> bool:
        return header.size_bytes < self.small_bytes[header.codec]

    def _passes(self, header: BatchHeader, position: int) -> bool:
        return not self._is_small(header) and self._could_pass(header, position)

    def _pack(self, waiting: list[Run], position: int, filtered: FilteredBatches) -> None:
        """Pack what waits into new batches; one batch alone that is only small passes as it is."""
        alone = waiting[0] if len(waiting) == 1 and waiting[0].is_one else None
        if alone is not None and self._could_pass(alone.header, position):
            filtered.batches.append(_as_it_is(alone))
            return
        for group in _groups(waiting):
            try:
                filtered.batches.extend(self._packed(group, position))
            except RecordFormatError:
                if not self._pack_one_by_one(group, position, filtered):
                    return

    def _pack_one_by_one(
        self, group: Sequence[Run], position: int, filtered: FilteredBatches
    ) -> bool:
        """Take the batches before the one that cannot be opened; say whether it was all of them."""
        for one in chain.from_iterable(run.one_by_one() for run in group):
            try:
                filtered.batches.extend(self._packed([one], position))
            except RecordFormatError as error:
                filtered.stop(max(position, one.header.base_offset), error)
                return False
        return True

    def _packed(self, group: Sequence[Run], position: int) -> list[OutgoingBatch]:
        made = rebatch(
            [run.content for run in group],
            lengths=[length for run in group for length in run.lengths],
            from_offset=position,
            codec=group[0].header.codec,
            target_bytes=min(self.target_bytes, self.limit_bytes),
            limit_bytes=self.limit_bytes,
        )
        return [_as_packed(batch, group[0].header.partition_leader_epoch) for batch in made]


def _groups(waiting: Sequence[Run]) -> Iterator[list[Run]]:
    """Split what waits so that every record keeps its compression and its leader epoch."""
    for _, group in groupby(
        waiting, key=lambda run: (run.header.codec, run.header.partition_leader_epoch)
    ):
        yield list(group)


def _as_it_is(run: Run) -> OutgoingBatch:
    header = run.header
    return OutgoingBatch(
        batch=run.content,
        from_offset=header.base_offset,
        first_offset=header.base_offset,
        next_offset=header.next_offset,
        record_count=header.record_count,
        max_timestamp_ms=header.max_timestamp,
        leader_epoch=header.partition_leader_epoch,
    )


def _as_packed(made: NewBatch, leader_epoch: int) -> OutgoingBatch:
    return OutgoingBatch(
        batch=memoryview(made.header_and_records),
        from_offset=made.first_offset,
        first_offset=made.first_offset,
        next_offset=made.last_offset + 1,
        record_count=made.record_count,
        max_timestamp_ms=made.max_timestamp,
        leader_epoch=leader_epoch,
        offsets=made.offsets,
        is_packed=True,
    )


def _check_headway(filtered: FilteredBatches, position: int) -> None:
    """Stop where every batch of an answer ends before the requested offset: asking again would never end."""
    if (
        filtered.last_seen is not None
        and filtered.last_seen < position
        and filtered.problem is None
    ):
        text = f"ends the answer to a question for offset {position}"
        filtered.stop(position, Damaged(filtered.last_seen, text))


def _close_gaps(batches: Iterable[OutgoingBatch], position: int) -> None:
    """Let every outgoing batch begin where the one before it ended: what lies between holds no records."""
    for outgoing in batches:
        outgoing.from_offset = position
        position = outgoing.next_offset
