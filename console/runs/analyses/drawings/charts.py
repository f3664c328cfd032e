"""Drawings of tables, made on the server: bars, heat maps, lanes, lines. Pure geometry.

Places are percentages of the width, so that one picture fits every screen; heights are pixels.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from console.frame.pages.state_timeline import (
    StateInterval,
    Tick,
    TimelineRow,
    draw_timeline,
)
from console.frame.pages.states import severity_of
from console.frame.pages.timerange import TimeRange
from console.runs.analyses.drawings.lines import draw_lines
from console.runs.analyses.drawings.shapes import (
    LEVELS,
    Drawing,
    Head,
    Label,
    Mark,
    Rows,
    TimeAxis,
    cut_note,
    percent,
    short,
    sums_by,
)
from console.runs.analyses.values import read_moment
from jobs.severity import Severity
from jobs.spark.analyses.analysis import Chart, ChartType, ColumnType, Table

# A drawing of more rows is not readable: it is cut, with a note.
MOST_ROWS = 5000
MOST_BARS = 40
MOST_LANES = 40
MOST_LABELS = 6
BAR_ROW_PX = 24
COLUMNS_PX = 150
HEAT_ROW_PX = 24


def draw(
    chart: Chart,
    number: int,
    table: Table,
    rows: Rows,
    time_range: TimeRange | None = None,
    *,
    of: int = 0,
) -> Drawing:
    """Return the drawing of the first rows `of` so many; lanes are cut to a time range where one is given."""
    columns = {one.name: one for one in table.columns}
    part = f"first {len(rows):,} of {of:,} rows" if len(rows) < of else ""
    head = Head(f"chart-{number}", chart, columns, part)
    known = [row for row in rows if row[chart.x] is not None and row[chart.value] is not None]
    is_timed = columns[chart.x].type is ColumnType.MOMENT
    if chart.type is ChartType.LANES:
        return _lanes(head, known, time_range)
    if chart.type is ChartType.HEAT_MAP:
        return _heat_map(head, known)
    if chart.type is ChartType.LINES:
        return draw_lines(head, known)
    return _columns(head, known) if is_timed else _bars(head, known)


def _bars(head: Head, rows: Rows) -> Drawing:
    sums = sums_by(rows, lambda row: row[head.chart.x], head.chart.value)
    shown = list(sums.items())[:MOST_BARS]
    most = max([value for _, value in shown], default=0)
    marks = [
        Mark(
            "0%",
            percent(100 * max(value, 0) / most if most > 0 else 0),
            place * BAR_ROW_PX + 5,
            BAR_ROW_PX - 10,
            f"{head.text(head.chart.x, key)}: {head.text(head.chart.value, value)}",
        )
        for place, (key, value) in enumerate(shown)
    ]
    return head.drawing(
        "bars",
        blank=head.blank(sums),
        note=cut_note(len(shown), len(sums)),
        height=len(shown) * BAR_ROW_PX,
        marks=marks,
        labels=[short(head.text(head.chart.x, key)) for key, _ in shown],
        values=[head.text(head.chart.value, value) for _, value in shown],
    )


def _columns(head: Head, rows: Rows) -> Drawing:
    """Draw bars that stand on an axis of time."""
    sums = sums_by(rows, lambda row: row[head.chart.x], head.chart.value)
    axis = TimeAxis.of(sums)
    most = max(sums.values(), default=0)
    marks = []
    for key, value in sums.items():
        height = round(COLUMNS_PX * max(value, 0) / most) if most > 0 else 0
        text = f"{head.text(head.chart.x, key)}: {head.text(head.chart.value, value)}"
        if height:
            marks.append(Mark(axis.left(key), axis.width, COLUMNS_PX - height, height, text))
    told = head.text(head.chart.value, most)
    return head.drawing(
        "columns",
        blank=head.blank(sums),
        height=COLUMNS_PX,
        marks=marks,
        ticks=axis.ticks,
        most=told,
    )


def _heat_map(head: Head, rows: Rows) -> Drawing:
    chart = head.chart
    totals = sums_by(rows, lambda row: row[chart.y], chart.value)
    lanes = sorted(totals, key=lambda one: -totals[one])[:MOST_LANES]
    sums = sums_by(rows, lambda row: (row[chart.x], row[chart.y]), chart.value)
    across = list(dict.fromkeys(x for x, _ in sums))
    is_timed = head.columns[chart.x].type is ColumnType.MOMENT
    axis: TimeAxis | _WordAxis = TimeAxis.of(across) if is_timed else _WordAxis.of(across)
    most = max(sums.values(), default=0)
    marks = [
        Mark(
            axis.left(x),
            axis.width,
            lanes.index(y) * HEAT_ROW_PX + 1,
            HEAT_ROW_PX - 2,
            f"{head.text(chart.y, y)}, {head.text(chart.x, x)}: {head.text(chart.value, value)}",
            -int(-LEVELS * value // most),
        )
        for (x, y), value in sums.items()
        if value > 0 and y in lanes
    ]
    return head.drawing(
        "heat_map",
        blank=head.blank(sums),
        note=cut_note(len(lanes), len(totals)),
        height=len(lanes) * HEAT_ROW_PX,
        marks=marks,
        labels=[short(head.text(chart.y, one)) for one in lanes],
        ticks=axis.ticks,
        words=axis.words,
        most=head.text(chart.value, most),
    )


def _lanes(head: Head, rows: Rows, time_range: TimeRange | None) -> Drawing:
    chart = head.chart
    by_lane: dict[Any, list[StateInterval]] = {}
    ends = [at for row in rows for at in (_at(row, chart.x), _at(row, chart.x_end)) if at]
    for row in rows:
        start = _at(row, chart.x)
        if start is not None:
            end = _at(row, chart.x_end) or max(ends)
            word = head.text(chart.value, row[chart.value])
            severity = severity_of(word)
            shown = Severity.INFO if severity is Severity.UNKNOWN else severity
            interval = StateInterval(short(word), shown, start, max(start, end))
            by_lane.setdefault(row[chart.y], []).append(interval)
    lanes = [
        TimelineRow(short(f"{head.columns[chart.y].title} {head.text(chart.y, key)}", 24), found)
        for key, found in sorted(by_lane.items(), key=_by_size)[:MOST_LANES]
    ]
    shown_range = time_range or _extent(ends)
    drawn = draw_timeline(lanes, shown_range, shown_range.end)
    return head.drawing("lanes", note=cut_note(len(lanes), len(by_lane)), lanes=drawn)


@dataclass(frozen=True, slots=True)
class _WordAxis:
    """Places of words, in their order."""

    places: Mapping[Any, int]
    width: str
    words: list[Label]
    ticks: Sequence[Tick] = field(default_factory=tuple)

    @classmethod
    def of(cls, values: Sequence[Any]) -> _WordAxis:
        width = 100 / max(len(values), 1)
        step = -(-len(values) // MOST_LABELS) or 1
        words = [
            Label(percent((place + 0.5) * width), short(str(values[place])))
            for place in range(0, len(values), step)
        ]
        return cls({one: place for place, one in enumerate(values)}, percent(width), words)

    def left(self, value: Any) -> str:
        return percent(100 * self.places[value] / len(self.places))


def _by_size(lane: tuple[Any, Any]) -> tuple[bool, float, str]:
    """Sort numbers as numbers, before texts."""
    key = lane[0]
    is_number = isinstance(key, int | float)
    return not is_number, key if is_number else 0, str(key)


def _at(row: Mapping[str, Any], name: str) -> datetime | None:
    return read_moment(row.get(name))


def _extent(moments: Sequence[datetime]) -> TimeRange:
    if not moments:
        now = datetime.fromtimestamp(0, UTC)
        return TimeRange(now, now + timedelta(hours=1))
    start, end = min(moments), max(moments)
    around = max((end - start) * 0.01, timedelta(seconds=1))
    return TimeRange(start - around, end + around)
