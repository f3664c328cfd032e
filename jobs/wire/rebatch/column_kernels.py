"""The loops that take records apart into columns, and hash keys as producers do, compiled by numba.

As those of `kernels`: they stay inside their bytes whatever these say, and a fault is a number.
"""

from __future__ import annotations

from jobs.wire.machine_code import BEYOND, LOW_32, Pair, compiled, inlined
from jobs.wire.machine_code import load as _load
from jobs.wire.machine_code import varint as _varint
from jobs.wire.machine_code import varlong as _varlong
from jobs.wire.rebatch.kernels import content_hash, move_to_record, record_offset, record_time
from jobs.wire.rebatch.table import AT, END, PREVIOUS, SEEN, Int64s

# Columns of a record, see `jobs.wire.rebatch.columns.RecordColumns`.
OFFSET, TIME, BATCH, KEY_AT, KEY_BYTES, VALUE_AT, VALUE_BYTES = range(7)
HEADERS, HEADER_BYTES, KEY_HASH, RECORD_HASH = range(7, 11)
WIDTH = 11
# What is hashed: a sum of these.
HASH_KEYS, HASH_RECORDS = 1, 2

# MURMUR2: org.apache.kafka.common.utils.Utils.murmur2. CRC32: that of zlib, as librdkafka's `consistent`.
# FNV-1A: librdkafka's `fnv1a`, 32 bits.
MURMUR2, CRC32, FNV1A = range(3)
_SEED, _FACTOR = 0x9747B28C, 0x5BD1E995
_FNV_OFFSET, _FNV_PRIME = 0x811C9DC5, 0x01000193
_POLYNOMIAL = 0xEDB88320


@inlined
def _nullable(at: int, end: int, least: int) -> Pair:
    """Return where a field begins and its bytes, -1 for null; a place behind every end where it is wrong."""
    length, start = _varint(at, end)
    if length < least or start + max(length, 0) > end:
        return BEYOND, 0
    return start, length


@inlined
def _headers(at: int, end: int) -> Pair:
    """Return number and bytes of the headers that begin here; -1 where they are malformed."""
    count, at = _varint(at, end)
    left, size = count, 0
    while left > 0 and at < end:
        start, length = _nullable(at, end, 0)
        size += max(length, 0)
        start, value = _nullable(start + max(length, 0), end, -1)
        size += max(value, 0)
        at = start + max(value, 0)
        left -= 1
    return (count, size) if left == 0 and at == end else (-1, 0)


@compiled
def columns(  # noqa: PLR0915  one loop: a call for each record costs more
    content: int, table: Int64s, cursor: Int64s, hashes: int, out: Int64s
) -> int:
    """Fill a column of `out` (WIDTH rows) for each record; return how many, -1 where one is malformed."""
    count = 0
    row = move_to_record(table, cursor)
    while 0 <= row < len(table):
        end = content + table[row, END]
        length, start = _varint(content + cursor[AT], end)
        stop = start + length
        if length < 1 or stop > end:
            return -1
        delta, after = _varlong(start + 1, stop)
        offset_delta, rest = _varint(after, stop)
        key_at, key = _nullable(rest, stop, -1)
        value_at, value = _nullable(key_at + max(key, 0), stop, -1)
        headers, header_bytes = _headers(value_at + max(value, 0), stop)
        offset = record_offset(
            table[row], cursor, (start, rest, stop, delta, offset_delta, headers)
        )
        if offset < 0:
            return -1
        out[OFFSET, count] = offset
        out[TIME, count] = record_time(table[row], delta)
        out[BATCH, count] = row
        out[KEY_AT, count] = key_at - content
        out[KEY_BYTES, count] = key
        out[VALUE_AT, count] = value_at - content
        out[VALUE_BYTES, count] = value
        out[HEADERS, count] = headers
        out[HEADER_BYTES, count] = header_bytes
        if hashes & HASH_KEYS:
            out[KEY_HASH, count] = content_hash(key_at, key_at + key) if key >= 0 else 0
        if hashes & HASH_RECORDS:
            out[RECORD_HASH, count] = content_hash(rest, stop)
        count += 1
        cursor[AT], cursor[PREVIOUS] = stop - content, offset
        cursor[SEEN] += 1
        row = move_to_record(table, cursor)
    return count if row >= 0 else -1


