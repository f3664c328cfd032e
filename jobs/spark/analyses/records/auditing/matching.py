"""Which records of two sequences belong together, by their hashes alone."""

from __future__ import annotations

import numpy as np

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
        _numbered(source), _numbered(target), assume_unique=True, return_indices=True
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
        end = common_prefix(
            source[low + start : high][::-1], target[first + start : last][::-1]
        )
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


def _anchors(source: Int64s, target: Int64s) -> Pairs:
    from jobs.spark.analyses.records.auditing.rising import longest_rising

    here, there = paired(source, target)
    only = _is_single(source)[here] & _is_single(target)[there]
    if only.any():
        here, there = here[only], there[only]
    order = np.argsort(here)
    here, there = here[order], there[order]
    kept = longest_rising(there)
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


def _numbered(hashes: Int64s) -> Int64s:
    """Return hashes of each hash with the number of its occurrence."""
    order = np.argsort(hashes, kind="stable")
    ranks = np.arange(len(hashes))
    begins = _begins(hashes[order])
    number = np.empty(len(hashes), np.int64)
    number[order] = ranks - np.maximum.accumulate(np.where(begins, ranks, 0))
    found: Int64s = hashes ^ (number * HASH_FACTOR)
    return found


def _is_single(hashes: Int64s) -> np.ndarray:
    order = np.argsort(hashes, kind="stable")
    begins = _begins(hashes[order])
    found = np.empty(len(hashes), np.bool_)
    found[order] = begins & np.append(begins[1:], True)[: len(hashes)]
    return found


def _begins(ordered: Int64s) -> np.ndarray:
    begins = np.ones(len(ordered), np.bool_)
    begins[1:] = ordered[1:] != ordered[:-1]
    return begins
