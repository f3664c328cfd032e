"""Both sides of a partition aligned while they are read: what is equal and in order is let go at once.

Pure. Rows are int64 arrays, one column for each record (of level L0: for each batch): the constants below
are their rows; behind them may be rows of a digest that is compared for each match.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum

import numpy as np

from jobs.spark.analyses.records.auditing.matching import common_prefix, in_order
from jobs.wire.rebatch.table import Int64s

# COUNT: the records of a row. IS_TOMBSTONE: its value is null. KEY: a hash, 0 for null.
OFFSET, TIME, HASH, KEY, IS_TOMBSTONE, COUNT = range(6)
DIGEST = 6
# Of rows that were left without a match: how many matches are before it; the first later offset that
# superseded it; the source offset of what it repeats.
GAP, CLOSED, REPEATS = range(6, 9)
WIDTH = 9
NEVER = 1 << 62
_UNDECIDED, _NONE = -2, -1
SEGMENT = 1 << 16
MOST_ROWS = 1 << 20
_SMALLEST_WINDOW = 1 << 10
_FEWEST_MATCHES, _DENSITY = 16, 0.25


class Side(IntEnum):
    """The sides of a copy, as indices."""

    SOURCE = 0
    TARGET = 1


@dataclass(slots=True)
class Matched:
    """What was matched: the last match (-1: none) and the first one; `altered`: equal hash, other digest."""

    rows: int = 0
    records: int = 0
    first: tuple[int, int] = (-1, -1)
    last: tuple[int, int] = (-1, -1)
    altered: list[tuple[int, int]] = field(default_factory=list)
    altered_count: int = 0


class Alignment:
    """Takes rows of both sides as `feed` gets them and keeps what has no match.

    `compacted`: records may be removed that a later one of their key superseded. `edges`: per side whether
    what is before the first match is only counted, see `dropped` (count, first offset, last offset).
    `most_rows` of a side wait for a match.
    """

    def __init__(
        self,
        *,
        compacted: bool = False,
        edges: tuple[bool, bool] = (False, False),
        most_rows: int = MOST_ROWS,
    ) -> None:
        self.matched = Matched()
        self.dropped = [[0, -1, -1], [0, -1, -1]]
        self.tail = 0
        self.superseded = 0
        self.last_rows = [-1, -1]
        self.value_keys = (KeySet(), KeySet())
        self._compacted = compacted
        self._edges = edges
        self._most = most_rows
        self._waiting = [_no_rows(DIGEST), _no_rows(DIGEST)]
        self._left: list[list[Int64s]] = [[], []]
        self._recent: list[Int64s] = []
        self._since_decided = 0
        self._window = _SMALLEST_WINDOW

    def wants(self, side: Side) -> bool:
        """Return whether more rows of a side are needed before both can be aligned."""
        size: int = self._waiting[side].shape[1]
        return size < min(max(SEGMENT, 2 * self._window), self._most)

    def left_count(self) -> int:
        """Return how many rows have no match until now."""
        return sum(part.shape[1] for parts in self._left for part in parts)

    def feed(self, side: Side, rows: Int64s) -> None:
        """Take the next rows of a side."""
        if not rows.shape[1]:
            return
        self.last_rows[side] = int(rows[OFFSET, -1])
        if self._compacted:
            keys, first = np.unique(rows[KEY], return_index=True)
            is_gone = rows[IS_TOMBSTONE] == 1
            self.value_keys[side].add(np.unique(rows[KEY][~is_gone]) if is_gone.any() else keys)
            for one in (side, Side.TARGET)[: 1 + (side is Side.SOURCE)]:
                self._close(one, keys, rows[OFFSET, first], by_source=one is not side)
        waiting = self._waiting[side]
        self._waiting[side] = np.concatenate((waiting, rows), axis=1) if waiting.shape[1] else rows

    def align(self, *, ended: tuple[bool, bool]) -> None:
        """Align what waits, as far as it is certain without more rows; `ended`: no more rows come."""
        while True:
            source, target = self._waiting
            count = common_prefix(source[HASH], target[HASH])
            if count:
                self._take_matched(slice(count), slice(count), count)
                if count >= self._window:
                    self._window = _SMALLEST_WINDOW
            sizes = [one.shape[1] for one in self._waiting]
            if not min(sizes):
                break
            if any(self.wants(side) and not ended[side] for side in Side):
                return
            self._over_difference(is_end=all(ended))
        if ended[Side.TARGET] and self._waiting[Side.SOURCE].shape[1] > self._most:
            # No copy of them can come: kept is what a changed copy may belong to.
            self.tail += int(self._waiting[Side.SOURCE][COUNT, SEGMENT:].sum())
            self._waiting[Side.SOURCE] = self._waiting[Side.SOURCE][:, :SEGMENT]
        if ended[Side.SOURCE] and not self._waiting[Side.SOURCE].shape[1]:
            self._leave_all(Side.TARGET)

    def finish(self) -> tuple[Int64s, Int64s]:
        """Return the rows without a match of each side, WIDTH rows each, in the order of their offsets."""
        for side in Side:
            self._leave_all(side)
        self._decide()
        source, target = (np.concatenate((_no_rows(WIDTH), *one), axis=1) for one in self._left)
        return source, target

    def _over_difference(self, *, is_end: bool) -> None:
        """Find the next matches in a window that grows, or leave rows that have none."""
        sizes = [one.shape[1] for one in self._waiting]
        while True:
            source, target = (one[HASH, : self._window] for one in self._waiting)
            here, there = in_order(source, target)
            is_all = self._window >= max(sizes)
            if len(here):
                reach = min(here[-1], there[-1]) + 1
                is_sure = len(here) >= _FEWEST_MATCHES and len(here) >= _DENSITY * reach
                if is_sure or is_all:
                    self._match(here, there)
                    # Differences are often close together: fewer, larger windows cost less.
                    self._window = min(2 * self._window, SEGMENT)
                    return
            if is_all:
                break
            self._window *= 4
        if not is_end and max(sizes) < self._most:
            # More of both sides is to be read first, see `wants`.
            self._window = min(4 * self._window, self._most)
            return
        if is_end:
            for one in Side:
                self._leave_all(one)
        else:
            self._leave_older()

    def _leave_older(self) -> None:
        """Leave half of the rows of the side that is older, as far as can be said."""
        source, target = self._waiting
        is_older = target[TIME].max() < source[TIME].min()
        side = Side.TARGET if is_older else Side.SOURCE
        size = max(self._waiting[side].shape[1] // 2, 1)
        if self._edges[side] and not self.matched.rows:
            self._drop(side, size)
        else:
            self._leave(side, np.arange(size), 0)
        self._take(side, size)

    def _leave_all(self, side: Side) -> None:
        size = self._waiting[side].shape[1]
        self._leave(side, np.arange(size), 0)
        self._take(side, size)

    def _match(self, here: Int64s, there: Int64s) -> None:
        """Take the rows up to the last of some matches; those between them have none."""
        for side, places in zip(Side, (here, there), strict=True):
            is_left = np.ones(int(places[-1]) + 1, np.bool_)
            is_left[places] = False
            left = np.flatnonzero(is_left)
            if len(left):
                self._leave(side, left, np.searchsorted(places, left), int(here[-1]) + 1)
        self._take_matched(here, there, len(here))

    def _take_matched(self, here: Int64s | slice, there: Int64s | slice, count: int) -> None:
        """Count matches, and take all rows up to the last one."""
        source, target = (
            one[:, places] for one, places in zip(self._waiting, (here, there), strict=True)
        )
        matched = self.matched
        if not matched.rows:
            matched.first = int(source[OFFSET, 0]), int(target[OFFSET, 0])
        matched.last = int(source[OFFSET, -1]), int(target[OFFSET, -1])
        matched.rows += count
        matched.records += int(source[COUNT].sum())
        if len(source) > DIGEST:
            other = np.flatnonzero((source[DIGEST:] != target[DIGEST:]).any(axis=0))
            matched.altered_count += len(other)
            first = other[: max(1000 - len(matched.altered), 0)]
            offsets = source[OFFSET, first], target[OFFSET, first]
            matched.altered += list(zip(*(one.tolist() for one in offsets), strict=True))
        self._recent.append(source[[HASH, OFFSET]])
        self._since_decided += count
        for side, places in zip(Side, (here, there), strict=True):
            self._take(side, count if isinstance(places, slice) else int(places[-1]) + 1)
        if self._since_decided > self._most:
            self._decide()

    def _take(self, side: Side, count: int) -> None:
        self._waiting[side] = self._waiting[side][:, count:]

    def _drop(self, side: Side, count: int) -> None:
        rows, told = self._waiting[side][:, :count], self.dropped[side]
        told[0] += int(rows[COUNT].sum())
        told[1] = int(rows[OFFSET, 0]) if told[1] < 0 else told[1]
        told[2] = int(rows[OFFSET, -1])

    def _leave(self, side: Side, places: Int64s, gaps: Int64s | int, behind: int = 0) -> None:
        """Keep waiting rows without a match; source rows from place `behind` on are later than they."""
        if not len(places):
            return
        rows = self._waiting[side]
        kept = np.empty((WIDTH, len(places)), np.int64)
        kept[:DIGEST] = rows[:DIGEST, places]
        kept[GAP] = self.matched.rows + gaps
        kept[CLOSED] = NEVER
        kept[REPEATS] = _UNDECIDED if side is Side.TARGET else _NONE
        self._left[side].append(kept)
        if self._compacted:
            kept[CLOSED] = _next_of_key(rows)[places]
            if side is Side.TARGET:
                later = self._waiting[Side.SOURCE][:, behind:]
                keys, first = np.unique(later[KEY], return_index=True)
                _close(kept, keys, later[OFFSET, first], by_source=True)

    def _close(self, side: Side, keys: Int64s, offsets: Int64s, *, by_source: bool) -> None:
        if not self._left[side]:
            return
        if len(self._left[side]) > 1:
            self._left[side] = [np.concatenate(self._left[side], axis=1)]
        left = self._left[side][0]
        _close(left, keys, offsets, by_source=by_source)
        if left.shape[1] > self._most // 4 and side is Side.SOURCE:
            # What is certain needs no place any more.
            gone = left[CLOSED] <= self.matched.last[0]
            self.superseded += int(gone.sum())
            self._left[side] = [left[:, ~gone]]

    def _decide(self) -> None:
        """Find which rows of the target repeat one that was matched not long ago."""
        self._since_decided = 0
        recent = np.concatenate((_no_rows(2), *self._recent), axis=1)
        self._recent = [recent[:, -self._most :]]
        undecided = [
            part for part in self._left[Side.TARGET] if (part[REPEATS] == _UNDECIDED).any()
        ]
        if not undecided:
            return
        if not recent.shape[1]:
            for part in undecided:
                part[REPEATS][part[REPEATS] == _UNDECIDED] = _NONE
            return
        order = np.argsort(recent[0], kind="stable")
        hashes, offsets = recent[0][order], recent[1][order]
        for part in undecided:
            asked = np.flatnonzero(part[REPEATS] == _UNDECIDED)
            at = np.minimum(np.searchsorted(hashes, part[HASH, asked]), len(hashes) - 1)
            part[REPEATS, asked] = np.where(hashes[at] == part[HASH, asked], offsets[at], _NONE)


class KeySet:
    """Hashes of keys, each once."""

    def __init__(self) -> None:
        self._parts: list[Int64s] = []
        self._size, self._limit = 0, MOST_ROWS

    def add(self, keys: Int64s) -> None:
        """Add keys that differ."""
        self._parts.append(keys)
        self._size += len(keys)
        if self._size > self._limit:
            self._parts = [self.all()]
            self._size = len(self._parts[0])
            self._limit = 2 * self._size + MOST_ROWS

    def all(self) -> Int64s:
        """Return them, sorted."""
        found: Int64s = np.unique(np.concatenate((np.empty(0, np.int64), *self._parts)))
        return found


def _no_rows(width: int) -> Int64s:
    return np.empty((width, 0), np.int64)


def _next_of_key(rows: Int64s) -> Int64s:
    """Return of each row the next offset of its key, NEVER where there is none or no key."""
    order = np.argsort(rows[KEY], kind="stable")
    keys, offsets = rows[KEY][order], rows[OFFSET][order]
    found = np.full(rows.shape[1], NEVER, np.int64)
    same = (keys[1:] == keys[:-1]) & (keys[1:] != 0)
    found[order[:-1][same]] = offsets[1:][same]
    return found


def _close(left: Int64s, keys: Int64s, offsets: Int64s, *, by_source: bool) -> None:
    """Note what of some rows is superseded by later rows: their keys (sorted, each once) and offsets."""
    still = np.flatnonzero((left[CLOSED] == NEVER) & (left[KEY] != 0))
    if not len(keys) or not len(still):
        return
    at = np.minimum(np.searchsorted(keys, left[KEY, still]), len(keys) - 1)
    found = keys[at] == left[KEY, still]
    left[CLOSED, still[found]] = 0 if by_source else offsets[at[found]]
