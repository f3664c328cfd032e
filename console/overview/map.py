"""Where boxes of clusters and labels of flows are drawn: layers from left to right. Pure.

Boxes of clusters with flows are in columns by the direction of the flows; the label of an edge is in the
gap beside the column of its source. Clusters without flows are in a grid below.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

BOX_W, LABEL_W, LABEL_H = 192, 184, 50
GAP = LABEL_W + 36
SPACE, MARGIN = 16, 8
MOST_COLUMNS = 3
GRID_W = 5 * (BOX_W + SPACE)
Edge = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle; `x`, `y` are its upper left corner."""

    x: float
    y: float
    width: float
    height: float

    @property
    def middle(self) -> float:
        return self.y + self.height / 2


@dataclass(frozen=True, slots=True)
class Link:
    """The label of an edge, and its line from the source through the label to the target."""

    label: Box
    to_label: str
    to_target: str


@dataclass(frozen=True, slots=True)
class Layout:
    """The whole picture."""

    width: float
    height: float
    boxes: Mapping[int, Box]
    links: Mapping[Edge, Link]


def lay_out(heights: Mapping[int, int], edges: Iterable[Edge]) -> Layout:
    """Return the picture of boxes, by key in the order in which they are wanted, and of distinct edges."""
    drawn = sorted({(s, t) for s, t in edges if s in heights and t in heights})
    linked = [key for key in heights if any(key in edge for edge in drawn)]
    columns = columns_of(linked, drawn)
    boxes = _stacked(columns, heights)
    labels = _labels(columns, boxes, drawn)
    links = {edge: _link(edge, boxes, labels[edge]) for edge in drawn}
    placed = [*boxes.values(), *labels.values()]
    right = max((one.x + one.width for one in placed), default=0.0)
    bottom = max((one.y + one.height for one in placed), default=0.0)
    top = bottom + 2 * SPACE if placed else float(MARGIN)
    boxes |= _grid([key for key in heights if key not in boxes], heights, top, max(right, GRID_W))
    width = max([right, *(box.x + box.width for box in boxes.values())])
    height = max([bottom, *(box.y + box.height for box in boxes.values())])
    return Layout(width + MARGIN, height + MARGIN, boxes, links)


def columns_of(keys: Sequence[int], edges: Sequence[Edge]) -> list[list[int]]:
    """Return the columns from left to right: a target is right of its source, but where they form a cycle."""
    before: dict[int, set[int]] = {key: set() for key in keys}
    after: dict[int, set[int]] = {key: set() for key in keys}
    for source, target in edges:
        if source != target:
            before[target].add(source)
            after[source].add(target)
    place = {key: number for number, key in enumerate(keys)}
    column: dict[int, int] = {}
    while len(column) < len(keys):
        left = [key for key in keys if key not in column]
        free = [key for key in left if before[key] <= column.keys()]
        # In a cycle, the one with the most outgoing edges comes first.
        chosen = free or [max(left, key=lambda key: (len(after[key]), -place[key]))]
        for key in chosen:
            known = [column[one] for one in before[key] if one in column and one not in chosen]
            column[key] = min(max(known, default=-1) + 1, MOST_COLUMNS - 1)
    found: list[list[int]] = [[] for _ in range(max(column.values(), default=-1) + 1)]
    for key in keys:
        found[column[key]].append(key)
    row: dict[int, float] = {}
    for members in found:
        members.sort(key=lambda key: (_mean([row[one] for one in before[key] if one in row]), key))
        row |= {key: number for number, key in enumerate(members)}
    return found


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0


def _stacked(columns: Sequence[Sequence[int]], heights: Mapping[int, int]) -> dict[int, Box]:
    """Return the boxes of columns, each column in the middle of the tallest one."""
    tall = [sum(heights[key] + SPACE for key in members) - SPACE for members in columns]
    boxes = {}
    for number, members in enumerate(columns):
        y = MARGIN + (max(tall) - tall[number]) / 2
        for key in members:
            boxes[key] = Box(MARGIN + number * (BOX_W + GAP), y, BOX_W, heights[key])
            y += heights[key] + SPACE
    return boxes


def _labels(
    columns: Sequence[Sequence[int]], boxes: Mapping[int, Box], edges: Sequence[Edge]
) -> dict[Edge, Box]:
    """Return the labels: each in the gap beside its source, as near as possible to the middle of its line."""
    column = {key: number for number, members in enumerate(columns) for key in members}
    gaps: dict[int, list[tuple[float, Edge]]] = {}
    for source, target in edges:
        gap = column[source] - (column[source] > column[target])
        wanted = (boxes[source].middle + boxes[target].middle - LABEL_H) / 2
        gaps.setdefault(gap, []).append((wanted, (source, target)))
    found = {}
    for gap, members in gaps.items():
        x = MARGIN + gap * (BOX_W + GAP) + BOX_W + (GAP - LABEL_W) / 2
        members.sort()
        tops = _apart([wanted for wanted, _ in members], LABEL_H + SPACE / 2)
        for top, (_, edge) in zip(tops, members, strict=True):
            found[edge] = Box(x, top, LABEL_W, LABEL_H)
    return found


def _apart(wanted: Sequence[float], step: float) -> list[float]:
    """Return places at least `step` apart, at the wanted ones, which are sorted, or below."""
    tops: list[float] = []
    for one in wanted:
        tops.append(max(one, tops[-1] + step if tops else MARGIN))
    return tops


def _link(edge: Edge, boxes: Mapping[int, Box], label: Box) -> Link:
    """Return the lines of an edge: from the sides of its boxes that face its label."""
    source, target = boxes[edge[0]], boxes[edge[1]]
    leaves_right, arrives_left = label.x > source.x, label.x < target.x
    sides = (label.x, label.x + LABEL_W)
    first, last = sides[not leaves_right], sides[arrives_left]
    return Link(
        label,
        _curve(source.x + BOX_W * leaves_right, source.middle, first, label.middle),
        _curve(last, label.middle, target.x + BOX_W * (not arrives_left), target.middle),
    )


def _curve(x: float, y: float, to_x: float, to_y: float) -> str:
    bend = (to_x - x) / 2
    points = [x, y, x + bend, y, to_x - bend, to_y, to_x, to_y]
    return "M{:.1f} {:.1f}C{:.1f} {:.1f} {:.1f} {:.1f} {:.1f} {:.1f}".format(*points)


def _grid(
    keys: Sequence[int], heights: Mapping[int, int], top: float, width: float
) -> dict[int, Box]:
    in_row = max(int((width - MARGIN + SPACE) // (BOX_W + SPACE)), 1)
    boxes, y = {}, top
    for start in range(0, len(keys), in_row):
        row = keys[start : start + in_row]
        for number, key in enumerate(row):
            boxes[key] = Box(MARGIN + number * (BOX_W + SPACE), y, BOX_W, heights[key])
        y += max(heights[key] for key in row) + SPACE
    return boxes
