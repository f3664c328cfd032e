"""Which records of two sequences belong together, by their hashes alone."""

from __future__ import annotations

import numpy as np

from jobs.wire.machine_code import compiled
from jobs.wire.rebatch.table import HASH_FACTOR, Int64s

Pairs = tuple[Int64s, Int64s]


def common_prefix(source: Int64s, target: Int64s) -> int:
    """Return how many records both sequences begin with."""
    count = min(len(source), len(target))
    differ = source[:count] != target[:count]
    first = int(differ.argmax()) if count else 0
    return first if count and differ[first] else count


def paired(source: Int64s, target: Int64s) -> Pairs:
    """Return places of equal hashes: the n-th occurrence on one side with the n-th on the other."""
    _, here, there = np.intersect1d(
        _numbered(source)[0], _numbered(target)[0], assume_unique=True, return_indices=True
    )
    return here, there


def in_order(source: Int64s, target: Int64s) -> Pairs:
    """Return places of equal records that are in the same order on both sides; both arrays rise.

    Records that occur once are matched first, those in between next. What is behind the last match of
    a side may be matched with what comes later.
    """
    found = [_anchors(source, target)]
    todo = _gaps(*found[0], (0, 0))
    while todo:
        low, high, first, last = todo.pop()
        start = common_prefix(source[low:high], target[first:last])
        end = common_prefix(source[low + start : high][::-1], target[first + start : last][::-1])
        for size, at, to in ((start, low, first), (end, high - end, last - end)):
            if size:
                found.append((np.arange(at, at + size), np.arange(to, to + size)))
        low, first, high, last = low + start, first + start, high - end, last - end
        here, there = _anchors(source[low:high], target[first:last])
        if len(here):
            found.append((here + low, there + first))
            todo += _gaps(*found[-1], (low, first), (high, last))
    here, there = (np.concatenate(one) for one in zip(*found, strict=True))
    order = np.argsort(here)
    return here[order], there[order]


def mixed(hashes: Int64s, other: Int64s) -> Int64s:
    """Return hashes of pairs of 64-bit numbers."""
    found: Int64s = (hashes ^ (other * HASH_FACTOR)) * HASH_FACTOR
    return found


@compiled
def _longest_rising(values: Int64s) -> Int64s:
    """Return the places of a longest rising subsequence, in their order; equal values do not rise."""
    count = len(values)
    ends = np.empty(count, np.int64)
    before = np.empty(count, np.int64)
    length = 0
    for place in range(count):
        low, high = 0, length
        while low < high:
            middle = (low + high) // 2
            if values[ends[middle]] < values[place]:
                low = middle + 1
            else:
                high = middle
        before[place] = ends[low - 1] if low > 0 else -1
        ends[low] = place
        if low == length:
            length += 1
    found = np.empty(length, np.int64)
    place = ends[length - 1] if length > 0 else -1
    for step in range(length - 1, -1, -1):
        found[step] = place
        place = before[place]
    return found


def _anchors(source: Int64s, target: Int64s) -> Pairs:
    (left, is_left_single), (right, is_right_single) = _numbered(source), _numbered(target)
    _, here, there = np.intersect1d(left, right, assume_unique=True, return_indices=True)
    only = is_left_single[here] & is_right_single[there]
    if only.any():
        here, there = here[only], there[only]
    order = np.argsort(here)
    here, there = here[order], there[order]
    kept = _longest_rising(there)
    return here[kept], there[kept]


def _gaps(
    here: Int64s, there: Int64s, start: tuple[int, int], end: tuple[int, int] | None = None
) -> list[tuple[int, int, int, int]]:
    """Return what is between matches where both sides have something."""
    lows, firsts = np.append(start[0], here + 1), np.append(start[1], there + 1)
    highs = np.append(here, end[0] if end else lows[-1])
    lasts = np.append(there, end[1] if end else firsts[-1])
    wanted = (lows < highs) & (firsts < lasts)
    columns = (one[wanted].tolist() for one in (lows, highs, firsts, lasts))
    return list(zip(*columns, strict=True))


def _numbered(hashes: Int64s) -> tuple[Int64s, np.ndarray]:
    """Return hashes of each hash with the number of its occurrence, and which ones occur once."""
    order = np.argsort(hashes, kind="stable")
    ordered, ranks = hashes[order], np.arange(len(hashes))
    begins = np.ones(len(hashes) + 1, np.bool_)
    begins[1:-1] = ordered[1:] != ordered[:-1]
    number = np.empty(len(hashes), np.int64)
    number[order] = ranks - np.maximum.accumulate(np.where(begins[:-1], ranks, 0))
    is_single = np.empty(len(hashes), np.bool_)
    is_single[order] = begins[:-1] & begins[1:]
    return hashes ^ (number * HASH_FACTOR), is_single
