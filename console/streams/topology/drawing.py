"""A topology's layout as what the template of its picture draws."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

from jobs.streams.topology.graph import GraphNode, TopologyGraph
from jobs.streams.topology.layout import (
    LINE_HEIGHT,
    Layout,
    PlacedEdge,
    PlacedNode,
    lay_out,
)

# How far letters stand above the bottom of their line, and how deep the lid of a store is.
_DESCENT, _LID = 4, 5


@dataclass(frozen=True, slots=True)
class Box:
    """A node with its whole name, its shown lines (text, height, whether a note), and the lid of a store."""

    place: PlacedNode
    title: str
    middle: int
    lines: tuple[tuple[str, int, bool], ...]
    lid: str


@dataclass(frozen=True, slots=True)
class Line:
    """An edge: the path of its line, and its ends as text; a line to a store has no arrow."""

    path: str
    start: str
    end: str
    is_state: bool


@dataclass(frozen=True, slots=True)
class TopologyDrawing:
    """What `streams/topology/graph.html` needs; `kinds` are the kinds of nodes that there are."""

    layout: Layout
    boxes: tuple[Box, ...]
    lines: tuple[Line, ...]
    kinds: tuple[str, ...]


def draw(graph: TopologyGraph) -> TopologyDrawing:
    """Draw a graph; raises TooLargeToDraw."""
    layout = lay_out(graph)
    nodes = {node.key: node for node in graph.nodes}
    lines = []
    for line in layout.lines:
        start, end = nodes[line.edge.start], nodes[line.edge.end]
        is_state = end.kind == "store"
        lines.append(Line(_path(line), _whole_name(start), _whole_name(end), is_state))
    kinds = tuple(dict.fromkeys(node.kind for node in graph.nodes))
    return TopologyDrawing(layout, tuple(_box(box) for box in layout.boxes), tuple(lines), kinds)


def _whole_name(node: GraphNode) -> str:
    return f"{node.label} ({node.kind}{f', {node.subtopology}' if node.subtopology else ''})"


def _box(place: PlacedNode) -> Box:
    node = place.node
    texts = [*((text, False) for text in place.lines), *((text, True) for text in place.notes)]
    bottom = place.y + (place.height - LINE_HEIGHT * len(texts)) // 2 - _DESCENT
    lid = ""
    if node.kind == "store":
        lid = f"M{place.x} {place.y + _LID}c0 {_LID} {place.width} {_LID} {place.width} 0"
        bottom += _LID // 2
    lines = tuple(
        (text, bottom + LINE_HEIGHT * count, is_note)
        for count, (text, is_note) in enumerate(texts, start=1)
    )
    notes = ", ".join(node.note.split("\n"))
    title = f"{_whole_name(node)}: {notes}" if notes else _whole_name(node)
    return Box(place, title, place.x + place.width // 2, lines, lid)


def _path(line: PlacedEdge) -> str:
    """Return an SVG path: level in columns, curves in the gaps between them."""
    (x, y), *_ = line.points
    parts = [f"M{x} {y}"]
    for at, ((start_x, start_y), (x, y)) in enumerate(pairwise(line.points)):
        middle = (start_x + x) // 2
        is_level = at % 2 == 0 or start_y == y
        parts.append(f"H{x}" if is_level else f"C{middle} {start_y} {middle} {y} {x} {y}")
    return "".join(parts)
