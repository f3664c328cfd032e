"""How high each box and each passing line is in its column: within each subtopology, then all together."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

from jobs.streams.topology.stacking import Block, Link, stack

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
