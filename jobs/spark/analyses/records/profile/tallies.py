"""What is counted of each time bucket of a topic, and how two counts become one."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped] # it has no types

from jobs.spark.analyses.records.profile.sketches import BINS, REGISTERS

# Sums of records; `size`: of keys, values and headers; `expanded`: as `size`, with what frames a record.
SUMS = (
    *("records", "null_keys", "tombstones", "with_headers", "out_of_order", "future"),
    *("log_append", "size", "large", "large_size", "expanded", "batches"),
    *("none", "gzip", "snappy", "lz4", "zstd"),
)
LARGEST = ("max_record", "max_partition", "max_offset")
HIGHEST = ("max_batch_records", "max_batch_bytes")
COUNTS = (*SUMS, *LARGEST, *HIGHEST)
AT = {name: number for number, name in enumerate(COUNTS)}
# Bytes in the log, and those of them that are records: a batch is shared evenly by its records.
BYTES = ("bytes", "stored")
RECORD_SIZES, BATCH_RECORDS, BATCH_BYTES = range(3)
# So many buckets of a topic are counted, on top of the one of records without a time, which is NO_TIME.
MOST_BUCKETS = 4_000
NO_TIME = -1


class Tallies:
    """Counts by bucket, a row (`slot`) for each; the first slot is that of NO_TIME."""

    def __init__(self) -> None:
        self.buckets: list[int] = [NO_TIME]
        self.counts: Any = np.zeros((1, len(COUNTS)), np.int64)
        self.shares: Any = np.zeros((1, len(BYTES)), np.float64)
        self.sizes: Any = np.zeros((1, 3, BINS), np.int64)
        self.registers: Any = np.zeros((1, REGISTERS), np.uint8)
        # Records of more buckets; they are in the slot of NO_TIME.
        self.overflow = 0
        self._slots = {NO_TIME: 0}

    def grow(self, buckets: Sequence[int]) -> None:
        """Make rows for further buckets."""
        self.buckets += buckets
        room = len(self.counts)
        if len(self.buckets) > room:
            more = min(max(len(self.buckets), 2 * room), MOST_BUCKETS + 1) - room
            for name in ("counts", "shares", "sizes", "registers"):
                held = getattr(self, name)
                added = np.zeros((more, *held.shape[1:]), held.dtype)
                setattr(self, name, np.concatenate([held, added]))

    def add(self, table: pa.Table) -> None:
        """Add what `to_table` returned."""
        counts = np.column_stack([table[name].to_numpy() for name in COUNTS])
        shares = np.column_stack([table[name].to_numpy() for name in BYTES])
        for row, (bucket, packed) in enumerate(
            zip(table["bucket"].to_pylist(), table["sketches"].to_pylist(), strict=True)
        ):
            slot = self._slot(bucket)
            if slot == 0 and bucket != NO_TIME:
                self.overflow += int(counts[row, AT["records"]])
            content = zlib.decompress(packed)
            sizes = np.frombuffer(content, np.int64, 3 * BINS).reshape(3, BINS)
            registers = np.frombuffer(content, np.uint8, offset=sizes.nbytes)
            self._merge(slot, counts[row], shares[row], sizes, registers)

    def total(self) -> Tallies:
        """Return the counts of all buckets together, as those of one."""
        found = Tallies()
        for slot in range(len(self.buckets)):
            found._merge(
                0, self.counts[slot], self.shares[slot], self.sizes[slot], self.registers[slot]
            )
        return found

    def to_table(self) -> pa.Table:
        """Return a row for each bucket that has records."""
        used = [slot for slot in range(len(self.buckets)) if self.counts[slot, AT["records"]]]
        packed = [
            zlib.compress(self.sizes[slot].tobytes() + self.registers[slot].tobytes(), 1)
            for slot in used
        ]
        columns = {"bucket": pa.array([self.buckets[slot] for slot in used], pa.int64())}
        columns |= {name: pa.array(self.counts[used, at]) for name, at in AT.items()}
        columns |= {name: pa.array(self.shares[used, at]) for at, name in enumerate(BYTES)}
        return pa.table({**columns, "sketches": pa.array(packed, pa.binary())})

    def _slot(self, bucket: int) -> int:
        if bucket not in self._slots and len(self.buckets) <= MOST_BUCKETS:
            self._slots[bucket] = len(self.buckets)
            self.grow([bucket])
        return self._slots.get(bucket, 0)

    def _merge(self, slot: int, counts: Any, shares: Any, sizes: Any, registers: Any) -> None:
        held = self.counts[slot]
        held[: len(SUMS)] += counts[: len(SUMS)]
        largest = slice(AT[LARGEST[0]], AT[LARGEST[-1]] + 1)
        if counts[AT["max_record"]] > held[AT["max_record"]]:
            held[largest] = counts[largest]
        highest = slice(AT[HIGHEST[0]], None)
        held[highest] = np.maximum(held[highest], counts[highest])
        self.shares[slot] += shares
        self.sizes[slot] += sizes
        np.maximum(self.registers[slot], registers, out=self.registers[slot])
