"""Re-batching: source batches that cannot pass as they are become dense batches of a good size.

That is for batches that are small, compacted, begun in the middle, or stamped by the source's broker. What a
consumer sees of a record stays byte for byte; only its length and its two deltas are rewritten.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from jobs.wire.batches import compression
from jobs.wire.batches.compression import EXPANSION_LIMIT_BYTES, compress, decompress
from jobs.wire.batches.record_batch import (
    CODECS,
    HEADER_BYTES,
    MAGIC,
    NO_LEADER_EPOCH,
    NO_PRODUCER_EPOCH,
    NO_PRODUCER_ID,
    NO_SEQUENCE,
    BatchHeader,
    Codec,
)
from jobs.wire.batches.records import SHORTEST_RECORD_BYTES, PlacedRecord, encode_batch, seal
from jobs.wire.errors import Damaged, ExpandsTooFar, RecordFormatError
from jobs.wire.rebatch.table import (
    BASE_OFFSET,
    CODEC,
    COLUMNS,
    COUNT,
    CURSOR_START,
    END,
    LAST_OFFSET,
    ROW,
    START,
    Bytes,
    Content,
    Cut,
    Int64s,
    Kernels,
)

# By how much a record can grow when its length and deltas get their longest form.
_GROWTH_BYTES = 17


@dataclass(frozen=True, slots=True, eq=False)
class NewBatch:
    """A dense batch with base offset 0 and without a producer, and where its records come from.

    `offsets` are the upstream offsets of its records; None when they are first_offset + i.
    `max_timestamp` is in ms since 1970, -1 for none; `key_value_bytes` are counted uncompressed.
    """

    header_and_records: bytes
    record_count: int
    first_offset: int
    last_offset: int
    offsets: Int64s | None
    max_timestamp: int
    key_value_bytes: int


def rebatch(  # noqa: PLR0913 - `lengths` is for runs of small batches, `kernels` for tests
    batches: Sequence[memoryview | bytes],
    *,
    from_offset: int,
    codec: Codec | None,
    target_bytes: int,
    limit_bytes: int,
    lengths: Sequence[int] | None = None,
    kernels: Kernels | None = None,
) -> list[NewBatch]:
    """Return the records of consecutive batches of one partition in new batches.

    `lengths` are those of all batches, where a part of `batches` holds several, one behind the other; a
    negative one is that of bytes to be passed over.
    `codec`: None takes that of the first input. Records below `from_offset` are left out. A new batch has
    at most `target_bytes` of uncompressed records and `limit_bytes` in all, except where a single record
    is larger: then it is alone in its batch, and the caller sees the size. With LogAppendTime a record
    gets the time that consumers saw, its batch's max_timestamp; the output is always CreateTime.

    Every input's CRC is checked before a new one is made, so nothing damaged gets a valid CRC. Raises
    `Damaged`, `OldMagic`, `ControlBatch` or `ExpandsTooFar`, and then returns nothing: what comes before the
    error's offset may be given again without the rest. Batches that only together expand too far may be given
    one at a time. Memory: about three times the expanded input.
    """
    if not batches:
        return []
    kernels = kernels or compiled_kernels()
    body, table, first_codec = _opened(batches, lengths, from_offset, kernels)
    room_bytes = max(1, min(target_bytes, limit_bytes - HEADER_BYTES))
    packer = _Packer(
        kernels=kernels,
        body=body,
        table=table,
        from_offset=from_offset,
        codec=first_codec if codec is None else codec,
        limit_bytes=limit_bytes,
        cursor=np.array(CURSOR_START, np.int64),
        out=np.frombuffer(compression.room("records", _capacity(table, room_bytes)), np.uint8),
        offsets=_int64s("offsets", int(table[:, COUNT].sum())),
    )
    return packer.all_batches(room_bytes)


def alike(
    content: memoryview,
    *,
    mask: int,
    before: int,
    small_bytes: int,
    kernels: Kernels | None = None,
) -> list[int]:
    """Return the lengths of the small batches that follow the first one and are like it: `Kernels.alike`."""
    room = _int64s("lengths", len(content) // HEADER_BYTES)
    count = (kernels or compiled_kernels()).alike(content, mask, before, small_bytes, room)
    lengths: list[int] = room[:count].tolist()
    return lengths


def open_batches(
    batches: Sequence[memoryview | bytes], kernels: Kernels | None = None
) -> tuple[Content, Int64s]:
    """Return the expanded records of consecutive batches, and their table; raises as `rebatch` does."""
    return _opened(batches, None, 0, kernels or compiled_kernels())[:2]


def change_points(
    offsets: Int64s | None, first_offset: int, count: int, base_downstream: int
) -> Int64s:
    """Return the first (upstream, downstream), a row each, of every stretch of constant difference.

    For a `NewBatch` that was written at the downstream offset `base_downstream`.
    """
    if offsets is None or count == 0:
        return np.array([(first_offset, base_downstream)] * min(count, 1), np.int64).reshape(-1, 2)
    starts = np.flatnonzero(np.diff(offsets, prepend=offsets[0] - 2) != 1)
    return np.column_stack((offsets[starts], base_downstream + starts))


def compiled_kernels() -> Kernels:
    """Return the compiled loops; the first call imports numba.

    Set NUMBA_CACHE_DIR before the first call, else compiled code is kept beside the source, where it can.
    """
    from jobs.wire.rebatch import compiled

    return compiled


def warm_up() -> None:
    """Compile before the first records wait for it (seconds, once a machine)."""
    one = encode_batch([PlacedRecord(offset=0, timestamp=0, key=None, value=b"")])
    rebatch([one], from_offset=0, codec=None, target_bytes=1, limit_bytes=HEADER_BYTES)
    alike(memoryview(one), mask=0, before=1, small_bytes=1)


@dataclass(slots=True)
class _Packer:
    """The records that are left, and where they are written to."""

    kernels: Kernels
    body: Content
    table: Int64s
    from_offset: int
    codec: Codec
    limit_bytes: int
    cursor: Int64s
    out: Bytes
    offsets: Int64s

    def all_batches(self, room_bytes: int) -> list[NewBatch]:
        made = []
        while (batch := self._next(room_bytes)) is not None:
            made.append(batch)
        return made

    def _next(self, room_bytes: int) -> NewBatch | None:
        begun = self.cursor.copy()
        while self.cursor[ROW] < len(self.table):
            cut = self._cut(room_bytes)
            if cut.record_count == 0:
                break
            batch = self._batch(cut)
            if len(batch) <= self.limit_bytes or cut.record_count == 1:
                return self._described(batch, cut)
            # Compression made it longer: the same records again, in two.
            self.cursor[:] = begun
            room_bytes = cut.size_bytes // 2
        return None

    def _cut(self, room_bytes: int) -> Cut:
        return self.kernels.cut(
            self.body,
            self.table,
            self.cursor,
            self.from_offset,
            room_bytes,
            self.out,
            self.offsets,
        )

    def _batch(self, cut: Cut) -> bytes:
        records = self.out[: cut.size_bytes].data
        header = BatchHeader(
            base_offset=0,
            batch_length=0,
            partition_leader_epoch=NO_LEADER_EPOCH,
            magic=MAGIC,
            crc=0,
            attributes=self.codec,
            last_offset_delta=cut.record_count - 1,
            base_timestamp=cut.first_timestamp,
            max_timestamp=cut.max_timestamp,
            producer_id=NO_PRODUCER_ID,
            producer_epoch=NO_PRODUCER_EPOCH,
            base_sequence=NO_SEQUENCE,
            record_count=cut.record_count,
        )
        return seal(header, records if self.codec is Codec.NONE else compress(self.codec, records))

    def _described(self, batch: bytes, cut: Cut) -> NewBatch:
        offsets = self.offsets[: cut.record_count]
        first, last = int(offsets[0]), int(offsets[-1])
        return NewBatch(
            header_and_records=batch,
            record_count=cut.record_count,
            first_offset=first,
            last_offset=last,
            offsets=None if last - first + 1 == cut.record_count else offsets.copy(),
            max_timestamp=cut.max_timestamp,
            key_value_bytes=cut.key_value_bytes,
        )


def _opened(
    batches: Sequence[memoryview | bytes],
    lengths: Sequence[int] | None,
    from_offset: int,
    kernels: Kernels,
) -> tuple[Content, Int64s, Codec]:
    """Check all batches, expand those that are wanted; return their bytes and table, and the first codec."""
    buffer = batches[0] if len(batches) == 1 else compression.joined(batches)
    sizes = np.array(list(map(len, batches)) if lengths is None else lengths, np.int64)
    rows = int(np.count_nonzero(sizes >= 0))
    table = _int64s("table", COLUMNS * rows).reshape(-1, COLUMNS)
    kernels.scan(buffer, sizes, table)
    first_codec = Codec(int(table[0, CODEC]))
    wanted = table[:, LAST_OFFSET] >= from_offset
    if not wanted.all():
        table = table[wanted]
    body = _expanded(buffer, table) if table[:, CODEC].any() else buffer
    _check_counts(table)
    return body, table, first_codec


def _expanded(buffer: Content, table: Int64s) -> bytes:
    """Return the records of all batches without headers and compression; the table then says where.

    Each alone may expand to the limit, and so may all together: many small bombs make a large one.
    """
    view = memoryview(buffer)
    parts: list[bytes | memoryview] = []
    at, ends = 0, [0]
    for batch in table.tolist():
        parts.append(_records_of(view, batch))
        at += len(parts[-1])
        ends.append(at)
        if at > EXPANSION_LIMIT_BYTES and len(parts) > 1:
            raise ExpandsTooFar("consecutive batches", EXPANSION_LIMIT_BYTES)
    table[:, START], table[:, END] = ends[:-1], ends[1:]
    return b"".join(parts)


def _int64s(use: str, size: int) -> Int64s:
    return np.frombuffer(compression.room(use, 8 * size), np.int64, size)


def _records_of(buffer: memoryview, batch: Sequence[int]) -> bytes | memoryview:
    records = buffer[batch[START] : batch[END]]
    if not batch[CODEC] or not records:
        return records
    offset = batch[BASE_OFFSET]
    try:
        return decompress(CODECS[batch[CODEC]], records, EXPANSION_LIMIT_BYTES)
    except ExpandsTooFar as error:
        raise ExpandsTooFar(f"record batch at offset {offset}", error.limit_bytes) from None
    except RecordFormatError as error:
        raise Damaged(offset, str(error)) from None


def _check_counts(table: Int64s) -> None:
    """Refuse counts that the bytes cannot hold, before memory is taken for them."""
    too_many = table[:, COUNT] * SHORTEST_RECORD_BYTES > table[:, END] - table[:, START]
    for batch in table[too_many][:1]:
        size = int(batch[END] - batch[START])
        raise Damaged(
            int(batch[BASE_OFFSET]), f"says it has {batch[COUNT]} records in {size} bytes"
        )


def _capacity(table: Int64s, room_bytes: int) -> int:
    """Return how long the longest output can get: a full room, or one record alone."""
    sizes = table[:, END] - table[:, START]
    everything = int(sizes.sum() + _GROWTH_BYTES * table[:, COUNT].sum())
    alone = int(sizes.max(initial=0)) + _GROWTH_BYTES
    return max(min(room_bytes, everything), alone)
