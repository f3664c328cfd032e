"""Small summaries that can be merged: histograms of sizes, and registers that count distinct keys."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

# Bin 0 has zeros; bin n has sizes from GROWTH ** (n - 1) on: the middle of a bin is at most 1 % away.
GROWTH = 1.02
BINS = 1_088
# HyperLogLog: 2 ** 13 registers, each with the highest rank of 51 bits that it saw.
REGISTER_BITS = 13
REGISTERS = 1 << REGISTER_BITS
RANK_BITS = 64 - REGISTER_BITS
STANDARD_ERROR = 1.04 / math.sqrt(REGISTERS)


def quantiles(counts: npt.NDArray[np.integer], shares: tuple[float, ...]) -> list[int | None]:
    """Return sizes that so large a share of all is at most (nearest rank, 1 % error); None without any."""
    total = int(counts.sum())
    if total == 0:
        return [None] * len(shares)
    reached = np.cumsum(counts)
    bins = [int(np.searchsorted(reached, max(1, math.ceil(one * total)))) for one in shares]
    return [round(GROWTH ** (n - 1) * (1 + GROWTH) / 2) if n else 0 for n in bins]


def distinct(registers: npt.NDArray[np.uint8]) -> int:
    """Return how many distinct hashes registers saw, about: the improved raw estimator of Ertl (2017)."""
    ranks = np.bincount(registers, minlength=RANK_BITS + 2)
    if ranks[0] == REGISTERS:
        return 0
    weight = REGISTERS * _tau(1 - ranks[RANK_BITS + 1] / REGISTERS)
    for count in ranks[RANK_BITS:0:-1]:
        weight = (weight + count) / 2
    weight += REGISTERS * _sigma(ranks[0] / REGISTERS)
    return round(REGISTERS * REGISTERS / (2 * math.log(2) * weight))


def _sigma(x: float) -> float:
    found, before, factor = x, -1.0, 1.0
    while found != before:
        before = found
        x *= x
        found += x * factor
        factor *= 2
    return found


def _tau(x: float) -> float:
    if x in {0.0, 1.0}:
        return 0.0
    found, before, factor = 1 - x, -1.0, 1.0
    while found != before:
        before = found
        x = math.sqrt(x)
        factor /= 2
        found -= (1 - x) ** 2 * factor
    return found / 3
