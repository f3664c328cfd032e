"""What the samples of a flow's lag say of a period: percentiles, the worst moment, volume, a line, gaps."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np

from jobs.reports.kinds.flows.sampling import GAP, NO_SPREAD, Interval, Spread, rank_of

# A row per sample: Unix seconds, lag in records, in milliseconds, records per second (-1: not known), and
# how many partitions have no lag.
LAG_ROW = np.dtype(
    [("at_s", "i8"), ("lag", "i8"), ("lag_ms", "i8"), ("rate", "f8"), ("unknown", "i8")]
)
# A row per hour: how many samples, the first and the last one, the highest lag with its moment, mean rate.
HOUR_ROW = np.dtype(
    [
        ("samples", "i8"),
        ("first_s", "i8"),
        ("last_s", "i8"),
        ("lag", "i8"),
        ("lag_at_s", "i8"),
        ("lag_ms", "i8"),
        ("lag_ms_at_s", "i8"),
        ("rate_per_s", "f8"),
        ("unknown_count", "i8"),
    ]
)
HOUR_S = 3600
MOST_POINTS = 300
# A rate holds until the next sample, at most for so long.
HOLDS_S = 60
# No sample is more often.
LEAST_STEP_S = 1
Rows = np.ndarray[Any, np.dtype[np.void]]
Numbers = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True, slots=True)
class Line:
    """The highest lag of each step; None: no sample. `starts` are the begins of the steps."""

    starts: tuple[datetime, ...] = ()
    records: tuple[int | None, ...] = ()
    ms: tuple[int | None, ...] = ()


@dataclass(frozen=True, slots=True)
class LagSummary:
    """The lag of a period over `count` samples, usually `step_s` apart (None: fewer than two, or hours).

    `replicated` is the volume in records: the rate of each sample until the next one. `gaps` are the parts
    of the period without samples, sorted. `hours` is 0, or how many hours count with their worst samples;
    then gaps inside an hour are unknown, and volume is the mean rate of each hour. `partial` is in how many
    samples or hours some partitions had no lag: lag is at least what is shown.
    """

    count: int = 0
    step_s: int | None = None
    records: Spread = NO_SPREAD
    ms: Spread = NO_SPREAD
    replicated: int | None = None
    line: Line = Line()
    gaps: tuple[Interval, ...] = ()
    hours: int = 0
    partial: int = 0


def summarise(rows: Rows, whole: Interval) -> LagSummary:
    """Return what samples (`LAG_ROW`, in the order of time, within the period) say of it."""
    at = rows["at_s"]
    return LagSummary(
        count=len(rows),
        step_s=int(np.median(np.diff(at))) if len(rows) > 1 else None,
        records=_spread(at, rows["lag"]),
        ms=_spread(at, rows["lag_ms"]),
        replicated=_replicated(at, rows["rate"], whole),
        line=_line(at, rows, whole),
        gaps=tuple(_gaps(at, at, whole)),
        partial=int((rows["unknown"] > 0).sum()),
    )


def summarise_hours(rows: Rows, whole: Interval) -> LagSummary:
    """Return what hours (`HOUR_ROW`, in the order of time) say of a period: each counts with its worst."""
    rate, first, last = rows["rate_per_s"], rows["first_s"], rows["last_s"]
    is_known = rate >= 0
    return LagSummary(
        count=int(rows["samples"].sum()),
        records=_spread(rows["lag_at_s"], rows["lag"]),
        ms=_spread(rows["lag_ms_at_s"], rows["lag_ms"]),
        replicated=round(float((rate * _held_s(rows))[is_known].sum())) if is_known.any() else None,
        line=_line(first, rows, whole, HOUR_S),
        gaps=tuple(_gaps(first, last, whole)),
        hours=len(rows),
        partial=int((rows["unknown_count"] > 0).sum()),
    )


def _held_s(rows: Rows) -> Numbers:
    """Return for how long the samples of each hour hold, as `HOLDS_S` has it."""
    span, steps = rows["last_s"] - rows["first_s"], rows["samples"] - 1
    step = np.minimum(np.where(steps > 0, span / np.maximum(steps, 1), HOLDS_S), HOLDS_S)
    held: Numbers = np.minimum(span + step, rows["samples"] * HOLDS_S)
    return held


def _spread(at: Numbers, values: Numbers) -> Spread:
    is_known = values >= 0
    known = values[is_known]
    if not len(known):
        return NO_SPREAD
    ordered = np.sort(known)
    count = len(ordered)
    first = int(np.argmax(known))
    return Spread(
        int(ordered[rank_of(count, 50)]),
        int(ordered[rank_of(count, 99)]),
        int(ordered[-1]),
        _moment(at[is_known][first]),
    )


def _replicated(at: Numbers, rate: Numbers, whole: Interval) -> int | None:
    is_known = rate >= 0
    if not is_known.any():
        return None
    until = np.append(at[1:], int(whole.end.timestamp()))
    spans = np.clip(until - at, 0, HOLDS_S)
    return round(float((rate * spans)[is_known].sum()))


def _line(at: Numbers, rows: Rows, whole: Interval, least_s: int = LEAST_STEP_S) -> Line:
    if not len(rows):
        return Line()
    start_s = whole.start.timestamp()
    step_s = max((whole.end.timestamp() - start_s) / MOST_POINTS, least_s)
    count = int(-(-(whole.end.timestamp() - start_s) // step_s))
    places = np.minimum(((at - start_s) / step_s).astype("i8"), count - 1)
    columns = {}
    for name in ("lag", "lag_ms"):
        most = np.full(count, -1, "i8")
        np.maximum.at(most, places, rows[name])
        columns[name] = tuple(None if one < 0 else int(one) for one in most)
    starts = tuple(whole.start + timedelta(seconds=n * step_s) for n in range(count))
    return Line(starts, columns["lag"], columns["lag_ms"])


def _gaps(first: Numbers, last: Numbers, whole: Interval) -> list[Interval]:
    """Return parts longer than `GAP` between samples; faster than `holes` for many samples."""
    start, end = whole.start.timestamp(), whole.end.timestamp()
    begins, ends = np.concatenate(([start], last)), np.concatenate((first, [end]))
    places = np.nonzero(ends - begins > GAP.total_seconds())[0]
    return [
        Interval(_moment(begins[n], whole.start), min(_moment(ends[n]), whole.end)) for n in places
    ]


def _moment(at_s: Any, not_before: datetime | None = None) -> datetime:
    found = datetime.fromtimestamp(float(at_s), UTC)
    return max(found, not_before) if not_before else found
