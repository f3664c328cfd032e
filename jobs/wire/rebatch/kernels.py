"""The loops of re-batching, compiled by numba: checking batches, re-cutting their records, hashing them.

They release the GIL and stay inside their arrays whatever the bytes say: every address is compared with
an end before it is read, and a fault is a number.
"""

from __future__ import annotations

from jobs.wire.batches.record_batch import (
    COMPRESSION_MASK,
    CONTROL_MASK,
    CRC_FROM,
    HEADER_BYTES,
    HIGHEST_OFFSET,
    MAGIC,
    TIMESTAMP_TYPE_MASK,
    Codec,
)
from jobs.wire.machine_code import BEYOND as _BEYOND
from jobs.wire.machine_code import HAS_CRC, Pair, compiled, inlined
from jobs.wire.machine_code import LOW_32 as _LOW_32
from jobs.wire.machine_code import MORE as _MORE
from jobs.wire.machine_code import copy as _copy
from jobs.wire.machine_code import crc_32c as _crc
from jobs.wire.machine_code import int_64 as _int_64
from jobs.wire.machine_code import integer as _int
from jobs.wire.machine_code import load as _load
from jobs.wire.machine_code import store as _store
from jobs.wire.machine_code import varint as _varint
from jobs.wire.machine_code import varlong as _varlong
from jobs.wire.rebatch.table import (
    AT,
    BASE_OFFSET,
    BASE_TIMESTAMP,
    CODEC,
    COMMIT,
    COMMIT_AT,
    COUNT,
    END,
    HASH_FACTOR,
    HASH_SEED,
    LAST_OFFSET,
    LOG_APPEND_TIME,
    MAX_TIMESTAMP,
    PREVIOUS,
    ROW,
    SEEN,
    START,
    VERSION_FROM,
    VERSION_TO,
    Int64s,
)

# Where attributes, rest and next record begin; deltas of timestamp and offset; bytes of key and value.
Parsed = tuple[int, int, int, int, int, int]

__all__ = [
    "HAS_CRC",
    "alike",
    "content_hash",
    "cut",
    "move_to_record",
    "record_offset",
    "record_time",
    "scan",
]

_LAST_CODEC = int(Codec.ZSTD)
# What is left of a sign after a shift to the right by seven.
_LOW_57 = (1 << 57) - 1


@inlined
def _is_commit(at: int, length: int) -> bool:
    """Say whether a control batch is a commit marker in the form in which brokers write it."""
    if length < COMMIT_AT + len(COMMIT) or _int(at + CRC_FROM, 2) & COMPRESSION_MASK:
        return False
    for index in range(len(COMMIT)):
        byte = _load(at + COMMIT_AT + index)
        if byte != COMMIT[index] and not VERSION_FROM <= index < VERSION_TO:
            return False
    return bool(_load(at + HEADER_BYTES) < _MORE)


@inlined
def _length_of_alike(at: int, mask: int, attributes: int, small_bytes: int) -> int:
    """Return the length of a small batch, that of a commit marker as a negative number, 0 for others."""
    length = _int(at + 8, 4) + 12
    if _int(at + CRC_FROM, 2) & CONTROL_MASK:
        return -length if _is_commit(at, length) else 0
    is_like = _int(at + CRC_FROM, 2) & mask == attributes and _int(at + 57, 4) > 0
    return length if is_like and length < small_bytes else 0


@inlined
def _last_of_whole(at: int, end: int) -> int:
    """Return the last offset of a whole batch of this format, -1 where none is."""
    if end - at < HEADER_BYTES or _load(at + 16) != MAGIC:
        return -1
    if not HEADER_BYTES <= _int(at + 8, 4) + 12 <= end - at:
        return -1
    base = _int_64(at)
    last = base + _int(at + 23, 4)
    return last if 0 <= base <= last < HIGHEST_OFFSET else -1


@compiled
def alike(at: int, end: int, mask: int, before: int, small_bytes: int, lengths: Int64s) -> int:
    """Note how long the batches are that follow the one at `at` and are like it; see `Kernels.alike`."""
    attributes, epoch = _int(at + CRC_FROM, 2) & mask, _int(at + 12, 4)
    last = _last_of_whole(at, end)
    at += _int(at + 8, 4) + 12
    count = found = 0
    while 0 <= last < _last_of_whole(at, end) < before:
        length = _length_of_alike(at, mask, attributes, small_bytes)
        if length == 0 or _int_64(at) <= last or _int(at + 12, 4) != epoch:
            break
        last = _last_of_whole(at, end)
        lengths[count] = length
        count += 1
        if length > 0:
            found = count
        at += abs(length)
    return found


@inlined
def _is_sound(at: int, length: int) -> bool:
    """Say whether a batch may be re-batched; the rules are those of `plain.check`."""
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
    at = row = 0
    for length in lengths:
        if length < 0:
            at -= length
            continue
        if not _is_sound(content + at, length):
            return row
        _fill(content + at, table[row])
        if table[row, COUNT] < 0 or table[row, LAST_OFFSET] < table[row, BASE_OFFSET]:
            return row
        table[row, START] = at + HEADER_BYTES
        at += length
        table[row, END] = at
        row += 1
    return row


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
def record_offset(batch: Int64s, cursor: Int64s, record: Parsed) -> int:
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
def move_to_record(table: Int64s, cursor: Int64s) -> int:
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
def record_time(batch: Int64s, delta: int) -> int:
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
    row = move_to_record(table, cursor)
    while 0 <= row < len(table):
        record = _parse(content + cursor[AT], content + table[row, END])
        offset = record_offset(table[row], cursor, record)
        if offset < 0:
            return False, 0, 0, 0, 0, 0
        if offset >= from_offset:
            timestamp = record_time(table[row], record[3])
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
        row = move_to_record(table, cursor)
    return row >= 0, count, to - out, first, latest, key_value_bytes


@inlined
def _mixed(hashed: int, word: int) -> int:
    hashed = (hashed ^ word) * HASH_FACTOR
    return hashed ^ (hashed >> 32 & _LOW_32)


@inlined
def content_hash(at: int, end: int) -> int:
    hashed = _mixed(HASH_SEED, end - at)
    while at + 8 <= end:
        hashed = _mixed(hashed, _int_64(at))
        at += 8
    word = 0
    while at < end:
        word = word << 8 | _load(at)
        at += 1
    return _mixed(_mixed(hashed, word), HASH_SEED)
