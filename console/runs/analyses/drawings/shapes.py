"""What drawings of tables share: their shapes, the axis of time, sums by a key, texts."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from typing import Any

from console.frame.pages.state_timeline import StateTimeline, Tick, draw_timeline
from console.frame.pages.timerange import TimeRange
from console.runs.analyses.values import read_moment, text_of, type_of
from jobs.spark.analyses.analysis import Chart, Column, ColumnType

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
class Line:
    """A line over time: `path` is that of an SVG, `key` (1 to 8) its colour, `text` what it says."""

    path: str
    label: str
    text: str
    key: int


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
    lines: Sequence[Line] = ()
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


@dataclass(frozen=True, slots=True)
class Head:
    """What is drawn: the chart, the columns of its table, and which `part` of the rows."""

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
        """Return the drawing; its note also says of how many rows it is."""
        told = ", ".join(filter(None, [note, self.part]))
        return Drawing(kind, self.id, self.chart.title, self.chart.table, told, **more)


@dataclass(frozen=True, slots=True)
class TimeAxis:
    """Places of moments that are a step apart, the first at the left edge."""

    start: datetime
    span: timedelta
    width: str
    ticks: list[Tick]
    words: Sequence[Label] = ()

    @classmethod
    def of(cls, moments: Sequence[Any] | Mapping[Any, Any]) -> TimeAxis:
        """Return the axis of some moments (ISO 8601); its ticks are those of a state timeline."""
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
        return cls(found[0], span, percent(max(100 * (step / span), 0.15)), ticks)

    def share(self, value: Any) -> float:
        """Return the place of a moment, 0 to 1."""
        at = read_moment(value) or self.start
        return (at - self.start) / self.span

    def left(self, value: Any) -> str:
        """Return the place of a moment in percent of the width."""
        return percent(100 * self.share(value))


def sums_by(rows: Rows, key: Callable[[Mapping[str, Any]], Any], value: str) -> dict[Any, float]:
    """Add up values by a key, in the order in which the keys come."""
    found: dict[Any, float] = {}
    for row in rows:
        name = key(row)
        found[name] = found.get(name, 0) + row[value]
    return found


def cut_note(shown: int, there: int) -> str:
    """Return that some are not shown; empty where all are."""
    return f"{shown} of {there} shown" if shown < there else ""


def short(text: str, most: int = _LONGEST_LABEL) -> str:
    """Return a text of a bounded length."""
    return text if len(text) <= most else f"{text[: most - 1]}\N{HORIZONTAL ELLIPSIS}"


def percent(value: float) -> str:
    """Return a place or a width of an SVG."""
    return f"{value:.3f}%"