@inlined
def _word(at: int) -> int:
    """Return 4 bytes as an unsigned number, the lowest first."""
    word: int = _load(at) | _load(at + 1) << 8 | _load(at + 2) << 16 | _load(at + 3) << 24
    return word


@inlined
def _murmur2(at: int, size: int) -> int:
    hashed = (_SEED ^ size) & LOW_32
    end = at + size
    while at + 4 <= end:
        part = _word(at) * _FACTOR & LOW_32
        part = (part ^ part >> 24) * _FACTOR & LOW_32
        hashed = hashed * _FACTOR & LOW_32 ^ part
        at += 4
    if at < end:
        left, shift = 0, 0
        while at < end:
            left |= _load(at) << shift
            shift += 8
            at += 1
        hashed = (hashed ^ left) * _FACTOR & LOW_32
    hashed = (hashed ^ hashed >> 13) * _FACTOR & LOW_32
    return int(hashed ^ hashed >> 15)


@inlined
def _crc32(at: int, size: int, table: Int64s) -> int:
    crc = LOW_32
    for index in range(size):
        crc = table[(crc ^ _load(at + index)) & 0xFF] ^ crc >> 8
    return crc ^ LOW_32


@inlined
def _fnv1a(at: int, size: int) -> int:
    hashed = _FNV_OFFSET
    for index in range(size):
        hashed = (hashed ^ _load(at + index)) * _FNV_PRIME & LOW_32
    return hashed


@compiled
def crc_table(out: Int64s) -> None:
    """Fill the 256 steps of CRC32."""
    for byte in range(256):
        crc = byte
        for _ in range(8):
            crc = crc >> 1 ^ (_POLYNOMIAL if crc & 1 else 0)
        out[byte] = crc


@compiled
def partitioners(
    content: int, key_at: Int64s, key_bytes: Int64s, steps: Int64s, out: Int64s
) -> None:
    """Fill three hashes of each key as unsigned 32-bit numbers (MURMUR2, CRC32, FNV1A); 0 for null keys."""
    for index in range(len(key_at)):
        at, size = content + key_at[index], key_bytes[index]
        if size < 0:
            out[MURMUR2, index] = out[CRC32, index] = out[FNV1A, index] = 0
            continue
        out[MURMUR2, index] = _murmur2(at, size)
        out[CRC32, index] = _crc32(at, size, steps)
        out[FNV1A, index] = _fnv1a(at, size)


@compiled
def find_headers(
    content: int, body: tuple[Int64s, Int64s, Int64s], names: Int64s, ends: Int64s, out: Int64s
) -> None:
    """Find the last header of each name: two rows of `out` for each, where its value begins and its bytes.

    `body`: value_at, value_bytes and headers of records that `columns` found. `names` are addresses of names,
    `ends` those behind them. Bytes are -1 where a record has no such header, or one of null.
    """
    value_at, value_bytes, counts = body
    out[:] = -1
    for index in range(len(counts)):
        at = content + value_at[index] + max(value_bytes[index], 0)
        left, at = _varint(at, at + 10)
        while left > 0:
            size, start = _varint(at, at + 10)
            length, value = _varint(start + size, start + size + 10)
            for name in range(len(names)):
                if ends[name] - names[name] == size:
                    seen = 0
                    while seen < size and _load(start + seen) == _load(names[name] + seen):
                        seen += 1
                    if seen == size:
                        out[2 * name, index] = value - content
                        out[2 * name + 1, index] = length
            at = value + max(length, 0)
            left -= 1


@compiled
def hash_slices(content: int, at: Int64s, sizes: Int64s, out: Int64s) -> None:
    """Fill a hash of 64 bits of each slice, 0 where its size is below 0."""
    for index in range(len(at)):
        start = content + at[index]
        out[index] = content_hash(start, start + sizes[index]) if sizes[index] >= 0 else 0
