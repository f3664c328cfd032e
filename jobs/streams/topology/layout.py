"""Where each node and each line of a topology's picture is: from left to right, the same for the same graph.

Boxes are in columns, one above the other, and lines pass between them; a line changes its height only in the
gap between two columns, where no box is. A subtopology takes a range of columns and in them a height of its
own, so that no other box is inside its rectangle.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from jobs.streams.topology.graph import Edge, GraphNode, TopologyGraph
from jobs.streams.topology.placing import Group, Item, chain_of, groups_of, set_heights

MOST_NODES = 250
MOST_EDGES = 750
# Columns that lines pass through, all lines together.
MOST_PASSES = 2_500

LINE_HEIGHT = 15
_BOX_MARGIN, _BOX_PADDING, _LEAST_WIDTH = 14, 9, 64
# How far a line is level beside a box, and the gap between columns in which it changes its height.
_STUB, _COLUMN_GAP = 9, 42
_GROUP_SIDE = 12
_BORDER = 16

Point = tuple[int, int]


class TooLargeToDraw(ValueError):
    """A graph has more nodes or edges than anybody could read in a picture."""


@dataclass(frozen=True, slots=True)
class PlacedNode:
    """A box in pixels, with its text: the name in one line or two, then its notes."""

    node: GraphNode
    x: int
    y: int
    width: int
    height: int
    lines: tuple[str, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PlacedEdge:
    """A line from border to border; it is level from each point with an even index to the next."""

    edge: Edge
    points: tuple[Point, ...]


@dataclass(frozen=True, slots=True)
class PlacedGroup:
    """The rectangle around a subtopology's nodes; its title is inside at the top."""

    title: str
    x: int
    y: int
    width: int
    height: int


@dataclass(frozen=True, slots=True)
class Layout:
    """A picture's size in pixels and what is in it; edges from a node to itself are left out."""

    width: int
    height: int
    boxes: tuple[PlacedNode, ...]
    lines: tuple[PlacedEdge, ...]
    groups: tuple[PlacedGroup, ...]


def lay_out(graph: TopologyGraph) -> Layout:
    """Place a graph; raises TooLargeToDraw, also when its lines would pass through too many columns."""
    if len(graph.nodes) > MOST_NODES or len(graph.edges) > MOST_EDGES:
        raise TooLargeToDraw(
            f"A topology with {len(graph.nodes):,} nodes and {len(graph.edges):,} edges is too large "
            f"to draw. At most {MOST_NODES:,} nodes and {MOST_EDGES:,} edges are drawn."
        )
    index = {node.key: at for at, node in enumerate(graph.nodes)}
    edges = [edge for edge in graph.edges if edge.start != edge.end]
    pairs = [(index[edge.start], index[edge.end]) for edge in edges]
    columns, forward = columns_of(len(graph.nodes), pairs)
    if sum(columns[end] - columns[start] - 1 for start, end in forward) > MOST_PASSES:
        raise TooLargeToDraw("The lines of this topology would pass by too many nodes to be drawn.")
    boxes = [_box(node) for node in graph.nodes]
    items = [
        Item(column, box.height, box.node.subtopology)
        for column, box in zip(columns, boxes, strict=True)
    ]
    groups = groups_of(items)
    chains = [chain_of(items, groups, start, end) for start, end in forward]
    set_heights(items, chains, groups)
    sides = _sides(boxes, columns)
    placed = tuple(_placed(box, item, sides) for box, item in zip(boxes, items, strict=False))
    lines = tuple(
        PlacedEdge(edge, _points(chain, items, placed, sides, is_turned=chain[0] != pair[0]))
        for edge, pair, chain in zip(edges, pairs, chains, strict=True)
    )
    drawn = tuple(_group(title, group, sides) for title, group in groups.items())
    bottoms = [item.y + item.height for item in items] + [one.y + one.height for one in drawn]
    right = max((end for _, end in sides), default=0)
    return Layout(
        right + _GROUP_SIDE + _BORDER, max(bottoms, default=0) + _BORDER, placed, lines, drawn
    )


def _box(node: GraphNode) -> PlacedNode:
    """Return a box of the size that its text needs, at no place yet."""
    lines, notes = label_lines(node.label), note_lines(node.note)
    width = max(text_width(line) for line in (*lines, *notes)) + 2 * _BOX_PADDING
    height = LINE_HEIGHT * (len(lines) + len(notes)) + _BOX_MARGIN
    return PlacedNode(node, 0, 0, max(width, _LEAST_WIDTH), height, lines, notes)


def _sides(boxes: list[PlacedNode], columns: list[int]) -> list[tuple[int, int]]:
    """Return where each column begins and ends, from left to right."""
    widths = [0] * (max(columns, default=-1) + 1)
    for box, column in zip(boxes, columns, strict=True):
        widths[column] = max(widths[column], box.width + 2 * _STUB)
    sides, x = [], _BORDER + _GROUP_SIDE
    for width in widths:
        sides.append((x, x + width))
        x += width + _COLUMN_GAP
    return sides


