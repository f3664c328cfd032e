"""Charts as SVG and PNG: the same chart gives the same bytes; colours read on white and on near-black.

matplotlib without pyplot; one drawing at a time, because its settings belong to the process.
"""

from __future__ import annotations

import io
import logging
import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from threading import Lock
from typing import Any

import matplotlib as mpl
from matplotlib import dates
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import FuncFormatter, MaxNLocator, MultipleLocator

from jobs.reports.document import Chart, ChartType, Series
from jobs.reports.periods import Period
from jobs.reports.rendering.printable import FAMILY, printable
from jobs.reports.values import ValueType, text_of
from jobs.severity import Severity

logger = logging.getLogger(__name__)

_DRAWING = Lock()
# Their types name no functions that take moments.
_dates: Any = dates
_SETTINGS: Any = {
    "font.family": FAMILY,
    "font.size": 8,
    "svg.fonttype": "path",
    "svg.hashsalt": "crosslog",
    "text.parse_math": False,
    "hatch.linewidth": 0.6,
}
_WIDTH = 7.0
_INK, _LINE = "#757b82", "#9aa0a6"
# Not by colour alone: each series has its dashes, each bad state its hatching.
_SERIES = ("#2b7fd4", "#12897d", "#9a5bd0", "#b3741c", "#c9527f", "#6d7f95")
_DASHES: tuple[Any, ...] = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (1, 3)))
_LEVELS = {
    Severity.CRITICAL: ("#d23f50", "xxxx"),
    Severity.WARNING: ("#b97a0c", "////"),
    Severity.INFO: ("#6576c9", "...."),
    Severity.HEALTHY: ("#2c9462", ""),
    Severity.UNKNOWN: ("#8d939a", "OO"),
}
_MOST_NAMES = 40
# Without data for this share at its begin, the axis begins later than the period.
_LATE = 0.1
_MOST_LABEL = 36
_TICKS = 5
_STEPS_MS = [
    *(n * 10**power for power in range(4) for n in (1, 2, 5)),
    *(n * 1000 for n in (10, 15, 30, 60, 120, 300, 600, 900, 1800)),
    *(n * 3_600_000 for n in (1, 2, 3, 6, 12, 24, 48, 120, 240, 480, 1200)),
]


def svg_of(chart: Chart, period: Period | None = None) -> bytes:
    """Return a chart as SVG: transparent, without a date, fonts as paths."""
    return _drawn(chart, period, "svg", {"Date": None, "Creator": None})


def png_of(chart: Chart, period: Period | None = None) -> bytes:
    """Return a chart as PNG at twice the size that it is shown at."""
    return _drawn(chart, period, "png", {"Software": None})


def short_name(text: str, most: int = _MOST_LABEL) -> str:
    """Return a name for a chart: what the font lacks is escaped, of a long one the begin and the end."""
    name = printable(text)
    if len(name) <= most:
        return name
    end = most // 3
    return f"{name[: most - end - 1]}\N{HORIZONTAL ELLIPSIS}{name[-end:]}"


def _drawn(
    chart: Chart, period: Period | None, format_: str, metadata: Mapping[str, str | None]
) -> bytes:
    with _settings():
        try:
            figure = _figure(chart, period)
            return _saved(figure, format_, metadata)
        except Exception:
            # Whatever its values are, the rest of the report is there.
            logger.exception("chart failed name=%s", chart.name)
            return _saved(_sentence("This chart could not be drawn."), format_, metadata)


def _figure(chart: Chart, period: Period | None) -> Figure:
    if not any(one.values for one in chart.series):
        return _sentence("No data")
    figure = Figure(figsize=(_WIDTH, _height(chart)), layout="constrained")
    axes = figure.add_subplot()
    _bare(axes)
    _DRAWERS[chart.type](axes, chart, period)
    return figure


def _sentence(text: str) -> Figure:
    figure = Figure(figsize=(_WIDTH, 0.9), layout="constrained")
    axes = figure.add_subplot()
    axes.set_axis_off()
    axes.text(0.5, 0.5, text, ha="center", va="center", color=_INK)
    return figure


