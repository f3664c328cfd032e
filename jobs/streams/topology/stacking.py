"""Blocks one above the other in columns, so that what lines join is at about the same height."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

# Sweeps over a usual topology, over the largest, and how much both cost: blocks and links of all sweeps.
_SWEEPS, _FEWEST_SWEEPS, _MOST_STEPS = 24, 3, 12_000
_SETTLING = 8
# Which neighbours a sweep looks at: those on the left, on the right, all.
_SIDES = (-1, 1, 0)


@dataclass(frozen=True, slots=True)
class Block:
    """What takes a range of columns, the last one included, and a height with the gap below it."""

    first: int
    last: int
    height: int


@dataclass(frozen=True, slots=True)
class Link:
    """A line between two blocks, and how far below their tops it ends; a higher weight is kept straighter."""

    left: int
    left_at: int
    right: int
    right_at: int
    weight: int


def stack(blocks: Sequence[Block], links: Sequence[Link]) -> list[int]:
    """Return the top of each block, from 0; in no column do two overlap.

    Sweeps sort blocks by the heights of their neighbours (barycentres), which unties crossings; the
    arrangement with the shortest climbs wins, the earlier of equals.
    """
    stacking = _Stacking(blocks, links)
    order = list(range(len(blocks)))
    best = tops = stacking.settled(order)
    lowest = stacking.climb(best)
    affordable = max(_FEWEST_SWEEPS, _MOST_STEPS // (len(blocks) + len(links) + 1))
    for sweep in range(min(_SWEEPS, affordable)):
        middles = stacking.wished_middles(tops, _SIDES[sweep % len(_SIDES)])
        order.sort(key=middles.__getitem__)
        tops = stacking.settled(order)
        climb = stacking.climb(tops)
        if climb < lowest:
            best, lowest = tops, climb
    start = min(best, default=0)
    return [top - start for top in best]


class _Stacking:
    def __init__(self, blocks: Sequence[Block], links: Sequence[Link]) -> None:
        self._blocks, self._links = blocks, links
        # Of each block: the side of a neighbour, the neighbour, how much higher its top would be, weight.
        self._joined: list[list[tuple[int, int, int, int]]] = [[] for _ in blocks]
        for link in links:
            shift = link.left_at - link.right_at
            self._joined[link.left].append((1, link.right, -shift, link.weight))
            self._joined[link.right].append((-1, link.left, shift, link.weight))

    def wished_middles(self, tops: list[int], side: int) -> list[float]:
        """Return the middle of each block if its lines to one side were level, on average."""
        return [
            self._wish(at, tops, side) + block.height / 2 for at, block in enumerate(self._blocks)
        ]

    def settled(self, order: list[int]) -> list[int]:
        """Return tops of blocks in this order, moved towards their neighbours as far as there is room."""
        tops = _packed(order, self._blocks)
        above, below = _neighbours(order, self._blocks)
        for turn in range(_SETTLING):
            for at in order if turn % 2 else reversed(order):
                top = self._wish(at, tops, 0)
                if below[at]:
                    top = min(top, min(tops[one] for one in below[at]) - self._blocks[at].height)
                floors = (tops[one] + self._blocks[one].height for one in above[at])
                tops[at] = max([top, *floors])
        return tops

    def climb(self, tops: list[int]) -> int:
        """Return how far all lines go up or down, by their weights."""
        return sum(
            abs(tops[link.left] + link.left_at - tops[link.right] - link.right_at) * link.weight
            for link in self._links
        )

    def _wish(self, block: int, tops: list[int], side: int) -> int:
        seen = [one for one in self._joined[block] if side in (0, one[0])]
        weight = sum(one[3] for one in seen)
        if not weight:
            return tops[block]
        return round(sum((tops[other] + shift) * by for _, other, shift, by in seen) / weight)


def _packed(order: list[int], blocks: Sequence[Block]) -> list[int]:
    """Put one block after the other as high as its columns allow."""
    tops = [0] * len(blocks)
    floors: defaultdict[int, int] = defaultdict(int)
    for one in order:
        columns = range(blocks[one].first, blocks[one].last + 1)
        tops[one] = max(floors[column] for column in columns)
        for column in columns:
            floors[column] = tops[one] + blocks[one].height
    return tops


def _neighbours(order: list[int], blocks: Sequence[Block]) -> tuple[list[set[int]], list[set[int]]]:
    """Return what is right above and right below each block in any of its columns."""
    above: list[set[int]] = [set() for _ in blocks]
    below: list[set[int]] = [set() for _ in blocks]
    last: dict[int, int] = {}
    for one in order:
        for column in range(blocks[one].first, blocks[one].last + 1):
            if column in last:
                above[one].add(last[column])
                below[last[column]].add(one)
            last[column] = one
    return above, below
