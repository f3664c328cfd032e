"""Re-batching by compiled loops; functions of `jobs.wire.rebatch.table.Kernels`.

Imported only when first used: numba takes about 100 MB and half a second. The loops report a fault as a
number; plain Python then finds what is wrong.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from jobs.wire.batches.record_batch import (
    BatchHeader,
    verify_crc,
    whole_header,
)
from jobs.wire.batches.records import RawRecord, read_raw, split_rest
from jobs.wire.batches.varints import wrap_int64
from jobs.wire.errors import ControlBatch, Damaged, RecordFormatError
from jobs.wire.rebatch import kernels as rebatch_kernels
from jobs.wire.rebatch import table as column
from jobs.wire.rebatch.table import BASE_OFFSET, ROW, Bytes, Content, Cut, Int64s


def alike(content: Content, mask: int, before: int, small_bytes: int, lengths: Int64s) -> int:
    """See `Kernels.alike`."""
    at = address_of(np.frombuffer(content, np.uint8))
    end = at + len(content)
    count: int = rebatch_kernels.alike(at, end, mask, before, small_bytes, lengths)
    return count


def scan(buffer: Content, lengths: Int64s, table: Int64s) -> None:
    """See `Kernels.scan`."""
    sound = rebatch_kernels.scan(address_of(np.frombuffer(buffer, np.uint8)), lengths, table)
    if sound == len(table) and rebatch_kernels.HAS_CRC:
        return
    batches = list(split(memoryview(buffer), lengths))
    for _, batch in batches[:sound]:
        verify_crc(batch)
    if sound < len(table):
        header = check(batches[sound][1])
        raise Damaged(header.base_offset, "is refused by the compiled loop alone")


def cut(  # noqa: PLR0913, PLR0917 - the form of `Kernels.cut`
    body: Content,
    table: Int64s,
    cursor: Int64s,
    from_offset: int,
    room_bytes: int,
    out: Bytes,
    offsets: Int64s,
) -> Cut:
    """See `Kernels.cut`."""
    before = cursor.copy()
    content = address_of(np.frombuffer(body, np.uint8))
    to = address_of(out)
    is_sound, *written = rebatch_kernels.cut(
        content, table, cursor, from_offset, room_bytes, to, offsets
    )
    if not is_sound:
        raise fault_behind(body, table, before, cursor)
    return Cut(*written)


def fault_behind(body: Content, table: Int64s, before: Int64s, cursor: Int64s) -> Damaged:
    """Return what is wrong behind a cursor."""
    try:
        deque(upcoming(body, table, before), maxlen=0)
    except Damaged as fault:
        return fault
    offset = int(table[cursor[ROW], BASE_OFFSET])
    return Damaged(offset, "has records that are refused by the compiled loop alone")


def address_of(content: Bytes) -> int:
    return int(content.ctypes.data)


_LAST_INT64 = (1 << 63) - 1


class Step(NamedTuple):
    """A record, and the cursor behind it."""

    cursor: tuple[int, int, int, int]
    offset: int
    timestamp: int
    raw: RawRecord


def split(buffer: memoryview, lengths: Int64s) -> Iterator[tuple[int, memoryview]]:
    """Yield each batch that is not passed over, and where it begins."""
    start = 0
    for length in lengths.tolist():
        if length >= 0:
            yield start, buffer[start : start + length]
        start += abs(length)


def check(batch: memoryview) -> BatchHeader:
    """Return the header of a batch that may be re-batched; raises a `BatchError`, `Damaged` first."""
    header = whole_header(batch)
    verify_crc(batch)
    if header.is_control:
        raise ControlBatch(header.base_offset)
    beyond = header.last_offset > _LAST_INT64
    if beyond or header.record_count < 0 or header.last_offset_delta < 0:
        counts = f"{header.record_count} records up to offset delta {header.last_offset_delta}"
        raise Damaged(header.base_offset, f"says it has {counts}")
    _ = header.codec  # raises for an unknown one
    return header


def upcoming(body: Content, table: Int64s, cursor: Int64s) -> Iterator[Step]:
    row, at, seen, previous = cursor.tolist()
    while row < len(table):
        for step in _of_batch(body, table[row].tolist(), (row, at, seen, previous)):
            yield step
            previous = step.offset
        row, at, seen = row + 1, -1, 0


def _of_batch(body: Content, batch: list[int], cursor: tuple[int, int, int, int]) -> Iterator[Step]:
    row, at, seen, previous = cursor
    if at < 0:
        at = batch[column.START]
    records = memoryview(body)[: batch[column.END]]
    while seen < batch[column.COUNT]:
        raw, at = _read(records, at, batch)
        seen += 1
        offset = batch[column.BASE_OFFSET] + raw.offset_delta
        if not previous < offset <= batch[column.LAST_OFFSET] or raw.offset_delta < 0:
            raise Damaged(batch[column.BASE_OFFSET], f"has offset {offset} after {previous}")
        previous = offset
        yield Step((row, at, seen, previous), offset, _timestamp(batch, raw), raw)
    if at != batch[column.END]:
        left = batch[column.END] - at
        raise Damaged(batch[column.BASE_OFFSET], f"has {left} bytes behind its last record")


def _read(records: memoryview, at: int, batch: list[int]) -> tuple[RawRecord, int]:
    try:
        raw, after = read_raw(records, at)
        split_rest(raw.rest)
    except RecordFormatError as error:
        raise Damaged(batch[column.BASE_OFFSET], str(error)) from None
    return raw, after


def _timestamp(batch: list[int], raw: RawRecord) -> int:
    if batch[column.LOG_APPEND_TIME]:
        return batch[column.MAX_TIMESTAMP]
    return wrap_int64(batch[column.BASE_TIMESTAMP] + raw.timestamp_delta)
