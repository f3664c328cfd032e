"""Drawings of tables, made on the server: bars, heat maps, lanes. Pure geometry.

Places are percentages of the width, so that one picture fits every screen; heights are pixels.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, time, timedelta
from typing import Any

from console.frame.pages.state_timeline import (
    StateInterval,
    StateTimeline,
    Tick,
    TimelineRow,
    draw_timeline,
)
from console.frame.pages.states import severity_of
from console.frame.pages.timerange import TimeRange
from console.runs.analyses.values import read_moment, text_of, type_of
from jobs.severity import Severity
from jobs.spark.analyses.analysis import Chart, ChartType, Column, ColumnType, Table

# A drawing of more rows is not readable: it is cut, with a note.
MOST_ROWS = 5000
MOST_BARS = 40
MOST_LANES = 40
MOST_LABELS = 6
BAR_ROW_PX = 24
COLUMNS_PX = 150
HEAT_ROW_PX = 24
LEVELS = 5
_LONGEST_LABEL = 60

Rows = Sequence[Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Mark:
    """A bar or a field; `level` (1 to 5) is how dark it is, `text` what it says."""

    left: str
    width: str
    top: int
    height: int
    text: str
    level: int = LEVELS


@dataclass(frozen=True, slots=True)
class Label:
    """A word below the drawing, at its place."""

    left: str
    text: str


@dataclass(frozen=True, slots=True)
class Drawing:
    """A drawing of a table: `kind` names its template, `labels` are those of its rows.

    `values` are the texts behind the bars; `most` is the largest value. Times are `ticks`, other words
    below are `words`. `blank` is the sentence shown where there is nothing to draw.
    """

    kind: str
    id: str
    title: str
    table: str
    note: str = ""
    height: int = 0
    marks: Sequence[Mark] = ()
    labels: Sequence[str] = ()
    values: Sequence[str] = ()
    words: Sequence[Label] = ()
    ticks: Sequence[Tick] = ()
    most: str = ""
    blank: str = ""
    lanes: StateTimeline | None = None

    @property
    def axis_at(self) -> int:
        """The base line of the labels below."""
        return self.height + 16

    @property
    def whole_height(self) -> int:
        """The height with the labels below."""
        return self.height + (22 if self.ticks or self.words else 0)


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
    head = _Head(f"chart-{number}", chart, columns, part)
    known = [row for row in rows if row[chart.x] is not None and row[chart.value] is not None]
    is_timed = columns[chart.x].type is ColumnType.MOMENT
    if chart.type is ChartType.LANES:
        return _lanes(head, known, time_range)
    if chart.type is ChartType.HEAT_MAP:
        return _heat_map(head, known)
    return _columns(head, known) if is_timed else _bars(head, known)


@dataclass(frozen=True, slots=True)
class _Head:
    id: str
    chart: Chart
    columns: Mapping[str, Column]
    part: str

    def text(self, name: str, value: Any) -> str:
        """Return a value of a column as text; a moment as an hour of a day."""
        column = self.columns[name]
        if column.type is ColumnType.MOMENT:
            at = read_moment(value)
            return f"{at:%Y-%m-%d %H:%M:%S} UTC" if at else str(value)
        return text_of(value, type_of(column))

    def blank(self, sums: Mapping[Any, float]) -> str:
        """Return the sentence in place of a drawing without a value above 0."""
        if not sums:
            return "No values."
        return "" if any(value > 0 for value in sums.values()) else self.chart.blank

    def drawing(self, kind: str, note: str = "", **more: Any) -> Drawing:
        told = ", ".join(filter(None, [note, self.part]))
        return Drawing(kind, self.id, self.chart.title, self.chart.table, told, **more)


def _bars(head: _Head, rows: Rows) -> Drawing:
    sums = _sums(rows, lambda row: row[head.chart.x], head.chart.value)
    shown = list(sums.items())[:MOST_BARS]
    most = max([value for _, value in shown], default=0)
    marks = [
        Mark(
            "0%",
            _percent(100 * max(value, 0) / most if most > 0 else 0),
            place * BAR_ROW_PX + 5,
            BAR_ROW_PX - 10,
            f"{head.text(head.chart.x, key)}: {head.text(head.chart.value, value)}",
        )
        for place, (key, value) in enumerate(shown)
    ]
    return head.drawing(
        "bars",
        blank=head.blank(sums),
        note=_cut(len(shown), len(sums)),
        height=len(shown) * BAR_ROW_PX,
        marks=marks,
        labels=[_short(head.text(head.chart.x, key)) for key, _ in shown],
        values=[head.text(head.chart.value, value) for _, value in shown],
    )


def _columns(head: _Head, rows: Rows) -> Drawing:
    """Draw bars that stand on an axis of time."""
    sums = _sums(rows, lambda row: row[head.chart.x], head.chart.value)
    axis = _TimeAxis.of(sums)
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


def _heat_map(head: _Head, rows: Rows) -> Drawing:
    chart = head.chart
    totals = _sums(rows, lambda row: row[chart.y], chart.value)
    lanes = sorted(totals, key=lambda one: -totals[one])[:MOST_LANES]
    sums = _sums(rows, lambda row: (row[chart.x], row[chart.y]), chart.value)
    across = list(dict.fromkeys(x for x, _ in sums))
    is_timed = head.columns[chart.x].type is ColumnType.MOMENT
    axis: _TimeAxis | _WordAxis = _TimeAxis.of(across) if is_timed else _WordAxis.of(across)
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
        note=_cut(len(lanes), len(totals)),
        height=len(lanes) * HEAT_ROW_PX,
        marks=marks,
        labels=[_short(head.text(chart.y, one)) for one in lanes],
        ticks=axis.ticks,
        words=axis.words,
        most=head.text(chart.value, most),
    )


def _lanes(head: _Head, rows: Rows, time_range: TimeRange | None) -> Drawing:
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
            interval = StateInterval(_short(word), shown, start, max(start, end))
            by_lane.setdefault(row[chart.y], []).append(interval)
    lanes = [
        TimelineRow(_short(f"{head.columns[chart.y].title} {head.text(chart.y, key)}", 24), found)
        for key, found in sorted(by_lane.items(), key=_by_size)[:MOST_LANES]
    ]
    shown_range = time_range or _extent(ends)
    drawn = draw_timeline(lanes, shown_range, shown_range.end)
    return head.drawing("lanes", note=_cut(len(lanes), len(by_lane)), lanes=drawn)


@dataclass(frozen=True, slots=True)
class _TimeAxis:
    """Places of moments that are a step apart, the first at the left edge."""

    start: datetime
    span: timedelta
    width: str
    ticks: list[Tick]
    words: Sequence[Label] = ()

    @classmethod
    def of(cls, moments: Sequence[Any] | Mapping[Any, Any]) -> _TimeAxis:
        found = sorted(at for one in moments if (at := read_moment(one)))
        if not found:
            found = [datetime.fromtimestamp(0, UTC)]
        gaps = [later - earlier for earlier, later in itertools.pairwise(found)]
        # One column alone: of a day where it begins with one, as sums per day do.
        alone = timedelta(days=1) if found[0].time() == time.min else timedelta(hours=1)
        step = min((gap for gap in gaps if gap), default=alone)
        span = found[-1] - found[0] + step
        time_range = TimeRange(found[0], found[-1] + step)
        ticks = draw_timeline([], time_range, time_range.end).ticks
        # A column of a long time is seen, too.
        return cls(found[0], span, _percent(max(100 * (step / span), 0.15)), ticks)

    def left(self, value: Any) -> str:
        at = read_moment(value) or self.start
        return _percent(100 * ((at - self.start) / self.span))


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
            Label(_percent((place + 0.5) * width), _short(str(values[place])))
            for place in range(0, len(values), step)
        ]
        return cls({one: place for place, one in enumerate(values)}, _percent(width), words)

    def left(self, value: Any) -> str:
        return _percent(100 * self.places[value] / len(self.places))


def _sums(rows: Rows, key: Callable[[Mapping[str, Any]], Any], value: str) -> dict[Any, float]:
    """Add up values by a key, in the order in which the keys come."""
    found: dict[Any, float] = {}
    for row in rows:
        name = key(row)
        found[name] = found.get(name, 0) + row[value]
    return found


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


def _cut(shown: int, there: int) -> str:
    return f"{shown} of {there} shown" if shown < there else ""


def _short(text: str, most: int = _LONGEST_LABEL) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}\N{HORIZONTAL ELLIPSIS}"


def _percent(value: float) -> str:
    return f"{value:.3f}%"
