"""Time series: samples, rolled up to coarser steps in the same table, pruned, and read with gaps.

A step holds the worst of its samples. It is written again while samples may still arrive in it, so a
roll-up that runs twice, or late, changes nothing. Times are Unix seconds; `at_s` is the begin of a step.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from typing import Any, TypeVar

from django.db.models import Aggregate, F, Max, Model, QuerySet
from django.db.models.expressions import CombinedExpression

from console.frame.pages.timerange import TimeRange

RAW, MINUTE, HOUR = 0, 60, 3600
MOST_POINTS = 600
# A round or two may come late; more missing steps than these are a gap in the line.
GAP_STEPS = 4
# Rounds take time: a sample may be this much older than the moment at which it is written. Whole minutes.
LATE_S = 180
# So many steps at a time: a task that is ended in the middle continues there.
PORTION = 60
Row = dict[str, Any]
Found = TypeVar("Found")


@dataclass(frozen=True, slots=True)
class Series:
    """One kind of time series.

    `key` are the columns that name a series, the last one is what a chart may have several lines of.
    `values` says what a step holds of each column: the highest or the mean; a mean is not rolled up.
    `kept_s` says for how many seconds the samples of each step are kept, the finest step first (`RAW`:
    as collected). `every_s` is the interval of samples.
    """

    samples: type[Model]
    key: tuple[str, ...]
    values: Mapping[str, type[Aggregate]]
    kept_s: Callable[[], dict[int, int]]
    every_s: Callable[[], int]

    def of_step(self, step_s: int) -> QuerySet[Any]:
        """Return the samples of one step; a table with one step has no column for it."""
        rows = self.samples._default_manager.all()
        return rows.filter(step_s=step_s) if len(self.kept_s()) > 1 else rows

    def in_steps(self, rows: QuerySet[Any], *by: str, step_s: int, **more: Aggregate) -> list[Row]:
        """Return the values of samples by `by` and step (`bucket`); one query."""
        found = {f"of_{name}": kind(name) for name, kind in self.values.items()}
        steps = rows.annotate(bucket=bucket(step_s)).values(*by, "bucket").annotate(**more, **found)
        return [{name.removeprefix("of_"): value for name, value in row.items()} for row in steps]


def floor(at_s: int, step_s: int) -> int:
    """Return the begin of the step that a time is in."""
    return at_s - at_s % step_s


def bucket(step_s: int) -> CombinedExpression:
    """Return the begin of the step of a sample, as SQLite and PostgreSQL both reckon."""
    return F("at_s") - F("at_s") % step_s


def upsert(rows: Sequence[Model]) -> None:
    """Write rows over those with the same key, which is the unique constraint of their model."""
    if rows:
        options = type(rows[0])._meta
        unique = options.total_unique_constraints[0].fields
        rest = [one for one in options.concrete_fields if one.name not in unique]
        type(rows[0])._default_manager.bulk_create(
            rows,
            batch_size=500,
            update_conflicts=True,
            unique_fields=unique,
            update_fields=[one.name for one in rest if not one.primary_key],
        )


def roll_up(series: Series, now: datetime) -> int:
    """Bring the second step up to date, and coarser ones that are over; returns how many were written."""
    now_s, kept, written = int(now.timestamp()), series.kept_s(), 0
    for place, (finer, step_s) in enumerate(pairwise(kept)):
        end = floor(now_s - LATE_S, step_s) if place else now_s
        last = series.of_step(step_s).aggregate(last=Max("at_s"))["last"]
        if last is None:
            begin = floor(now_s - kept[finer], step_s)
        else:
            # A clock that was set back leaves steps of the future; those of now are written all the same.
            begin = last + step_s if place else min(last, floor(now_s, step_s)) - LATE_S
        for start in range(begin, end, PORTION * step_s):
            until = min(start + PORTION * step_s, end)
            rows = series.of_step(finer).filter(at_s__gte=start, at_s__lt=until)
            steps = series.in_steps(rows, *series.key, step_s=step_s)
            upsert([series.samples(step_s=step_s, at_s=row.pop("bucket"), **row) for row in steps])
            written += len(steps)
    return written


def prune(series: Series, now: datetime) -> int:
    """Remove samples older than the retention of their step; returns how many.

    They go by whole coarser steps: a roll-up never finds a part of one.
    """
    kept = series.kept_s()
    gone = 0
    for step_s, coarser in zip(kept, [*kept, max(kept)][1:], strict=True):
        limit = floor(int(now.timestamp()) - kept[step_s], max(coarser, 1))
        gone += series.of_step(step_s).filter(at_s__lt=limit).delete()[0]
    return gone


def tiers_for(series: Series, step_s: int, start_s: int, now_s: int) -> list[int]:
    """Return the steps to read, the coarsest first: fine enough for the chart, and kept for so long."""
    kept = series.kept_s()
    fitting = [step for step in kept if step <= step_s]
    for coarser in list(kept)[len(fitting) :]:
        if start_s < now_s - kept[fitting[-1]]:
            fitting.append(coarser)
    return fitting[::-1]


def read(
    series: Series, /, time_range: TimeRange, now: datetime, points: int = MOST_POINTS, **where: Any
) -> tuple[int, dict[int, dict[Any, Row]]]:
    """Return the width of a step, and the values of each step by the last column of the key.

    What is not rolled up yet comes from finer steps; one query for each.
    """
    begin, end = int(time_range.start.timestamp()), int(time_range.end.timestamp())
    step_s = max(time_range.step_s(max(min(points, MOST_POINTS), 1)), series.every_s())
    step_s += -step_s % max(min(series.kept_s()), 1)
    tiers = tiers_for(series, step_s, begin, int(now.timestamp()))
    step_s = max(step_s, tiers[0])
    line, found = series.key[-1], dict[int, dict[Any, Row]]()
    for tier in tiers:
        rows = series.of_step(tier).filter(at_s__gt=begin - max(tier, 1), at_s__lte=end, **where)
        steps = series.in_steps(rows, line, step_s=step_s, last=Max("at_s"))
        for row in steps:
            # A time that a coarser step covers is not read again from a finer one.
            begin = max(begin, row["last"] + max(tier, 1))
            lines = found.setdefault(row["bucket"], {})
            lines[row[line]] = _worse(series, row, lines.get(row[line], {}))
    return step_s, dict(sorted(found.items()))


def longest_rest(step_s: int, rest_s: int = 0) -> int:
    """Return the longest time between two samples of a line that has no gap there, in seconds."""
    return GAP_STEPS * max(step_s, rest_s)


def with_gaps(
    found: Mapping[int, Found], step_s: int, rest_s: int = 0
) -> Iterator[tuple[int, Found | None]]:
    """Yield the steps; a stretch without samples is one None. Samples may be `rest_s` apart."""
    before: int | None = None
    for at_s, rows in found.items():
        if before is not None and at_s - before > longest_rest(step_s, rest_s):
            yield before + step_s, None
        yield at_s, rows
        before = at_s


def read_columns(
    series: Series,
    /,
    time_range: TimeRange,
    now: datetime,
    points: int = MOST_POINTS,
    rest_s: int = 0,
    **where: Any,
) -> dict[str, list[Any]]:
    """Return one line as columns: `at` and each value; a stretch without samples is one row of nulls."""
    step_s, found = read(series, time_range, now, points, **where)
    columns: dict[str, list[Any]] = {"at": [], **{name: [] for name in series.values}}
    for at_s, lines in with_gaps(found, step_s, rest_s):
        row = next(iter(lines.values())) if lines else {}
        columns["at"].append(at_s)
        for name in series.values:
            columns[name].append(row.get(name))
    return columns


def small_lines(rows: QuerySet[Any], by: str, value: str, step_s: int) -> dict[Any, list[Any]]:
    """Return the highest value of each step by a column, for small charts; one query."""
    found: dict[Any, list[Any]] = {}
    steps = rows.annotate(bucket=bucket(step_s)).values_list(by, "bucket")
    for name, _, most in steps.annotate(most=Max(value)).order_by(by, "bucket"):
        found.setdefault(name, []).append(most)
    return found


def _worse(series: Series, one: Row, other: Row) -> Row:
    known = {name: [one[name], other.get(name)] for name in series.values}
    return {
        name: max((each for each in values if each is not None), default=None)
        for name, values in known.items()
    }
