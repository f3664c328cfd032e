"""What is counted of each time bucket of a topic, and how two counts become one.

A row of `Tallies.numbers` has the sums of `Count`, three histograms (from RECORD_SIZES, BATCH_RECORDS and
BATCH_BYTES on) and, from MAX_BATCH_RECORDS on, what is largest; one of `Tallies.registers` is a HyperLogLog.
"""

from __future__ import annotations

import math
import zlib
from enum import IntEnum
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa  # type: ignore[import-untyped] # it has no types

# Bin 0 has zeros; bin n has sizes from GROWTH ** (n - 1) on: the middle of a bin is at most 1 % away.
GROWTH = 1.02
BINS = 1_088
# HyperLogLog: 2 ** 13 registers, each with the highest rank of 51 bits that it saw.
REGISTER_BITS = 13
REGISTERS = 1 << REGISTER_BITS
RANK_BITS = 64 - REGISTER_BITS
# Up to so many keys for each register, the empty registers say more than the ranks.
_SPARSE = 3.5
# BYTES: 1/1,000 bytes in the log, an even share of the batch; SIZE: bytes of keys, values and headers;
# EXPANDED: as in a batch that is not compressed; OVERFLOW: records of too many buckets.
Count = IntEnum(
    "Count",
    "RECORDS NULL_KEYS TOMBSTONES WITH_HEADERS OUT_OF_ORDER FUTURE LOG_APPEND LARGE LARGE_SIZE BYTES SIZE "
    "EXPANDED OVERFLOW",
    start=0,
)
RECORD_SIZES, BATCH_RECORDS, BATCH_BYTES = (len(Count) + n * BINS for n in range(3))
_SUMS = BATCH_BYTES + BINS
MAX_BATCH_RECORDS, MAX_BATCH_BYTES, MAX_RECORD, MAX_PARTITION, MAX_OFFSET = range(_SUMS, _SUMS + 5)
# Names of columns, with where the histogram begins and the largest value is.
SPREADS = {
    "record_bytes": (RECORD_SIZES, MAX_RECORD),
    "batch_records": (BATCH_RECORDS, MAX_BATCH_RECORDS),
    "batch_bytes": (BATCH_BYTES, MAX_BATCH_BYTES),
}
_NUMBERS = MAX_OFFSET + 1
# So many buckets of a topic are counted, on top of the one of records without a time, which is NO_TIME.
MOST_BUCKETS = 4_000
NO_TIME = -1


class Tallies:
    """Counts by bucket, a row (`slot`) for each; the first slot is that of NO_TIME."""

    def __init__(self) -> None:
        self.slots = {NO_TIME: 0}
        self.numbers: Any = np.zeros((1, _NUMBERS), np.int64)
        self.registers: Any = np.zeros((1, REGISTERS), np.uint8)

    def slot(self, bucket: int) -> int:
        """Return the slot of a bucket, that of NO_TIME where there are too many; there may be new arrays."""
        if bucket not in self.slots and len(self.slots) <= MOST_BUCKETS:
            slot = self.slots[bucket] = len(self.slots)
            if slot == len(self.numbers):
                more = ((0, min(slot, MOST_BUCKETS + 1 - slot)), (0, 0))
                self.numbers = np.pad(self.numbers, more)
                self.registers = np.pad(self.registers, more)
        return self.slots.get(bucket, 0)

    def add(self, table: pa.Table) -> None:
        """Add what `to_table` returned."""
        for bucket, packed in zip(*(one.to_pylist() for one in table.columns), strict=True):
            content = zlib.decompress(packed)
            numbers = np.frombuffer(content, np.int64, _NUMBERS)
            slot = self.slot(bucket)
            self._merge(slot, numbers, np.frombuffer(content, np.uint8, offset=numbers.nbytes))
            if slot == 0 and bucket != NO_TIME:
                self.numbers[0, Count.OVERFLOW] += numbers[Count.RECORDS]

    def total(self) -> Tallies:
        """Return the counts of all buckets together, as those of one."""
        found = Tallies()
        for slot in self.slots.values():
            found._merge(0, self.numbers[slot], self.registers[slot])
        return found

    def to_table(self) -> pa.Table:
        """Return a row for each bucket that has records."""
        used = {b: slot for b, slot in self.slots.items() if self.numbers[slot, Count.RECORDS]}
        packed = [
            zlib.compress(self.numbers[slot].tobytes() + self.registers[slot].tobytes(), 1)
            for slot in used.values()
        ]
        columns = {"bucket": pa.array(used, pa.int64()), "packed": pa.array(packed, pa.binary())}
        return pa.table(columns)

    def _merge(self, slot: int, numbers: Any, registers: Any) -> None:
        held = self.numbers[slot]
        if numbers[MAX_RECORD] > held[MAX_RECORD] or not held[Count.RECORDS]:
            held[MAX_RECORD:] = numbers[MAX_RECORD:]
        held[:_SUMS] += numbers[:_SUMS]
        held[_SUMS:MAX_RECORD] = np.maximum(held[_SUMS:MAX_RECORD], numbers[_SUMS:MAX_RECORD])
        np.maximum(self.registers[slot], registers, out=self.registers[slot])


def quantiles(counts: npt.NDArray[np.integer], shares: tuple[float, ...]) -> list[int | None]:
    """Return sizes that so large a share of all is at most (nearest rank, 1 % error); None without any."""
    total = int(counts.sum())
    if total == 0:
        return [None] * len(shares)
    reached = np.cumsum(counts)
    bins = [int(np.searchsorted(reached, max(1, math.ceil(one * total)))) for one in shares]
    return [round(GROWTH ** (n - 1) * (1 + GROWTH) / 2) if n else 0 for n in bins]


def distinct(registers: npt.NDArray[np.uint8]) -> int:
    """Return how many distinct hashes registers saw; the standard error is at most 2 %."""
    empty = int(np.count_nonzero(registers == 0))
    if empty > REGISTERS * math.exp(-_SPARSE):
        return round(REGISTERS * math.log(REGISTERS / empty))
    factor = 0.7213 / (1 + 1.079 / REGISTERS)
    return round(factor * REGISTERS**2 / float(np.sum(0.5**registers)))
