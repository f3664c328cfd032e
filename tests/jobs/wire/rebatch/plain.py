"""Re-batching in plain Python, the oracle of the compiled loops: functions of `rebatch.table.Kernels`."""

from __future__ import annotations

from contextlib import suppress

import numpy as np

from jobs.wire.batches.record_batch import (
    COMPRESSION_MASK,
    HEADER_BYTES,
    NO_TIMESTAMP,
    BatchHeader,
    has_possible_offsets,
    iterate_batches,
)
from jobs.wire.batches.records import RawRecord, encode_raw, split_rest
from jobs.wire.batches.varints import wrap_int64
from jobs.wire.errors import RecordFormatError
from jobs.wire.rebatch import table as column
from jobs.wire.rebatch.compiled import Step, check, split, upcoming
from jobs.wire.rebatch.table import Bytes, Content, Cut, Int64s

_ALL_64 = (1 << 64) - 1
_MORE = 0x80


def alike(content: Content, mask: int, before: int, small_bytes: int, lengths: Int64s) -> int:
    """See `Kernels.alike`."""
    batches = iterate_batches(content)
    first, _ = next(batches)
    if not has_possible_offsets(first):
        return 0
    last, count, found = first.last_offset, 0, 0
    with suppress(RecordFormatError):  # what is no batch is not alike
        for header, batch in batches:
            is_next = last < header.base_offset <= header.last_offset < before
            if not is_next or header.partition_leader_epoch != first.partition_leader_epoch:
                break
            last = header.last_offset
            if _is_commit(header, batch):
                lengths[count] = -len(batch)
            elif _is_alike(header, first, mask) and len(batch) < small_bytes:
                lengths[count] = len(batch)
                found = count + 1
            else:
                break
            count += 1
    return found


def _is_alike(header: BatchHeader, first: BatchHeader, mask: int) -> bool:
    has_data = not header.is_control and header.record_count > 0
    return has_data and header.attributes & mask == first.attributes & mask


def _is_commit(header: BatchHeader, batch: memoryview) -> bool:
    if not header.is_control or header.attributes & COMPRESSION_MASK:
        return False
    content = bytearray(batch[column.COMMIT_AT : column.COMMIT_AT + len(column.COMMIT)])
    content[column.VERSION_FROM : column.VERSION_TO] = bytes(2)
    return content == bytes(column.COMMIT) and batch[HEADER_BYTES] < _MORE


def scan(buffer: Content, lengths: Int64s, table: Int64s) -> None:
    """See `Kernels.scan`."""
    for row, (start, batch) in enumerate(split(memoryview(buffer), lengths)):
        header = check(batch)
        table[row] = (
            start + HEADER_BYTES,
            start + len(batch),
            header.record_count,
            header.base_offset,
            header.last_offset,
            header.base_timestamp,
            header.max_timestamp,
            header.is_log_append_time,
            header.codec,
        )


def cut(
    body: Content,
    table: Int64s,
    cursor: Int64s,
    from_offset: int,
    room_bytes: int,
    out: Bytes,
    offsets: Int64s,
) -> Cut:
    """See `Kernels.cut`."""
    written = Cut(0, 0, NO_TIMESTAMP, NO_TIMESTAMP, 0)
    for step in upcoming(body, table, cursor):
        if step.offset >= from_offset:
            encoded = _moved(step, written)
            end = written.size_bytes + len(encoded)
            if written.record_count and end > room_bytes:
                break
            out[written.size_bytes : end] = np.frombuffer(encoded, np.uint8)
            offsets[written.record_count] = step.offset
            written = _with(written, step, len(encoded))
        cursor[:] = step.cursor
    else:
        cursor[column.ROW] = len(table)
    return written


def hash_of(content: bytes) -> int:
    """Return the hash of some bytes, 64 bits with a sign."""
    hashed = _mixed(column.HASH_SEED, len(content))
    whole = len(content) // 8 * 8
    for at in range(0, whole, 8):
        hashed = _mixed(hashed, int.from_bytes(content[at : at + 8], "big"))
    hashed = _mixed(hashed, int.from_bytes(content[whole:], "big"))
    return wrap_int64(_mixed(hashed, column.HASH_SEED))


def _mixed(hashed: int, word: int) -> int:
    hashed = (hashed ^ word) * column.HASH_FACTOR & _ALL_64
    return hashed ^ hashed >> 32


def _moved(step: Step, written: Cut) -> bytes:
    """Return the record with the deltas of its new place."""
    first = written.first_timestamp if written.record_count else step.timestamp
    return encode_raw(
        RawRecord(
            step.raw.attributes,
            wrap_int64(step.timestamp - first),
            written.record_count,
            step.raw.rest,
        )
    )


def _with(written: Cut, step: Step, size_bytes: int) -> Cut:
    key, value, _ = split_rest(step.raw.rest)
    is_first = not written.record_count
    return Cut(
        record_count=written.record_count + 1,
        size_bytes=written.size_bytes + size_bytes,
        first_timestamp=step.timestamp if is_first else written.first_timestamp,
        max_timestamp=step.timestamp if is_first else max(step.timestamp, written.max_timestamp),
        key_value_bytes=written.key_value_bytes + len(key or b"") + len(value or b""),
    )
