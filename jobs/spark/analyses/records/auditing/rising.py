"""The longest rising subsequence, compiled by numba."""

from __future__ import annotations

import numpy as np

from jobs.wire.machine_code import compiled
from jobs.wire.rebatch.table import Int64s


@compiled
def longest_rising(values: Int64s) -> Int64s:
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
