"""The two loops of re-batching, compiled by numba: checking batches, and cutting their records anew.

They release the GIL and stay inside their arrays whatever the bytes say: every address is compared with
an end before it is read, and a fault is a number. `jobs.wire.rebatch_plain` does the same in plain words.

All compiled code stands in this one file: numba's cache does not notice a change in another one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numba
from llvmlite import binding, ir  # type: ignore[import-untyped] # it has no types
from numba.core import cgutils
from numba.extending import intrinsic

from jobs.wire.rebatch_table import (
    AT,
    BASE_OFFSET,
    BASE_TIMESTAMP,
    CODEC,
    COUNT,
    END,
    LAST_OFFSET,
    LOG_APPEND_TIME,
    MAX_TIMESTAMP,
    PREVIOUS,
    ROW,
    SEEN,
    START,
    Int64s,
)
from jobs.wire.record_batch import (
    COMPRESSION_MASK,
    CONTROL_MASK,
    CRC_FROM,
    HEADER_BYTES,
    MAGIC,
    TIMESTAMP_TYPE_MASK,
    Codec,
)

F = TypeVar("F", bound=Callable[..., Any])
Pair = tuple[int, int]
# Where attributes, rest and next record begin; deltas of timestamp and offset; bytes of key and value.
Parsed = tuple[int, int, int, int, int, int]

# Whether compiled code can use the processor's own CRC-32C; elsewhere the library's is called per batch.
HAS_CRC = bool(binding.get_host_cpu_features().get("sse4.2"))
# A position behind every end, so far from overflow that lengths may still be added to it.
_BEYOND = 1 << 62
_MORE = 0x80
_LAST_CODEC = int(Codec.ZSTD)
_LOW_32 = 0xFFFFFFFF
# What is left of a sign after a shift to the right by seven.
_LOW_57 = (1 << 57) - 1
_LOW_63 = (1 << 63) - 1


def compiled(function: F) -> F:
    """Compile at the first call; anew in every process where no cache folder can be written."""
    made: Any
    try:
        made = numba.njit(function, nogil=True, cache=True)
    except RuntimeError:
        made = numba.njit(function, nogil=True)
    return made  # type: ignore[no-any-return] # it is called like the function itself


def inlined(function: F) -> F:
    """Let compiled functions take in the code of this one; a call for each byte costs 5 times as much."""
    made: Any = numba.njit(function, forceinline=True)
    return made  # type: ignore[no-any-return] # as above


def _loading(_context: Any, place: Any) -> Any:
    def generate(_context: Any, builder: Any, _signature: Any, values: Any) -> Any:
        byte = builder.load(builder.inttoptr(values[0], ir.IntType(8).as_pointer()))
        return builder.zext(byte, ir.IntType(64))

    return numba.int64(place), generate


def _storing(_context: Any, place: Any, byte: Any) -> Any:
    def generate(context: Any, builder: Any, _signature: Any, values: Any) -> Any:
        target = builder.inttoptr(values[0], ir.IntType(8).as_pointer())
        builder.store(builder.trunc(values[1], ir.IntType(8)), target)
        return context.get_dummy_value()

    return numba.void(place, byte), generate


def _copying(_context: Any, to: Any, place: Any, size: Any) -> Any:
    def generate(context: Any, builder: Any, _signature: Any, values: Any) -> Any:
        target, source = (
            builder.inttoptr(value, ir.IntType(8).as_pointer()) for value in values[:2]
        )
        cgutils.raw_memcpy(builder, target, source, values[2], 1)  # type: ignore[no-untyped-call]
        return context.get_dummy_value()

    return numba.void(to, place, size), generate


def _crc_of_8(_context: Any, crc: Any, place: Any) -> Any:
    """Feed 8 bytes to the processor's CRC-32C instruction."""

    def generate(_context: Any, builder: Any, _signature: Any, values: Any) -> Any:
        word = ir.IntType(64)
        eight = builder.load(builder.inttoptr(values[1], word.as_pointer()))
        eight.align = 1
        form = ir.FunctionType(word, [word, word])
        step = builder.module.declare_intrinsic("llvm.x86.sse42.crc32.64.64", (), form)
        return builder.call(step, [values[0], eight])

    return numba.int64(crc, place), generate


def _crc_of_1(_context: Any, crc: Any, byte: Any) -> Any:
    def generate(_context: Any, builder: Any, _signature: Any, values: Any) -> Any:
        half, byte = ir.IntType(32), ir.IntType(8)
        form = ir.FunctionType(half, [half, byte])
        step = builder.module.declare_intrinsic("llvm.x86.sse42.crc32.32.8", (), form)
        fed = [builder.trunc(values[0], half), builder.trunc(values[1], byte)]
        return builder.zext(builder.call(step, fed), ir.IntType(64))

    return numba.int64(crc, byte), generate


