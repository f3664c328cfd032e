"""From fetched bytes to parcels: what is dropped, what passes as it is, what is packed anew.

Dropped: transaction markers, batches of aborted transactions (read_committed), batches below the
position. Passed: a dense batch of a good size. Packed anew: everything else that format v2 can hold,
which is batches with gaps (compaction), batches that begin before the position, small ones, those
that are too large for the target, and those whose timestamps the source's broker had set.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from jobs.wire.errors import OldMagic
from jobs.wire.rebatch import NewBatch, rebatch
from jobs.wire.record_batch import BatchHeader, Codec, ControlType, control_type, iterate_batches

Aborted = tuple[int, int]
"""Producer id and first offset of an aborted transaction, as Fetch tells."""

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
class Parcel:
    """One batch on its way to the target.

    It stands for the upstream offsets from `from_offset` (where the one before it ended) up to
    `next_offset`; `offsets` are those of its records, None when they are dense from `first_offset`.
    `is_packed`: crosslog made this batch, it is not the source's own.
    """

    batch: memoryview
    from_offset: int
    first_offset: int
    next_offset: int
    record_count: int
    max_timestamp_ms: int
    leader_epoch: int
    offsets: npt.NDArray[np.int64] | None = None
    is_packed: bool = False

    @property
    def last_offset(self) -> int:
        """Upstream offset of the newest record."""
        return (
            self.first_offset + self.record_count - 1
            if self.offsets is None
            else int(self.offsets[-1])
        )


@dataclass(slots=True)
class Taken:
    """What came out of some fetched bytes: parcels, and the position behind all that was looked at.

    `stopped_at` is the offset of a batch that only the record path can copy.
    """

    parcels: list[Parcel] = field(default_factory=list)
    next_offset: int = 0
    leader_epoch: int = -1
    stopped_at: int | None = None


@dataclass(slots=True)
class Intake:
    """Takes the bytes of one partition, fetch after fetch.

    `limit_bytes` is the remote topic's max.message.bytes. Raises `Damaged` for bytes whose checksum
    is wrong where they had to be opened; what passes unopened is checked by the target.
    """

    limit_bytes: int
    read_committed: bool = True
    small_bytes: dict[Codec, int] = field(default_factory=lambda: dict(SMALL_BYTES))
    target_bytes: int = TARGET_BYTES
    _aborting: set[int] = field(default_factory=set)

    def take(self, fetched: memoryview, position: int, aborted: Sequence[Aborted] = ()) -> Taken:
        """Sort the batches of one fetch that began at `position`."""
        taken = Taken(next_offset=position)
        group: list[tuple[BatchHeader, memoryview]] = []
        try:
            for header, batch in self._kept(fetched, position, aborted, taken):
                if self._passes(header, position):
                    self._pack(group, position, taken)
                    group = []
                    taken.parcels.append(_as_it_is(header, batch))
                else:
                    group.append((header, batch))
        except OldMagic as old:
            taken.stopped_at = old.offset
        self._pack(group, position, taken)
        _close_gaps(taken.parcels, position)
        return taken

    def restart(self) -> None:
        """Forget which transactions are open: fetching goes on from another offset."""
        self._aborting.clear()

    def _kept(
        self, fetched: memoryview, position: int, aborted: Iterable[Aborted], taken: Taken
    ) -> Iterator[tuple[BatchHeader, memoryview]]:
        coming = sorted(aborted, key=lambda pair: pair[1], reverse=True)
        for header, batch in iterate_batches(fetched):
            while coming and coming[-1][1] <= header.last_offset:
                self._aborting.add(coming.pop()[0])
            is_wanted = self._wants(header, batch) and header.next_offset > position
            if header.next_offset > taken.next_offset:
                taken.next_offset = header.next_offset
                taken.leader_epoch = header.partition_leader_epoch
            if is_wanted:
                yield header, batch

    def _wants(self, header: BatchHeader, batch: memoryview) -> bool:
        """Whether this batch holds records for the target; an abort marker ends what it aborts."""
        if header.is_control:
            if control_type(batch) is ControlType.ABORT:
                self._aborting.discard(header.producer_id)
            return False
        if self.read_committed and header.is_transactional and header.producer_id in self._aborting:
            return False
        return header.record_count > 0

    def _could_pass(self, header: BatchHeader, position: int) -> bool:
        return (
            header.is_claimable
            and header.base_offset >= position
            and header.size_bytes <= self.limit_bytes
            and not header.is_log_append_time
        )

    def _passes(self, header: BatchHeader, position: int) -> bool:
        is_small = header.size_bytes < self.small_bytes[header.codec]
        return not is_small and self._could_pass(header, position)

    def _pack(
        self, group: list[tuple[BatchHeader, memoryview]], position: int, taken: Taken
    ) -> None:
        """Pack a run of batches anew; one alone that is only small passes as it is."""
        if len(group) == 1 and self._could_pass(group[0][0], position):
            taken.parcels.append(_as_it_is(*group[0]))
            return
        for codec, run in _by_codec(group):
            made = rebatch(
                [batch for _, batch in run],
                from_offset=position,
                codec=codec,
                target_bytes=min(self.target_bytes, self.limit_bytes),
                limit_bytes=self.limit_bytes,
            )
            epoch = run[-1][0].partition_leader_epoch
            taken.parcels.extend(_packed(batch, epoch) for batch in made)


def _by_codec(
    group: Sequence[tuple[BatchHeader, memoryview]],
) -> Iterator[tuple[Codec, list[tuple[BatchHeader, memoryview]]]]:
    """Split a run where its compression changes, so that every record keeps that of its source."""
    run: list[tuple[BatchHeader, memoryview]] = []
    for header, batch in group:
        if run and run[-1][0].codec is not header.codec:
            yield run[0][0].codec, run
            run = []
        run.append((header, batch))
    if run:
        yield run[0][0].codec, run


def _as_it_is(header: BatchHeader, batch: memoryview) -> Parcel:
    return Parcel(
        batch=batch,
        from_offset=header.base_offset,
        first_offset=header.base_offset,
        next_offset=header.next_offset,
        record_count=header.record_count,
        max_timestamp_ms=header.max_timestamp,
        leader_epoch=header.partition_leader_epoch,
    )


def _packed(made: NewBatch, leader_epoch: int) -> Parcel:
    return Parcel(
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


def _close_gaps(parcels: Iterable[Parcel], position: int) -> None:
    """Let every parcel begin where the one before it ended: what lies between holds no records."""
    for parcel in parcels:
        parcel.from_offset = position
        position = parcel.next_offset
