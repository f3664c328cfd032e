"""The loops of a profile, compiled by numba: which bucket a record belongs to, and what it adds to it."""

from __future__ import annotations

import math
from typing import Any

from jobs.spark.analyses.records.profile.sketches import (
    BINS,
    GROWTH,
    RANK_BITS,
    REGISTER_BITS,
    REGISTERS,
)
from jobs.spark.analyses.records.profile.tallies import (
    AT,
    BATCH_BYTES,
    BATCH_RECORDS,
    MOST_BUCKETS,
    RECORD_SIZES,
)
from jobs.wire.batches.record_batch import HEADER_BYTES
from jobs.wire.machine_code import compiled, inlined
from jobs.wire.rebatch.table import Int64s

# A record that is larger is one for a claim check.
LARGE_BYTES = 1 << 20
# The hash table of buckets: a number and a slot (0: free) in each place.
PLACES = 1 << 14
_PER_BIN = 1 / math.log(GROWTH)
# Length, attributes, both deltas and the length of the key of a usual record.
_FRAME_BYTES = 7
_LOW_31 = (1 << 31) - 1
_LOW_RANKS = (1 << RANK_BITS) - 1
# The finalizer of MurmurHash3, signed.
_MIX_1, _MIX_2 = 0xFF51AFD7ED558CCD - (1 << 64), 0xC4CEB9FE1A85EC53 - (1 << 64)

_RECORDS, _NULL_KEYS, _TOMBSTONES = AT["records"], AT["null_keys"], AT["tombstones"]
_WITH_HEADERS, _OUT_OF_ORDER, _FUTURE = AT["with_headers"], AT["out_of_order"], AT["future"]
_LOG_APPEND, _SIZE, _LARGE, _LARGE_SIZE = (
    AT[name] for name in ("log_append", "size", "large", "large_size")
)
_EXPANDED, _BATCHES, _CODECS = AT["expanded"], AT["batches"], AT["none"]
_MAX_RECORD, _MAX_PARTITION, _MAX_OFFSET = AT["max_record"], AT["max_partition"], AT["max_offset"]
_MAX_BATCH_RECORDS, _MAX_BATCH_BYTES = AT["max_batch_records"], AT["max_batch_bytes"]


@compiled
def slots(
    times: Int64s, width_ms: int, known: int, places: Int64s, made: Int64s, out: Int64s
) -> int:
    """Fill in the slot of each record, 0 without a time; return how many slots there are then.

    `known` are there before; buckets that are new are written to `made`. Slot -1: there are too many.
    """
    last, slot = -1, 0
    count = known
    for n in range(len(times)):
        if times[n] < 0:
            out[n] = 0
            continue
        bucket = times[n] // width_ms
        if bucket != last:
            place = bucket * _MIX_1 >> 32 & PLACES - 1
            while places[place, 1] != 0 and places[place, 0] != bucket:
                place = place + 1 & PLACES - 1
            slot = places[place, 1]
            if slot == 0 and count <= MOST_BUCKETS:
                slot = count
                places[place, 0], places[place, 1] = bucket, slot
                made[count - known] = bucket
                count += 1
            elif slot == 0:
                slot = -1
            last = bucket
        out[n] = slot
    return count


@inlined
def _bin(size: int) -> int:
    return 0 if size <= 0 else min(1 + int(math.log(size) * _PER_BIN), BINS - 1)


@inlined
def _register(registers: Any, slot: int, hashed: int) -> None:
    hashed = (hashed ^ hashed >> 33 & _LOW_31) * _MIX_1
    hashed = (hashed ^ hashed >> 33 & _LOW_31) * _MIX_2
    hashed ^= hashed >> 33 & _LOW_31
    left = hashed >> REGISTER_BITS & _LOW_RANKS
    rank = 1
    while rank <= RANK_BITS and not left & 1:
        left >>= 1
        rank += 1
    at = hashed & REGISTERS - 1
    registers[slot, at] = max(registers[slot, at], rank)


@compiled
def tally(  # noqa: C901, PLR0913, PLR0915, PLR0917  one loop: a call for each record costs more
    columns: Any,
    batches: Int64s,
    span: Int64s,
    counts: Int64s,
    shares: Any,
    sizes: Any,
    registers: Any,
) -> None:
    """Add records to the rows of their slots.

    `columns`: arrays of slots, offsets, times, indices of batches, hashes of keys, where keys begin, their
    bytes, where values begin, their bytes, numbers of headers and their bytes. `batches` has a row for each:
    base offset, bytes, records, codec, whether times are of the append. `span`: partition, first offset, the
    present in ms, and the highest time until now, which is updated.
    """
    slots_, offsets, times, of, hashes = columns[:5]
    key_at, key_bytes, value_at, value_bytes, headers, header_bytes = columns[5:]
    before = -1
    for n in range(len(slots_)):
        slot, batch = slots_[n], of[n]
        row = counts[slot]
        if batch != before:
            before = batch
            # Where two spans meet in a batch, it is of the first.
            if batches[batch, 0] >= span[1]:
                row[_BATCHES] += 1
                row[_CODECS + batches[batch, 3]] += 1
                sizes[slot, BATCH_RECORDS, _bin(batches[batch, 2])] += 1
                sizes[slot, BATCH_BYTES, _bin(batches[batch, 1])] += 1
                row[_MAX_BATCH_RECORDS] = max(row[_MAX_BATCH_RECORDS], batches[batch, 2])
                row[_MAX_BATCH_BYTES] = max(row[_MAX_BATCH_BYTES], batches[batch, 1])
        key, value = key_bytes[n], max(value_bytes[n], 0)
        size = max(key, 0) + value + header_bytes[n]
        row[_RECORDS] += 1
        row[_SIZE] += size
        sizes[slot, RECORD_SIZES, _bin(size)] += 1
        if key < 0:
            row[_NULL_KEYS] += 1
        else:
            _register(registers, slot, hashes[n])
        row[_TOMBSTONES] += value_bytes[n] < 0
        row[_WITH_HEADERS] += headers[n] > 0
        row[_LOG_APPEND] += batches[batch, 4]
        if times[n] >= 0:
            row[_OUT_OF_ORDER] += times[n] < span[3]
            row[_FUTURE] += times[n] > span[2]
            span[3] = max(span[3], times[n])
        if size > LARGE_BYTES:
            row[_LARGE] += 1
            row[_LARGE_SIZE] += size
        if size > row[_MAX_RECORD] or row[_RECORDS] == 1:
            row[_MAX_RECORD], row[_MAX_PARTITION], row[_MAX_OFFSET] = size, span[0], offsets[n]
        if n + 1 < len(slots_) and of[n + 1] == batch:
            row[_EXPANDED] += key_at[n + 1] - key_at[n]
        else:
            end = value_at[n] + value + 1 + header_bytes[n] + 2 * headers[n]
            row[_EXPANDED] += end - key_at[n] + _FRAME_BYTES
        shares[slot, 0] += batches[batch, 1] / batches[batch, 2]
        shares[slot, 1] += (batches[batch, 1] - HEADER_BYTES) / batches[batch, 2]
