"""How high each box and each passing line is in its column: within each subtopology, then all together."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

_PASS_HEIGHT, _BOX_GAP = 14, 14
_GROUP_HEAD, _GROUP_FOOT, _GROUP_GAP = 30, 12, 20
# A line that only passes is kept straighter than one that ends at a box.
_WEIGHT_OF_BOX, _WEIGHT_OF_PASS = 1, 3


@dataclass(slots=True)
class Item:
    """What takes some height of a column: a box, or a line that passes; `y` is its top in pixels."""

    column: int
    height: int
    group: str | None
    is_box: bool = True
    y: int = 0

    @property
    def level(self) -> int:
        """Return the height at which lines run."""
        return self.y + self.height // 2


@dataclass(slots=True)
class Group:
    """The columns of a subtopology, the last one included, and its rectangle's top and height."""

    first: int
    last: int
    y: int = 0
    height: int = 0


def groups_of(items: list[Item]) -> dict[str, Group]:
    """Return the groups of boxes, in the order of their first one, without a height."""
    found: dict[str, Group] = {}
    for item in items:
        if item.group is not None:
            group = found.setdefault(item.group, Group(item.column, item.column))
            group.first = min(group.first, item.column)
            group.last = max(group.last, item.column)
    return found


def chain_of(items: list[Item], groups: dict[str, Group], start: int, end: int) -> list[int]:
    """Return the items of a line from left to right; adds to `items` one for each column that it passes."""
    left, right = items[start], items[end]
    chain = [start]
    for column in range(left.column + 1, right.column):
        chain.append(len(items))
        group = _group_passed(groups, left, right, column)
        items.append(Item(column, _PASS_HEIGHT, group, is_box=False))
    return [*chain, end]


def _group_passed(groups: dict[str, Group], left: Item, right: Item, column: int) -> str | None:
    """Return the group in whose rectangle a line runs: that of an end, up to the side that it crosses."""
    if left.group is not None and left.group == right.group:
        return left.group
    if left.group is not None and column <= groups[left.group].last < right.column:
        return left.group
    if right.group is not None and column >= groups[right.group].first > left.column:
        return right.group
    return None


def set_heights(items: list[Item], chains: list[list[int]], groups: dict[str, Group]) -> None:
    """Set where each item and each group is, from 0; no two of one column overlap."""
    steps = [step for chain in chains for step in pairwise(chain)]
    blocks: list[Block] = []
    block_of: dict[int, int] = {}
    for name, group in groups.items():
        members = [at for at, item in enumerate(items) if item.group == name]
        inside = _stack(items, members, steps)
        for at, top in zip(members, inside, strict=True):
            items[at].y = top + _GROUP_HEAD
        bottom = max(items[at].y + items[at].height for at in members)
        group.height = bottom + _GROUP_FOOT
        block_of.update(dict.fromkeys(members, len(blocks)))
        blocks.append(Block(group.first, group.last, group.height + _GROUP_GAP))
    for at, item in enumerate(items):
        if item.group is None:
            block_of[at] = len(blocks)
            blocks.append(_block(item))
    outside = [step for step in steps if block_of[step[0]] != block_of[step[1]]]
    tops = stack(blocks, [_link(items, block_of, step) for step in outside])
    for group, top in zip(groups.values(), tops, strict=False):
        group.y = top
    for at, item in enumerate(items):
        item.y += tops[block_of[at]]


def _stack(items: list[Item], members: list[int], steps: list[tuple[int, int]]) -> list[int]:
    place = {at: number for number, at in enumerate(members)}
    inside = [step for step in steps if step[0] in place and step[1] in place]
    return stack(
        [_block(items[at]) for at in members], [_link(items, place, step) for step in inside]
    )


def _block(item: Item) -> Block:
    return Block(item.column, item.column, item.height + (_BOX_GAP if item.is_box else 0))


def _link(items: list[Item], block_of: dict[int, int], step: tuple[int, int]) -> Link:
    left, right = items[step[0]], items[step[1]]
    weight = (_WEIGHT_OF_BOX if left.is_box else _WEIGHT_OF_PASS) * (
        _WEIGHT_OF_BOX if right.is_box else _WEIGHT_OF_PASS
    )
    return Link(block_of[step[0]], left.level, block_of[step[1]], right.level, weight)


# Blocks one above the other in columns, so that what lines join is at about the same height.

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