# Compiled code works with addresses, as arrays would be reference counted at every call. Who calls a kernel
# holds the arrays meanwhile, and every address is compared with an end before it is read.
_load: Any = intrinsic(_loading)
_store: Any = intrinsic(_storing)
_copy: Any = intrinsic(_copying)
_feed_8: Any = intrinsic(_crc_of_8)
_feed_1: Any = intrinsic(_crc_of_1)


def _processors_crc(at: int, end: int) -> int:
    crc = _LOW_32
    while at + 8 <= end:
        crc = _feed_8(crc, at)
        at += 8
    while at < end:
        crc = _feed_1(crc, _load(at))
        at += 1
    return crc ^ _LOW_32


def _stored_crc(at: int, _end: int) -> int:
    """Agree with every batch; `scan` asks the library afterwards."""
    return _int(at - 4, 4) & _LOW_32


@inlined
def _int(at: int, size: int) -> int:
    value: int = _load(at)
    value -= (value & 128) << 1
    for index in range(1, size):
        value = value << 8 | _load(at + index)
    return value


_crc = inlined(_processors_crc if HAS_CRC else _stored_crc)


@inlined
def _is_sound(at: int, length: int) -> bool:
    """Say whether a batch may be re-batched; the rules are those of `rebatch_plain.check`."""
    if length < HEADER_BYTES or _int(at + 8, 4) + 12 != length:
        return False
    if _load(at + 16) != MAGIC or _int(at, 8) < 0:
        return False
    if _crc(at + CRC_FROM, at + length) != _int(at + 17, 4) & _LOW_32:
        return False
    attributes = _int(at + CRC_FROM, 2)
    return not attributes & CONTROL_MASK and attributes & COMPRESSION_MASK <= _LAST_CODEC


@compiled
def scan(content: int, lengths: Int64s, table: Int64s) -> int:
    """Fill the table; return how many batches are sound, all of them or those before the first bad one."""
    at = 0
    for row in range(len(lengths)):
        if not _is_sound(content + at, lengths[row]):
            return row
        _fill(content + at, table[row])
        if table[row, COUNT] < 0 or table[row, LAST_OFFSET] < table[row, BASE_OFFSET]:
            return row
        table[row, START] = at + HEADER_BYTES
        at += lengths[row]
        table[row, END] = at
    return len(lengths)


@inlined
def _fill(at: int, batch: Int64s) -> None:
    attributes = _int(at + 21, 2)
    batch[COUNT] = _int(at + 57, 4)
    batch[BASE_OFFSET] = _int(at, 8)
    batch[LAST_OFFSET] = batch[BASE_OFFSET] + _int(at + 23, 4)
    batch[BASE_TIMESTAMP] = _int(at + 27, 8)
    batch[MAX_TIMESTAMP] = _int(at + 35, 8)
    batch[LOG_APPEND_TIME] = 1 if attributes & TIMESTAMP_TYPE_MASK else 0
    batch[CODEC] = attributes & COMPRESSION_MASK


@inlined
def _varint(at: int, end: int) -> Pair:
    """Return an INT32 and where it ends; 0 and a place behind every end when there is none."""
    raw, after = _short(at, end)
    if after < 0:
        raw, after = _raw(at, end, 5)
        raw &= _LOW_32
    return raw >> 1 ^ -(raw & 1), after


@inlined
def _varlong(at: int, end: int) -> Pair:
    raw, after = _short(at, end)
    if after < 0:
        raw, after = _raw(at, end, 10)
    return raw >> 1 & _LOW_63 ^ -(raw & 1), after


@inlined
def _short(at: int, end: int) -> Pair:
    """Read one or two bytes, as nearly all are; -1 for an end that is not found there."""
    if at >= end:
        return 0, _BEYOND
    low = _load(at)
    if low < _MORE:
        return low, at + 1
    if at + 1 >= end:
        return 0, _BEYOND
    high = _load(at + 1)
    return low & 127 | high << 7, at + 2 if high < _MORE else -1


@compiled
def _raw(at: int, end: int, longest: int) -> Pair:
    raw = 0
    for index in range(longest):
        if at + index >= end:
            break
        byte = _load(at + index)
        raw |= (byte & 127) << 7 * index
        if byte < _MORE:
            return raw, at + index + 1
    return 0, _BEYOND


@inlined
def _field(at: int, end: int, least: int) -> Pair:
    """Return the bytes of a nullable field and where it ends; `least` is -1 where null is allowed."""
    length, start = _varint(at, end)
    if length < least:
        return 0, _BEYOND
    length = max(length, 0)
    return length, start + length


