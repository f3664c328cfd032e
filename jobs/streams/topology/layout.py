"""Where each node and each line of a topology's picture is: from left to right, the same for the same graph.

Boxes are in columns, one above the other, and lines pass between them; a line changes its height only in the
gap between two columns, where no box is. A subtopology takes a range of columns and in them a height of its
own, so that no other box is inside its rectangle.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise

from jobs.streams.topology.graph import Edge, GraphNode, TopologyGraph
from jobs.streams.topology.labels import label_lines, note_lines, text_width
from jobs.streams.topology.layering import columns_of
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
