"""Samples of a period: exact percentiles, where samples are missing, and lines that a chart can show."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from jobs.reports.document import Gap
from jobs.reports.periods import Period
from jobs.reports.values import stamp

# Rounds that are missing for longer than this are a gap.
GAP = timedelta(minutes=10)
MOST_GAPS = 20


@dataclass(frozen=True, slots=True, order=True)
class Interval:
    """From `start` (included) to `end` (excluded)."""

    start: datetime
    end: datetime

    @property
    def span(self) -> timedelta:
        return self.end - self.start

    @property
    def ms(self) -> int:
        """The length in milliseconds."""
        return self.span // timedelta(milliseconds=1)


@dataclass(frozen=True, slots=True)
class Spread:
    """How the values of samples are spread, by nearest rank: each is one of the values. None: no sample."""

    median: int | None = None
    p99: int | None = None
    worst: int | None = None
    worst_at: datetime | None = None


NO_SPREAD = Spread()


def rank_of(count: int, percent: int) -> int:
    """Return the place (from 0) of a percentile in `count` sorted values, by nearest rank."""
    return max(-(-count * percent // 100), 1) - 1


def holes(covers: Iterable[Interval], whole: Interval, most: timedelta = GAP) -> list[Interval]:
    """Return the parts of an interval that are longer than `most` and that no sample covers.

    `covers` are the intervals of the samples, in the order of their starts.
    """
    found = []
    until = whole.start
    for one in covers:
        if one.start - until > most:
            found.append(Interval(until, min(one.start, whole.end)))
        until = max(until, one.end)
        if until >= whole.end:
            return found
    if whole.end - until > most:
        found.append(Interval(until, whole.end))
    return found


def without(interval: Interval, gaps: Sequence[Interval]) -> Iterator[Interval]:
    """Yield what is left of an interval without the gaps, which are sorted and apart."""
    start = interval.start
    for gap in gaps:
        if gap.end <= start:
            continue
        if gap.start >= interval.end:
            break
        if gap.start > start:
            yield Interval(start, gap.start)
        start = gap.end
    if start < interval.end:
        yield Interval(start, interval.end)


def in_all(lists: Sequence[Sequence[Interval]]) -> list[Interval]:
    """Return what is in every list of intervals, each sorted and apart: gaps that all subjects share."""
    if not lists:
        return []
    common = list(lists[0])
    for other in lists[1:]:
        pairs = ((a, b) for a in common for b in other)
        common = [
            Interval(max(a.start, b.start), min(a.end, b.end))
            for a, b in pairs
            if max(a.start, b.start) < min(a.end, b.end)
        ]
    return common


def covered_by(
    gaps: Sequence[Interval], whole: Interval
) -> tuple[datetime | None, datetime | None]:
    """Return the first and the last moment that is not in a gap; None, None without one."""
    left = list(without(whole, gaps))
    return (left[0].start, left[-1].end) if left else (None, None)


def whole_of(period: Period) -> Interval:
    return Interval(period.start, period.end)


def with_samples(
    gaps_of_flows: Sequence[Sequence[Interval]], period: Period
) -> tuple[str | None, str | None]:
    """Return the first and the last moment of a period with samples of any flow; None, None without one."""
    if not gaps_of_flows:
        return None, None
    start, end = covered_by(in_all(gaps_of_flows), whole_of(period))
    return stamp(start), stamp(end)


def with_events(sinces: Sequence[datetime], period: Period) -> tuple[str | None, str | None]:
    """Return from and until when a period has events of flows that exist since `sinces`; None before any."""
    first = min(sinces, default=period.end)
    if first >= period.end:
        return None, None
    return stamp(max(first, period.start)), stamp(period.end)


def told_gaps(gaps: Sequence[Interval], why: str) -> tuple[Gap, ...]:
    """Return gaps as a section has them: the longest ones, in the order of time."""
    longest = sorted(gaps, key=lambda one: (-one.span, one.start))[:MOST_GAPS]
    found = [Gap(stamp(one.start), stamp(one.end), why) for one in sorted(longest)]
    rest = len(gaps) - len(longest)
    return (
        (*found, Gap(None, None, f"{rest} shorter gaps are not listed.")) if rest else tuple(found)
    )
