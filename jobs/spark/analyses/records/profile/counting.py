"""The part of a profile that a task does: the records of some spans of a topic become counts by bucket."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped] # it has no types

from jobs.spark.analyses.records.profile import kernels
from jobs.spark.analyses.records.profile.tallies import AT, MOST_BUCKETS, Tallies
from jobs.spark.analyses.records.ranges import Work
from jobs.spark.analyses.records.reading import BatchColumns, SpanReader
from jobs.wire.rebatch.columns import RecordColumns


def count_records(
    readers: Sequence[SpanReader], work: Work, options: Mapping[str, Any]
) -> dict[str, pa.Table]:
    """Return `buckets` (see `Tallies`), and `edges`: one row about the times of what was read.

    `options`: `width_ms`. Of `edges`: `first_ms` and `last_ms` of all records, in the order of offsets;
    `from_ms` the latest time at which a span begins whose earlier records are unknown, `to_ms` the earliest
    at which one ends; `overflow` records of too many buckets.
    """
    counter = _Counter(options["width_ms"], work.extra["planned_ms"])
    firsts: list[int] = []
    lasts: list[int] = []
    begins: list[int] = []
    ends: list[int] = []
    for number, reader in enumerate(readers):
        first, last = counter.count(reader)
        if first >= 0:
            firsts.append(first)
            begins += [first] if work.extra["are_begun"][number] else []
        if last >= 0:
            lasts.append(last)
            is_cut = work.extra["are_ended"][number] or reader.outcome.fault
            ends += [last] if is_cut else []
    edges = {
        "first_ms": min(firsts, default=None),
        "last_ms": max(lasts, default=None),
        "from_ms": max(begins, default=None),
        "to_ms": min(ends, default=None),
        "overflow": counter.tallies.overflow,
    }
    columns = {name: pa.array([value], pa.int64()) for name, value in edges.items()}
    return {"buckets": counter.tallies.to_table(), "edges": pa.table(columns)}


class _Counter:
    def __init__(self, width_ms: int, planned_ms: int) -> None:
        self.tallies = Tallies()
        self._width_ms = width_ms
        self._planned_ms = planned_ms
        self._places = np.zeros((kernels.PLACES, 2), np.int64)
        self._made = np.empty(MOST_BUCKETS, np.int64)

    def count(self, reader: SpanReader) -> tuple[int, int]:
        """Count the records of a span; return the times of the first and of the last one, -1 without."""
        span = np.array([reader.span.partition, reader.span.start, self._planned_ms, -1], np.int64)
        first = last = -1
        for chunk in reader:
            records = chunk.records
            if records is None or not len(records):
                continue
            self._add(chunk.batches, records, span)
            first = int(records.times[0]) if first < 0 else first
            last = int(records.times[-1])
        return first, last

    def _add(self, batches: BatchColumns, records: RecordColumns, span: Any) -> None:
        tallies = self.tallies
        slots = np.empty(len(records), np.int64)
        known = len(tallies.buckets)
        count = kernels.slots(records.times, self._width_ms, known, self._places, self._made, slots)
        tallies.grow(self._made[: count - known].tolist())
        too_many = slots < 0
        if too_many.any():
            tallies.overflow += int(too_many.sum())
            slots[too_many] = 0
        facts = np.column_stack(
            [
                batches.column("base_offset"),
                batches.sizes,
                batches.column("record_count"),
                np.minimum(batches.codecs, AT["zstd"] - AT["none"]),
                batches.are_log_append_time.astype(np.int64),
            ]
        )
        columns = (
            *(slots, records.offsets, records.times, records.batches, records.key_hashes),
            *(records.key_at, records.key_bytes, records.value_at, records.value_bytes),
            *(records.headers, records.header_bytes),
        )
        kernels.tally(
            columns, facts, span, tallies.counts, tallies.shares, tallies.sizes, tallies.registers
        )