def _placed(box: PlacedNode, item: Item, sides: list[tuple[int, int]]) -> PlacedNode:
    left, right = sides[item.column]
    return replace(box, x=(left + right - box.width) // 2, y=item.y + _BORDER)


def _points(
    chain: list[int],
    items: list[Item],
    boxes: tuple[PlacedNode, ...],
    sides: list[tuple[int, int]],
    *,
    is_turned: bool,
) -> tuple[Point, ...]:
    first, last = boxes[chain[0]], boxes[chain[-1]]
    points = [(first.x + first.width, items[chain[0]].level + _BORDER)]
    for left, right in pairwise(chain):
        points.append((sides[items[left].column][1], items[left].level + _BORDER))
        points.append((sides[items[right].column][0], items[right].level + _BORDER))
    points.append((last.x, items[chain[-1]].level + _BORDER))
    return tuple(reversed(points)) if is_turned else tuple(points)


def _group(title: str, group: Group, sides: list[tuple[int, int]]) -> PlacedGroup:
    left, right = sides[group.first][0] - _GROUP_SIDE, sides[group.last][1] + _GROUP_SIDE
    return PlacedGroup(title, left, group.y + _BORDER, right - left, group.height)


# The column of each node of a graph: every edge leads to the right, but for those that close a cycle.

Pair = tuple[int, int]


def columns_of(count: int, pairs: Sequence[Pair]) -> tuple[list[int], list[Pair]]:
    """Return a column per node, from 0, and the pairs turned so that each leads to a higher column.

    `pairs` are nodes by index, none with itself. Nodes are as far left as what leads to them allows; those
    that feed at least as many as they are fed by are then moved to the right, beside what they feed.
    """
    forward = _without_cycles(count, pairs)
    following: list[list[int]] = [[] for _ in range(count)]
    leading = [0] * count
    for start, end in forward:
        following[start].append(end)
        leading[end] += 1
    order = _upstream_first(following, leading)
    columns = [0] * count
    for node in order:
        for after in following[node]:
            columns[after] = max(columns[after], columns[node] + 1)
    for node in reversed(order):
        if following[node] and len(following[node]) >= leading[node]:
            columns[node] = min(columns[after] for after in following[node]) - 1
    return columns, forward


def _without_cycles(count: int, pairs: Sequence[Pair]) -> list[Pair]:
    """Turn the pairs that lead back to a node on the way from which they are found, depth first."""
    following: list[list[int]] = [[] for _ in range(count)]
    for at, (start, _) in enumerate(pairs):
        following[start].append(at)
    turned = list(pairs)
    is_seen, is_on_way = [False] * count, [False] * count
    for root in range(count):
        if is_seen[root]:
            continue
        is_seen[root] = is_on_way[root] = True
        way = [(root, iter(following[root]))]
        while way:
            node, edges = way[-1]
            at = next(edges, -1)
            if at < 0:
                is_on_way[node] = False
                way.pop()
                continue
            end = pairs[at][1]
            if is_on_way[end]:
                turned[at] = (end, node)
            elif not is_seen[end]:
                is_seen[end] = is_on_way[end] = True
                way.append((end, iter(following[end])))
    return turned


def _upstream_first(following: list[list[int]], leading: list[int]) -> list[int]:
    waiting = list(leading)
    order = [node for node, count in enumerate(waiting) if not count]
    for node in order:
        for after in following[node]:
            waiting[after] -= 1
            if not waiting[after]:
                order.append(after)
    return order


# Names as the lines of a box: broken where a name has a seam, and shortened in their middle.

LONGEST_LINE = 18
_SEAMS = frozenset("-._/: ")
_CUT = "\N{HORIZONTAL ELLIPSIS}"
# Kafka Streams numbers the nodes that it names: KSTREAM-SINK-0000000013.
_NUMBER_DIGITS = 10
_MOST_NOTES = 6
# Pixels of a letter at the size of the drawing's text, seen in several fonts; the last is for other scripts.
_WIDE, _NARROW, _OTHER = 8.1, 6.5, 11.5


def label_lines(name: str) -> tuple[str, ...]:
    """Return a name in one line or two; zeros before a generated number are left out."""
    start, dash, number = name.rpartition("-")
    if dash and len(number) == _NUMBER_DIGITS and number.isascii() and number.isdigit():
        name = f"{start}-{int(number)}"
    if len(name) <= LONGEST_LINE:
        return (name,)
    seams = [at for at, letter in enumerate(name[:-1], start=1) if letter in _SEAMS]
    seam = min(seams, key=lambda at: (abs(2 * at - len(name)), -at), default=len(name) // 2)
    return _shortened(name[:seam], LONGEST_LINE - 1), _shortened(name[seam:], 1)


def note_lines(note: str) -> tuple[str, ...]:
    """Return the lines of a note, each shortened; after some, how many more there are."""
    lines = [_shortened(line, LONGEST_LINE // 2) for line in note.split("\n")] if note else []
    more = len(lines) - _MOST_NOTES
    return tuple(lines) if more <= 1 else (*lines[:_MOST_NOTES], f"and {more} more")


def text_width(line: str) -> int:
    """Return how many pixels a line needs, rather too many than too few."""
    return round(sum(_letter_width(letter) for letter in line))


def _shortened(line: str, head: int) -> str:
    """Return a line that fits, with its first `head` letters and its last ones."""
    tail = LONGEST_LINE - 1 - head
    return line if len(line) <= LONGEST_LINE else line[:head] + _CUT + line[len(line) - tail :]


def _letter_width(letter: str) -> float:
    if not letter.isascii():
        return _OTHER
    return _WIDE if letter.isupper() or letter in "mw@%" else _NARROW
