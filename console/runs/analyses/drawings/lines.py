"""Drawing of values over time, a line for each name. Pure geometry."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from statistics import median
from typing import Any

from console.runs.analyses.drawings.shapes import (
    Drawing,
    Head,
    Line,
    Rows,
    TimeAxis,
    cut_note,
    short,
    sums_by,
)

MOST_LINES = 8
LINES_PX = 180
# Coordinates of the width; the page stretches it.
WIDE = 1000
# A line is broken where its next value is further away than so many of its usual steps.
BROKEN_AFTER_STEPS = 1.5


def draw_lines(head: Head, rows: Rows) -> Drawing:
    """Return the lines of the largest totals, on one scale from 0; a gap of values breaks a line."""
    chart = head.chart
    sums = sums_by(rows, lambda row: (row[chart.y] if chart.y else "", row[chart.x]), chart.value)
    by_line: dict[Any, dict[Any, float]] = {}
    for (name, at), value in sums.items():
        by_line.setdefault(name, {})[at] = value
    shown = sorted(by_line, key=lambda name: -sum(by_line[name].values()))[:MOST_LINES]
    axis = TimeAxis.of([at for name in shown for at in by_line[name]])
    most = max((value for name in shown for value in by_line[name].values()), default=0)
    lines = []
    for place, name in enumerate(shown, start=1):
        label = head.text(chart.y, name) if chart.y else head.columns[chart.value].title
        top = head.text(chart.value, max(by_line[name].values()))
        path = _path(axis, by_line[name], most)
        lines.append(Line(path, short(label), f"{label}: at most {top}", place))
    return head.drawing(
        "lines",
        note=cut_note(len(shown), len(by_line)),
        blank=head.blank(sums),
        height=LINES_PX,
        lines=lines,
        ticks=axis.ticks,
        most=head.text(chart.value, most),
    )


def _path(axis: TimeAxis, values: Mapping[Any, float], most: float) -> str:
    """Return the path of an SVG; a value without neighbours is a dot."""
    points = sorted((WIDE * axis.share(at), value) for at, value in values.items())
    gaps = [later - earlier for (earlier, _), (later, _) in itertools.pairwise(points)]
    longest = BROKEN_AFTER_STEPS * median(gaps) if gaps else 0
    steps: list[str] = []
    for (x, value), gap in zip(points, [WIDE, *gaps], strict=True):
        y = LINES_PX * (1 - max(value, 0) / most) if most > 0 else LINES_PX
        is_first = not steps or gap > longest
        steps.append(f"M{x:.1f} {y:.1f}h0" if is_first else f"L{x:.1f} {y:.1f}")
    return "".join(steps)