@inlined
def _key_value_bytes(at: int, end: int) -> int:
    """Return the bytes of key and value of a record that is sound to its end, else -1."""
    key, at = _field(at, end, -1)
    value, at = _field(at, end, -1)
    headers, at = _varint(at, end)
    while headers > 0 and at < end:
        _, at = _field(at, end, 0)
        _, at = _field(at, end, -1)
        headers -= 1
    return key + value if headers == 0 and at == end else -1


@inlined
def _parse(at: int, end: int) -> Parsed:
    """Read a record; -1 for the bytes of key and value says that it is malformed."""
    length, start = _varint(at, end)
    stop = start + length
    if length < 1 or stop > end:
        return 0, 0, 0, 0, 0, -1
    timestamp_delta, after = _varlong(start + 1, stop)
    offset_delta, rest = _varint(after, stop)
    return start, rest, stop, timestamp_delta, offset_delta, _key_value_bytes(rest, stop)


@inlined
def _offset(batch: Int64s, cursor: Int64s, record: Parsed) -> int:
    """Return a record's offset, or -1 when the record is malformed or not behind the one before it."""
    offset: int = batch[BASE_OFFSET] + record[4]
    if record[5] < 0 or record[4] < 0:
        return -1
    return offset if cursor[PREVIOUS] < offset <= batch[LAST_OFFSET] else -1


@inlined
def _varint_bytes(value: int) -> int:
    raw = value << 1 ^ value >> 63
    size = 1
    while raw & ~127:
        raw = raw >> 7 & _LOW_57
        size += 1
    return size


@inlined
def _write_varint(to: int, value: int) -> int:
    raw = value << 1 ^ value >> 63
    while raw & ~127:
        _store(to, raw & 127 | _MORE)
        raw = raw >> 7 & _LOW_57
        to += 1
    _store(to, raw)
    return to + 1


@inlined
def _stand(table: Int64s, cursor: Int64s) -> int:
    """Move the cursor to a batch with records left; return its row, behind the last at the end, else -1."""
    row: int = cursor[ROW]
    while row < len(table):
        if cursor[AT] < 0:
            cursor[AT] = table[row, START]
        if cursor[SEEN] < table[row, COUNT]:
            return row
        if cursor[AT] != table[row, END]:
            return -1
        row += 1
        cursor[ROW], cursor[AT], cursor[SEEN] = row, -1, 0
    return row


@inlined
def _timestamp(batch: Int64s, delta: int) -> int:
    if batch[LOG_APPEND_TIME]:
        return int(batch[MAX_TIMESTAMP])
    return int(batch[BASE_TIMESTAMP] + delta)


@inlined
def _write(to: int, last: int, record: Parsed, delta: int, index: int) -> int:
    """Write a record with new deltas; return where it ends, or -1 when that is behind `last`."""
    start, rest, stop = record[:3]
    length = 1 + _varint_bytes(delta) + _varint_bytes(index) + stop - rest
    if to + _varint_bytes(length) + length > last:
        return -1
    to = _write_varint(to, length)
    _store(to, _load(start))
    to = _write_varint(to + 1, delta)
    to = _write_varint(to, index)
    _copy(to, rest, stop - rest)
    return to + stop - rest


@compiled
def cut(  # noqa: PLR0913, PLR0917 - the form of `Kernels.cut`
    content: int,
    table: Int64s,
    cursor: Int64s,
    from_offset: int,
    room_bytes: int,
    out: int,
    offsets: Int64s,
) -> tuple[bool, int, int, int, int, int]:
    """Write records to `out`; return whether they are sound, and the fields of a `Cut`."""
    count, to, first, latest, key_value_bytes = 0, out, 0, 0, 0
    row = _stand(table, cursor)
    while 0 <= row < len(table):
        record = _parse(content + cursor[AT], content + table[row, END])
        offset = _offset(table[row], cursor, record)
        if offset < 0:
            return False, 0, 0, 0, 0, 0
        if offset >= from_offset:
            timestamp = _timestamp(table[row], record[3])
            if count == 0:
                first = latest = timestamp
            last = out + room_bytes if count else _BEYOND
            after = _write(to, last, record, timestamp - first, count)
            if after < 0:
                break
            to = after
            offsets[count] = offset
            latest = max(latest, timestamp)
            key_value_bytes += record[5]
            count += 1
        cursor[AT], cursor[PREVIOUS] = record[2] - content, offset
        cursor[SEEN] += 1
        row = _stand(table, cursor)
    return row >= 0, count, to - out, first, latest, key_value_bytes
