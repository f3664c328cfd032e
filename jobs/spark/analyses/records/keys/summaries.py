"""Keys of records in bounded memory: the most frequent ones, and a sample that is the same everywhere.

Keys are columns of an int64 array of `WIDTH` rows. Both summaries can be merged: that of two parts is that of
the whole.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from jobs.wire.rebatch.table import Int64s


class Row:
    """Rows of an array of keys.

    HASH: 64 bits of the key. RECORDS, BYTES: sums. LOW, HIGH: the lowest and the highest partition it was
    seen in. MURMUR2, CRC32, FNV1A: unsigned 32 bits. FIRST, LAST: times in ms; `NO_FIRST` and -1: none was
    stored.
    """

    HASH, RECORDS, BYTES, LOW, HIGH, MURMUR2, CRC32, FNV1A, FIRST, LAST = range(10)


WIDTH = 10
NO_FIRST = (1 << 63) - 1
ALL_HASHES = (1 << 64) - 1
_SHIFT = np.uint64(33)
_FACTOR = np.uint64(0xFF51AFD7ED558CCD)

Unsigned = npt.NDArray[np.uint64]


def no_keys() -> Int64s:
    """Return an array without keys."""
    return np.empty((WIDTH, 0), np.int64)


def grouped(keys: Int64s, *, by_partition: bool = False) -> Int64s:
    """Return each key once, by its hash; `by_partition`: once for each Row.LOW."""
    if not keys.shape[1]:
        return keys
    hashes = keys[Row.HASH]
    order = np.lexsort((keys[Row.LOW], hashes)) if by_partition else np.argsort(hashes)
    keys = keys[:, order]
    begins = np.ones(keys.shape[1], np.bool_)
    begins[1:] = keys[Row.HASH, 1:] != keys[Row.HASH, :-1]
    if by_partition:
        begins[1:] |= keys[Row.LOW, 1:] != keys[Row.LOW, :-1]
    starts = np.flatnonzero(begins)
    found: Int64s = keys[:, starts]
    for row in (Row.RECORDS, Row.BYTES):
        found[row] = np.add.reduceat(keys[row], starts)
    for row in (Row.LOW, Row.FIRST):
        found[row] = np.minimum.reduceat(keys[row], starts)
    for row in (Row.HIGH, Row.LAST):
        found[row] = np.maximum.reduceat(keys[row], starts)
    return found


def mixed(hashes: Int64s) -> Unsigned:
    """Return hashes as unsigned numbers that are spread evenly; different ones stay different."""
    found = hashes.view(np.uint64).copy()
    found ^= found >> _SHIFT
    found *= _FACTOR
    found ^= found >> _SHIFT
    return found


class FrequentKeys:
    """The most frequent keys: a Misra-Gries summary with batch purge, of at most `capacity` keys.

    A key of `keys` has RECORDS to RECORDS + `error` records; one that is not there has at most `error`.
    `error` is at most the sum of records divided by `capacity`; 0: everything is exact. BYTES is a lower
    bound. `keys` holds after `settle`.
    """

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self.error = 0
        self.keys = no_keys()
        self._pending: list[Int64s] = []
        self._count = 0

    def add(self, keys: Int64s, error: int = 0) -> None:
        """Add keys, or those of another summary with its error."""
        self._pending.append(keys)
        self._count += keys.shape[1]
        self.error += error
        if self._count > 2 * self.capacity:
            self.settle()

    def settle(self) -> None:
        """Bring `keys` and `error` up to date."""
        keys = grouped(np.concatenate([self.keys, *self._pending], axis=1))
        self._pending, self._count = [], 0
        if keys.shape[1] > self.capacity:
            at = keys.shape[1] - self.capacity - 1
            cut = int(np.partition(keys[Row.RECORDS], at)[at])
            self.error += cut
            keys = keys[:, keys[Row.RECORDS] > cut]
            keys[Row.RECORDS] -= cut
        self.keys = keys

    def top(self, most: int) -> Int64s:
        """Return the most frequent keys, the largest first."""
        order = np.lexsort((self.keys[Row.HASH], -self.keys[Row.RECORDS]))
        found: Int64s = self.keys[:, order[:most]]
        return found


class SampledKeys:
    """All records of the keys with the `most_keys` smallest mixed hashes: an even sample of distinct keys.

    `pairs` has an entry for each key and partition, with exact counts; `threshold`: the sample has every key
    whose mixed hash is at most this. Where there are more than `most_pairs`, it has fewer keys. Both hold
    after `settle`.
    """

    def __init__(self, most_keys: int, most_pairs: int) -> None:
        self.most_keys = most_keys
        self.most_pairs = most_pairs
        self.threshold = ALL_HASHES
        self.pairs = no_keys()
        self._pending: list[Int64s] = []
        self._count = 0

    def add(self, keys: Int64s, threshold: int = ALL_HASHES) -> None:
        """Add keys, or the pairs of another sample with its threshold."""
        self.threshold = min(self.threshold, threshold)
        wanted = keys[:, mixed(keys[Row.HASH]) <= np.uint64(self.threshold)]
        self._pending.append(wanted)
        self._count += wanted.shape[1]
        if self._count > 2 * self.most_pairs:
            self.settle()

    def settle(self) -> None:
        """Bring `pairs` and `threshold` up to date."""
        pairs = grouped(np.concatenate([self.pairs, *self._pending], axis=1), by_partition=True)
        self._pending, self._count = [], 0
        hashes = mixed(pairs[Row.HASH])
        known, counts = np.unique(hashes, return_counts=True)
        whole = int(np.searchsorted(np.cumsum(counts), self.most_pairs, "right"))
        most = max(1, min(self.most_keys, whole))
        if len(known) > most:
            self.threshold = min(self.threshold, int(known[most - 1]))
        self.pairs = pairs[:, hashes <= np.uint64(self.threshold)]

    def distinct(self) -> int:
        """Return how many keys there are; estimated unless it has all of them."""
        count = len(np.unique(self.pairs[Row.HASH]))
        is_whole = self.threshold == ALL_HASHES
        return count if is_whole else round(max(count - 1, 1) * 2**64 / (self.threshold + 1))