def _saved(figure: Figure, format_: str, metadata: Mapping[str, str | None]) -> bytes:
    target = io.BytesIO()
    figure.savefig(target, format=format_, dpi=192, transparent=True, metadata=dict(metadata))
    return target.getvalue()


@contextmanager
def _settings() -> Iterator[None]:
    with _DRAWING, mpl.rc_context(_SETTINGS):
        yield


def _height(chart: Chart) -> float:
    if chart.type is ChartType.LINES:
        return 2.3 + 0.18 * math.ceil(len(chart.series) / 3)
    if chart.type is ChartType.LANES:
        return 0.9 + 0.24 * min(len(chart.series), _MOST_NAMES)
    bars = sum(len(one.values) for one in chart.series)
    return 0.7 + 0.24 * min(bars, _MOST_NAMES)


def _bare(axes: Axes) -> None:
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        axes.spines[side].set_color(_LINE)
    axes.tick_params(colors=_INK, labelcolor=_INK, length=3)


def _lines(axes: Axes, chart: Chart, period: Period | None) -> None:
    for at, one in enumerate(chart.series):
        values = [math.nan if value is None else float(value) for value in one.values]
        (line,) = axes.plot(
            _moments(one.x), values, linewidth=1.4, marker=_marker(values), markersize=3
        )
        line.set_color(_SERIES[at % len(_SERIES)])
        line.set_linestyle(_DASHES[at % len(_DASHES)])
    first = min((x for one in chart.series for x in _known(one)), default=None)
    _time_axis(axes, period, first)
    known = [float(v) for one in chart.series for v in one.values if v is not None]
    if chart.value_type is not ValueType.AVAILABILITY and min(known, default=0) >= 0:
        axes.set_ylim(bottom=0, top=None if any(known) else 1)
    _value_axis(axes.yaxis, chart.value_type, max(known, default=0))
    axes.grid(axis="y", color=_LINE, alpha=0.3, linewidth=0.5)
    if len(chart.series) > 1:
        handles = list(axes.get_lines())
        _legend(axes, handles, [short_name(one.label) for one in chart.series])


def _marker(values: list[float]) -> str:
    """Return the mark of points: a point between two gaps has no line."""
    gaps = [True, *map(math.isnan, values), True]
    alone = any(gaps[at] and gaps[at + 2] and not gaps[at + 1] for at in range(len(values)))
    return "o" if alone else ""


def _bars(axes: Axes, chart: Chart, period: Period | None) -> None:
    del period
    names = list(dict.fromkeys(name for one in chart.series for name in one.x))[:_MOST_NAMES]
    count = len(chart.series)
    thick = 0.7 / count
    known = [0.0]
    for at, one in enumerate(chart.series):
        told = {n: v for n, v in zip(one.x, one.values, strict=False) if v is not None}
        places = [
            names.index(name) + (at - (count - 1) / 2) * thick for name in names if name in told
        ]
        widths = [float(told[name]) for name in names if name in told]
        known += widths
        drawn = axes.barh(places, widths, height=thick * 0.9, color=_SERIES[at % len(_SERIES)])
        texts = [short_name(text_of(told[n], chart.value_type)) for n in names if n in told]
        axes.bar_label(drawn, labels=texts, padding=3, color=_INK, fontsize=7)
    axes.set_yticks(range(len(names)), labels=[short_name(name) for name in names])
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.margins(x=0.15)
    _value_axis(axes.xaxis, chart.value_type, max(known))
    if count > 1:
        handles = [Patch(color=_SERIES[at % len(_SERIES)]) for at in range(count)]
        _legend(axes, handles, [short_name(one.label) for one in chart.series])


