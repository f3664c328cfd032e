"""Lanes: who was in which state when, as bars over the time range of the page. Pure geometry.

Places are percentages of the width, so that one picture fits every screen; heights are pixels.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from console.frame.pages.timerange import TimeRange, stamp
from jobs.numbers import format_span_s
from jobs.severity import Severity


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened at `at`.

    `kind` is what its mark in the legend says ("Run started", later "Election"), `label` what
    happened this time; `url` leads to more, empty when there is no more.
    """

    at: datetime
    kind: str
    label: str
    severity: Severity = Severity.INFO
    url: str = ""

    def to_mapping(self) -> dict[str, Any]:
        """Return the event as a series address answers it; `at` in Unix seconds."""
        return {
            "at": int(self.at.timestamp()),
            "kind": self.kind,
            "label": self.label,
            "severity": self.severity.value,
            "url": self.url,
        }


def in_order(events: Iterable[Event], most: int) -> list[Event]:
    """Return the newest `most` events, oldest first."""
    ordered = sorted(events, key=lambda event: (event.at, event.kind))
    return ordered[-most:]


ROW_PX = 30
BAR_PX = 20
THIN_PX = 4
# Room for the marks above the lanes and for the times below them.
HEAD_PX = 8
FOOT_PX = 24
# A state that lasted a moment is still seen, and can still be pointed at.
LEAST_PERCENT = 0.35
# Below this width a word in the bar would be cut.
WORD_PERCENT = 7.0
MOST_TICKS = 7
_DAY_S = 86_400


@dataclass(frozen=True, slots=True)
class StateInterval:
    """A state from `start` to `end` (None: ongoing); `href` leads to its source, such as a run.

    `is_unknown`: no data for this interval; it is drawn hatched. `is_thin`: it holds besides the state
    below it in the same lane.
    """

    word: str
    severity: Severity
    start: datetime
    end: datetime | None = None
    href: str = ""
    detail: str = ""
    is_unknown: bool = False
    is_thin: bool = False

    @property
    def look(self) -> str:
        """How it is drawn: its severity, or hatched."""
        return "unknown" if self.is_unknown else str(self.severity)


@dataclass(frozen=True, slots=True)
class TimelineRow:
    """One row: what it is about, and its states in the order of time."""

    label: str
    segments: Sequence[StateInterval]


@dataclass(frozen=True, slots=True)
class Bar:
    """A segment as it is drawn; `start` and `end` are cut to the time range."""

    segment: StateInterval
    start: datetime
    end: datetime
    left: str
    width: str
    has_word: bool

    @property
    def lasted(self) -> str:
        """How long the state is seen in the time range."""
        return format_span_s((self.end - self.start).total_seconds())

    @property
    def zoom(self) -> dict[str, str]:
        """`from` and `to` of a time range that shows this bar with a little around it."""
        around = max((self.end - self.start) * 0.05, timedelta(seconds=5))
        return {"from": stamp(self.start - around), "to": stamp(self.end + around)}


@dataclass(frozen=True, slots=True)
class DrawnRow:
    """A lane as it is drawn: where its row begins, where its bars do, and the bars."""

    label: str
    top: int
    bar_top: int
    bars: list[Bar]

    @property
    def thin_top(self) -> int:
        """Where a thin bar begins: it lies along the lower edge of the others, below their words."""
        return self.bar_top + BAR_PX - THIN_PX


@dataclass(frozen=True, slots=True)
class Tick:
    """A time on the axis; `kind` says how a browser in another time zone writes it."""

    at: datetime
    left: str
    text: str
    kind: str


@dataclass(frozen=True, slots=True)
class Mark:
    """An event as a line through all lanes."""

    event: Event
    left: str


