"""The part of a profile that a task does: the records of some spans of a topic become counts by bucket."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from operator import attrgetter
from typing import Any

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped] # it has no types

from jobs.spark.analyses.records.chunks import BatchColumns
from jobs.spark.analyses.records.profile import tallies as layout
from jobs.spark.analyses.records.profile.tallies import NO_TIME, Count, Tallies
from jobs.spark.analyses.records.ranges import Work
from jobs.spark.analyses.records.reading import SpanReader
from jobs.wire.batches.record_batch import HEADER_BYTES
from jobs.wire.machine_code import compiled, inlined
from jobs.wire.rebatch.columns import RecordColumns
from jobs.wire.rebatch.table import Int64s

# The end of the year 9999: later times are not times that anything can show.
_LAST_MS = 253_402_300_799_999
# A record that is larger is one for a claim check.
LARGE_BYTES = 1 << 20
_PER_BIN = 1 / math.log(layout.GROWTH)
# What is around the content of a usual record in a batch: lengths, attributes, both deltas.
_FRAME_BYTES = 9
_LOW_31 = (1 << 31) - 1
_LOW_RANKS = (1 << layout.RANK_BITS) - 1
# The finalizer of MurmurHash3, signed.
_MIX_1, _MIX_2 = 0xFF51AFD7ED558CCD - (1 << 64), 0xC4CEB9FE1A85EC53 - (1 << 64)
_EDGES = pa.schema([(name, pa.int64()) for name in ("first_ms", "from_ms", "to_ms")])


def count_records(
    readers: Sequence[SpanReader], work: Work, options: Mapping[str, Any]
) -> dict[str, pa.Table]:
    """Return `buckets` (see `Tallies`), and `edges`: a row for each span about the times that it has.

    `options`: `width_ms`. Of `edges`: `first_ms` of the first record with a time; `from_ms` where earlier
    records are unknown: what is known begins then; `to_ms` where later ones are: it ends then. None: no such.
    """
    tallies = Tallies()
    edges = []
    extra = work.extra
    for reader, begun, ended in zip(readers, extra["are_begun"], extra["are_ended"], strict=True):
        planned_ms = extra["planned_ms"]
        span = np.array([reader.span.partition, reader.span.start, planned_ms, NO_TIME], np.int64)
        first = last = NO_TIME
        for chunk in reader:
            records = chunk.records
            if records is None or not len(records):
                continue
            _add(tallies, chunk.batches, records, span, options["width_ms"])
            first = int(records.times[0]) if first < 0 else first
            last = int(records.times[-1])
        known = first if first >= 0 else None
        begin = (planned_ms if known is None else known) if begun else None
        end = last if ended or reader.outcome.fault else None
        edges.append({"first_ms": known, "from_ms": begin, "to_ms": end})
    return {"buckets": tallies.to_table(), "edges": pa.Table.from_pylist(edges, _EDGES)}


def _add(
    tallies: Tallies, batches: BatchColumns, records: RecordColumns, span: Any, width_ms: int
) -> None:
    buckets = np.maximum(records.times // width_ms, NO_TIME)
    buckets[records.times > _LAST_MS] = NO_TIME
    begins = np.flatnonzero(np.diff(buckets, prepend=buckets[0] - 1))
    runs = [tallies.slot(bucket) for bucket in buckets[begins].tolist()]
    slots = np.repeat(np.array(runs, np.int64), np.diff(begins, append=len(buckets)))
    tallies.numbers[0, Count.OVERFLOW] += np.count_nonzero((slots == 0) & (buckets != NO_TIME))
    appended = batches.are_log_append_time.astype(np.int64)
    counts = batches.column("record_count")
    facts = np.column_stack([batches.column("base_offset"), batches.sizes, counts, appended])
    _tally((slots, *_columns(records)), facts, span, tallies.numbers, tallies.registers)


_columns = attrgetter(
    *("offsets", "times", "batches", "key_hashes", "key_at", "key_bytes", "value_bytes"),
    *("headers", "header_bytes"),
)


@inlined
def _bin(size: int) -> int:
    return 0 if size <= 0 else min(1 + int(math.log(size) * _PER_BIN), layout.BINS - 1)


@inlined
def _register(registers: Any, slot: int, hashed: int) -> None:
    hashed = (hashed ^ hashed >> 33 & _LOW_31) * _MIX_1
    hashed = (hashed ^ hashed >> 33 & _LOW_31) * _MIX_2
    hashed ^= hashed >> 33 & _LOW_31
    left = hashed >> layout.REGISTER_BITS & _LOW_RANKS
    rank = 1
    while rank <= layout.RANK_BITS and not left & 1:
        left >>= 1
        rank += 1
    at = hashed & layout.REGISTERS - 1
    registers[slot, at] = max(registers[slot, at], rank)


@compiled
def _tally(  # noqa: PLR0915  one loop: a call for each record costs more
    columns: Any, batches: Int64s, span: Int64s, numbers: Int64s, registers: Any
) -> None:
    """Add records to the rows of their slots.

    `columns`: arrays of slots, offsets, times, indices of batches, hashes of keys, where keys begin, bytes
    of keys, of values, numbers of headers and their bytes. `batches` has a row for each: base offset, bytes,
    records, whether times are of the append. `span`: partition, first offset, the present in ms, and the
    highest time until now, which is updated.
    """
    slots, offsets, times, of, hashes = columns[:5]
    key_at, key_bytes, value_bytes, headers, header_bytes = columns[5:]
    before = -1
    for n in range(len(slots)):
        slot, batch = slots[n], of[n]
        row = numbers[slot]
        batch_bytes, batch_records = batches[batch, 1], batches[batch, 2]
        # Where two spans meet in a batch, it is of the first.
        if batch != before and batches[batch, 0] >= span[1]:
            row[layout.BATCH_RECORDS + _bin(batch_records)] += 1
            row[layout.BATCH_BYTES + _bin(batch_bytes)] += 1
            row[layout.MAX_BATCH_RECORDS] = max(row[layout.MAX_BATCH_RECORDS], batch_records)
            row[layout.MAX_BATCH_BYTES] = max(row[layout.MAX_BATCH_BYTES], batch_bytes)
            row[Count.EXPANDED] += HEADER_BYTES
        before = batch
        size = max(key_bytes[n], 0) + max(value_bytes[n], 0) + header_bytes[n]
        if size > row[layout.MAX_RECORD] or row[Count.RECORDS] == 0:
            row[layout.MAX_RECORD], row[layout.MAX_PARTITION], row[layout.MAX_OFFSET] = (
                size,
                span[0],
                offsets[n],
            )
        row[Count.RECORDS] += 1
        row[Count.SIZE] += size
        row[Count.BYTES] += batch_bytes * 1000 // batch_records
        row[layout.RECORD_SIZES + _bin(size)] += 1
        if key_bytes[n] < 0:
            row[Count.NULL_KEYS] += 1
        else:
            _register(registers, slot, hashes[n])
        row[Count.TOMBSTONES] += value_bytes[n] < 0
        row[Count.WITH_HEADERS] += headers[n] > 0
        row[Count.LOG_APPEND] += batches[batch, 3]
        if times[n] >= 0:
            row[Count.OUT_OF_ORDER] += times[n] < span[3]
            row[Count.FUTURE] += times[n] > span[2]
            span[3] = max(span[3], times[n])
        if size > LARGE_BYTES:
            row[Count.LARGE] += 1
            row[Count.LARGE_SIZE] += size
        if n + 1 < len(slots) and of[n + 1] == batch:
            row[Count.EXPANDED] += key_at[n + 1] - key_at[n]
        else:
            row[Count.EXPANDED] += size + _FRAME_BYTES + 2 * headers[n]