def _lanes(axes: Axes, chart: Chart, period: Period | None) -> None:
    words: dict[tuple[str, Severity], None] = {}
    first = min((x for one in chart.series for x in _known(one)), default=None)
    for lane, one in enumerate(chart.series[:_MOST_NAMES]):
        begins, ends = _moments(one.x), _moments(one.ends)
        levels = one.levels or (Severity.UNKNOWN,) * len(one.values)
        for begin, end, value, level in zip(begins, ends, one.values, levels, strict=True):
            word = "Unknown" if value is None else short_name(str(value))
            words.setdefault((word, level))
            colour, hatch = _LEVELS[level]
            span = [(begin, end - begin)]
            axes.broken_barh(
                span,
                (lane - 0.32, 0.64),
                facecolor=colour,
                hatch=hatch,
                edgecolor="#ffffff40",
                linewidth=0,
            )
    axes.set_yticks(
        range(min(len(chart.series), _MOST_NAMES)),
        labels=[short_name(one.label) for one in chart.series[:_MOST_NAMES]],
    )
    axes.set_ylim(min(len(chart.series), _MOST_NAMES) - 0.5, -0.5)
    _time_axis(axes, period, first)
    order = list(_LEVELS)
    kept = sorted(words, key=lambda one: order.index(one[1]))
    handles = [
        Patch(
            facecolor=_LEVELS[level][0], hatch=_LEVELS[level][1], edgecolor="#ffffff40", linewidth=0
        )
        for _, level in kept
    ]
    _legend(axes, handles, [word for word, _ in kept])


_DRAWERS: Mapping[ChartType, Callable[[Axes, Chart, Period | None], None]] = {
    ChartType.LINES: _lines,
    ChartType.BARS: _bars,
    ChartType.LANES: _lanes,
}


def _known(one: Series) -> list[str]:
    """Return the moments at which something is known of a series."""
    levels = one.levels or (Severity.HEALTHY,) * len(one.values)
    told = zip(one.x, one.values, levels, strict=True)
    return [x for x, value, level in told if value is not None and level is not Severity.UNKNOWN]


def _time_axis(axes: Axes, period: Period | None, first: str | None) -> None:
    """Let the axis be the period, or its last part when data begins late."""
    label = "Time (UTC)"
    if period is not None and period.start < period.end:
        start = period.start
        begin = start if first is None else datetime.fromisoformat(first)
        if begin - start > _LATE * period.span:
            start = begin
            label += f", data since {text_of(first, ValueType.MOMENT)}"
        axes.set_xlim(_number(start), _number(period.end))
    locator = _dates.AutoDateLocator(tz=UTC, minticks=4, maxticks=8)
    axes.xaxis.set_major_locator(locator)
    axes.xaxis.set_major_formatter(_dates.ConciseDateFormatter(locator, tz=UTC))
    axes.xaxis.get_offset_text().set_color(_INK)
    axes.set_xlabel(label, color=_INK, fontsize=7)


def _value_axis(axis: Any, type_: ValueType, most: float) -> None:
    if type_ is ValueType.DURATION_MS and most > 0:
        step = next((one for one in _STEPS_MS if most / one <= _TICKS), _STEPS_MS[-1])
        axis.set_major_locator(MultipleLocator(step))
    elif type_ is ValueType.BYTES and most > 0:
        axis.set_major_locator(MultipleLocator(2 ** max(0, math.ceil(math.log2(most / _TICKS)))))
    else:
        is_whole = type_ in {ValueType.COUNT, ValueType.OFFSET}
        axis.set_major_locator(MaxNLocator(nbins=_TICKS, integer=is_whole))
    axis.set_major_formatter(FuncFormatter(lambda value, _: text_of(value, type_)))


def _legend(axes: Axes, handles: list[Any], labels: list[str]) -> None:
    """Add the legend below; the names are set later: matplotlib leaves out those that begin with `_`."""

    legend = axes.figure.legend(
        handles,
        [f"series {at}" for at in range(len(labels))],
        loc="outside lower left",
        ncols=3,
        frameon=False,
        labelcolor=_INK,
        fontsize=7,
    )
    for text, label in zip(legend.get_texts(), labels, strict=True):
        text.set_text(label)


def _moments(texts: tuple[str, ...]) -> list[float]:
    return [_number(datetime.fromisoformat(one)) for one in texts]


def _number(at: datetime) -> float:
    return float(_dates.date2num(at))