@dataclass(frozen=True, slots=True)
class StateTimeline:
    """A picture of lanes, ready for `components/_lanes.html`."""

    rows: list[DrawnRow]
    ticks: list[Tick]
    marks: list[Mark] = field(default_factory=list)

    @property
    def height(self) -> int:
        """The height in pixels."""
        return HEAD_PX + ROW_PX * len(self.rows) + FOOT_PX

    @property
    def floor(self) -> int:
        """Where the lanes end and the axis begins, in pixels from the top."""
        return self.height - FOOT_PX

    @property
    def axis_at(self) -> int:
        """The base line of the times below the lanes."""
        return self.height - 6

    @property
    def words(self) -> list[tuple[str, Severity]]:
        """Return each word that the lanes use, once, for the legend."""
        used = {
            (bar.segment.word, bar.segment.severity): None for row in self.rows for bar in row.bars
        }
        return list(used)

    @property
    def is_empty(self) -> bool:
        """Whether nothing is known of the whole time range."""
        return not any(row.bars for row in self.rows)


def draw_timeline(
    lanes: Sequence[TimelineRow], time_range: TimeRange, now: datetime, events: Sequence[Event] = ()
) -> StateTimeline:
    """Return the drawing of these lanes; an ongoing state reaches to `now`, never into the future."""
    return StateTimeline(
        rows=[
            DrawnRow(
                lane.label,
                HEAD_PX + number * ROW_PX,
                HEAD_PX + number * ROW_PX + (ROW_PX - BAR_PX) // 2,
                list(_bars(lane, time_range, now)),
            )
            for number, lane in enumerate(lanes)
        ],
        ticks=_ticks(time_range),
        marks=[
            Mark(event, _percent(_place(event.at, time_range)))
            for event in events
            if time_range.start <= event.at <= time_range.end
        ],
    )


def with_gaps(
    segments: Sequence[StateInterval], gaps: Sequence[tuple[datetime, ...]]
) -> list[StateInterval]:
    """Return segments with what is unknown cut out of them and hatched; never bridged.

    A gap is its start, its end, and perhaps a time up to which what held before it is not certain.
    """
    found = list(segments)
    for start, missing_to, *again in gaps:
        sure = again[0] if again else missing_to
        end = min((one.start for one in found if missing_to <= one.start < sure), default=sure)
        found = [part for segment in found for part in _cut(segment, start, end)]
        found.append(
            StateInterval(
                "Unknown", Severity.UNKNOWN, start, end, "", "records missing", is_unknown=True
            )
        )
    return found


def _cut(segment: StateInterval, start: datetime, end: datetime) -> Iterator[StateInterval]:
    if segment.start < start:
        yield replace(segment, end=min(segment.end or start, start))
    if segment.end is None or segment.end > end:
        yield replace(segment, start=max(segment.start, end))


def _bars(lane: TimelineRow, time_range: TimeRange, now: datetime) -> Iterator[Bar]:
    for segment in lane.segments:
        start = max(segment.start, time_range.start)
        end = min(segment.end or now, time_range.end)
        if start >= end:
            continue
        left, right = _place(start, time_range), _place(end, time_range)
        width = max(right - left, LEAST_PERCENT)
        left = min(left, 100 - width)
        yield Bar(segment, start, end, _percent(left), _percent(width), width >= WORD_PERCENT)


def _ticks(time_range: TimeRange) -> list[Tick]:
    step_s = time_range.step_s(MOST_TICKS)
    first = -(-time_range.start.timestamp() // step_s) * step_s
    count = int((time_range.end.timestamp() - first) // step_s) + 1
    ticks = (_tick(first + number * step_s, step_s, time_range) for number in range(count))
    # A time at the very edge would be cut.
    return [tick for tick in ticks if 3 < float(tick.left.rstrip("%")) < 97]  # noqa: PLR2004


def _tick(at_s: float, step_s: int, time_range: TimeRange) -> Tick:
    at = datetime.fromtimestamp(at_s, UTC)
    is_day = step_s >= _DAY_S
    kind = "day" if is_day else "minute" if step_s >= 60 else "second"  # noqa: PLR2004
    shape = {"day": "%d %b", "minute": "%H:%M", "second": "%H:%M:%S"}[kind]
    return Tick(at, _percent(_place(at, time_range)), f"{at:{shape}}", kind)


def _place(at: datetime, time_range: TimeRange) -> float:
    return (at - time_range.start).total_seconds() / time_range.span_s * 100


def _percent(value: float) -> str:
    return f"{value:.3f}%"
