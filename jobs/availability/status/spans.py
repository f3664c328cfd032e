"""From what a partition became at moments to how long each state held."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Generic, TypeVar

from jobs.availability.status.partition_seen import Membership, PartitionSeen

V = TypeVar("V")


@dataclass(frozen=True, slots=True)
class Span(Generic[V]):
    """`value` held from `start` to before `end` (None: ongoing); `first` is the change that started it."""

    value: V
    start: datetime
    end: datetime | None
    first: PartitionSeen

    def lasted(self, now: datetime) -> timedelta:
        """Return how long it held until `now`."""
        return (self.end or now) - self.start


def spans_of(
    moments: Iterable[PartitionSeen],
    value_of: Callable[[PartitionSeen], V],
    gone_at: datetime | None = None,
) -> list[Span[V]]:
    """Return spans that follow each other without a gap, from the first moment on.

    Moments are in the order in which they happened. Their times may go back, because controllers' clocks
    differ: a span never ends before it starts. `gone_at` is when the partition was deleted.
    """
    found: list[Span[V]] = []
    for seen in moments:
        value = value_of(seen)
        if not found:
            found.append(Span(value, seen.at, None, seen))
        elif value != found[-1].value:
            start = max(seen.at, found[-1].start)
            found[-1] = replace(found[-1], end=start)
            found.append(Span(value, start, None, seen))
    if found and gone_at is not None:
        found[-1] = replace(found[-1], end=max(gone_at, found[-1].start))
    return found


def leader_spans(
    moments: Iterable[PartitionSeen], gone_at: datetime | None = None
) -> list[Span[int | None]]:
    """Return the intervals of leaders; None: no leader."""
    return spans_of(moments, lambda seen: seen.leader, gone_at)


def membership_spans(
    moments: Iterable[PartitionSeen], broker: int, gone_at: datetime | None = None
) -> list[Span[Membership | None]]:
    """Return how long a broker was what to a partition; None: it had no replica."""
    return spans_of(moments, lambda seen: seen.membership(broker), gone_at)


def leaderless(
    spans: Sequence[Span[int | None]],
    start: datetime,
    end: datetime,
    unknown: Sequence[tuple[datetime, datetime]] = (),
) -> timedelta:
    """Return the leaderless time between two times.

    `unknown` are disjoint times without data: they do not count.
    """
    found = timedelta()
    for span in spans:
        if span.value is None:
            begins, ends = max(span.start, start), min(span.end or end, end)
            found += _overlap(begins, ends, start, end)
            found -= sum((_overlap(begins, ends, *one) for one in unknown), timedelta())
    return found


def _overlap(start: datetime, end: datetime, other: datetime, other_end: datetime) -> timedelta:
    return max(min(end, other_end) - max(start, other), timedelta())
