"""The parts of a period that were watched: only they count."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Interval = tuple[int, int]


def ms_of(at: datetime) -> int:
    """Return a moment in Unix milliseconds."""
    return round(at.timestamp() * 1000)


def moment_of(ms: int) -> datetime:
    """Return the moment of Unix milliseconds."""
    return datetime.fromtimestamp(ms // 1000, UTC) + timedelta(milliseconds=ms % 1000)


def merged(intervals: Iterable[Interval]) -> list[Interval]:
    """Return intervals [from, to) in order, those that overlap or touch as one; empty ones are left out."""
    found: list[Interval] = []
    for start, end in sorted(one for one in intervals if one[0] < one[1]):
        if found and start <= found[-1][1]:
            found[-1] = (found[-1][0], max(found[-1][1], end))
        else:
            found.append((start, end))
    return found


class WatchedTime:
    """The time from `start` to `end` (Unix ms) without what is unknown.

    `gaps` and `watched` are intervals [from, to) in order, cut to the period.
    """

    def __init__(self, start: int, end: int, unknown: Sequence[Interval] = ()) -> None:
        self.start, self.end = start, end
        self.gaps = merged((max(one, start), min(other, end)) for one, other in unknown)
        edges = [start, *(at for gap in self.gaps for at in gap), end]
        pairs = zip(edges[::2], edges[1::2], strict=True)
        self.watched = [one for one in pairs if one[0] < one[1]]
        known = self.watched or [(start, start)]
        self._starts = np.asarray([one for one, _ in known], dtype=np.int64)
        self._lengths = np.asarray([other - one for one, other in known], dtype=np.int64)
        self._before = np.cumsum(self._lengths) - self._lengths

    @property
    def total(self) -> int:
        """How long was watched, in ms."""
        return int(self._lengths.sum())

    def until(self, at: Ints) -> Ints:
        """Return how many ms of watched time lie between the start and moments (Unix ms)."""
        place = np.maximum(np.searchsorted(self._starts, at, side="right") - 1, 0)
        inside = np.clip(at - self._starts[place], 0, self._lengths[place])
        found: Ints = self._before[place] + inside
        return found

    def between(self, begins: Ints, ends: Ints) -> Ints:
        """Return how many ms of watched time lie in each interval; 0 for one that ends before it begins."""
        found: Ints = np.maximum(self.until(ends) - self.until(begins), 0)
        return found
