"""How long partitions were leaderless or under min ISR, from their spans, by topic and class of topics."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from jobs.reports.kinds.clusters.watched_time import Ints, WatchedTime

_MOST_OUTAGES = 10


@dataclass(frozen=True, slots=True)
class TimeTotals:
    """The time of the partitions of a topic, of a class of topics or of a cluster, in ms.

    `under_min_isr_ms` has the leaderless time in it. `any_...`: while at least one partition was so, None
    where it is not known.
    """

    name: str
    class_name: str = ""
    partitions: int | None = 0
    partition_ms: int = 0
    leaderless_ms: int = 0
    under_min_isr_ms: int = 0
    any_leaderless_ms: int | None = 0
    any_under_min_isr_ms: int | None = 0

    @property
    def availability(self) -> float | None:
        """The share of the partition time with a leader; None where there was no such time."""
        return _share(self.leaderless_ms, self.partition_ms)

    @property
    def write_availability(self) -> float | None:
        """The share in which a producer with acks=all can write."""
        return _share(self.under_min_isr_ms, self.partition_ms)


@dataclass(frozen=True, slots=True)
class PartitionLives:
    """From when to when (Unix ms) each partition was there; `group` is the number of its topic."""

    group: Ints
    begins: Ints
    ends: Ints


@dataclass(frozen=True, slots=True)
class PartitionSpans:
    """Spans leaderless or under min ISR (Unix ms).

    `life` is the place of the partition in the lives, `cause` a number that the reader knows.
    """

    life: Ints
    is_leaderless: NDArray[np.bool_]
    begins: Ints
    ends: Ints
    cause: Ints


@dataclass(frozen=True, slots=True)
class WorstSpan:
    """Spans that began and ended at the same moments, in the same state, for the same reason.

    `lives` are their partitions, `ms` the watched time of one of them.
    """

    begin: int
    end: int
    ms: int
    is_leaderless: bool
    cause: int
    lives: tuple[int, ...]


def totals_of(
    watched: WatchedTime,
    lives: PartitionLives,
    spans: PartitionSpans,
    groups: Ints,
    names: Sequence[tuple[str, str]],
) -> list[TimeTotals]:
    """Return the totals of groups of topics: `groups` is the group of each topic, `names` those of groups.

    A name is (name, class); groups without partition time are left out.
    """
    count = len(names)
    own = groups[lives.group] if len(lives.group) else lives.group
    time = watched.between(lives.begins, lives.ends)
    is_seen = time > 0
    partitions = np.bincount(own[is_seen], minlength=count)
    partition_ms = _sums(own, time, count)
    of_span = own[spans.life] if len(spans.life) else spans.life
    begins, ends = watched.until(spans.begins), watched.until(spans.ends)
    lead = spans.is_leaderless
    under_ms = _sums(of_span, np.maximum(ends - begins, 0), count)
    lead_ms = _sums(of_span[lead], np.maximum(ends - begins, 0)[lead], count)
    any_under = _union(of_span, begins, ends, count)
    any_lead = _union(of_span[lead], begins[lead], ends[lead], count)
    return [
        TimeTotals(
            *names[one],
            int(partitions[one]),
            int(partition_ms[one]),
            int(lead_ms[one]),
            int(under_ms[one]),
            int(any_lead[one]),
            int(any_under[one]),
        )
        for one in range(count)
        if partition_ms[one]
    ]


def worst_spans(
    watched: WatchedTime, spans: PartitionSpans, most: int = _MOST_OUTAGES
) -> list[WorstSpan]:
    """Return the longest outages, longest first; times are those of the spans, also outside of the period."""
    lengths = watched.between(spans.begins, spans.ends)
    seen = np.flatnonzero(lengths > 0)
    if not len(seen):
        return []
    columns = (spans.cause, ~spans.is_leaderless, spans.ends, spans.begins, -lengths)
    order = seen[np.lexsort([column[seen] for column in columns])]
    rows = np.stack([column[order] for column in columns])
    first = np.flatnonzero(np.any(np.diff(rows, axis=1) != 0, axis=0)) + 1
    begins = [0, *(int(one) for one in first)]
    found = []
    for start, end in zip(begins, [*begins[1:], len(order)], strict=True):
        at = int(order[start])
        found.append(
            WorstSpan(
                int(spans.begins[at]),
                int(spans.ends[at]),
                int(lengths[at]),
                bool(spans.is_leaderless[at]),
                int(spans.cause[at]),
                tuple(int(one) for one in spans.life[order[start:end]]),
            )
        )
        if len(found) == most:
            break
    return found


def _union(groups: Ints, begins: Ints, ends: Ints, count: int) -> Ints:
    """Return by group how long at least one interval held."""
    keeps = ends > begins
    groups, begins, ends = groups[keeps], begins[keeps], ends[keeps]
    if not len(groups):
        return np.zeros(count, dtype=np.int64)
    order = np.lexsort((begins, groups))
    groups = groups[order]
    # Each group has a stretch of the line of numbers for itself, so that no interval touches another group's.
    shift = groups * (int(ends.max()) + 1)
    begins, ends = begins[order] + shift, ends[order] + shift
    reached = np.maximum.accumulate(ends)
    before = np.concatenate([begins[:1], reached[:-1]])
    return _sums(groups, np.maximum(reached - np.maximum(begins, before), 0), count)


def _sums(groups: Ints, values: Ints, count: int) -> Ints:
    found = np.zeros(count, dtype=np.int64)
    np.add.at(found, groups, values)
    return found


def _share(bad_ms: int, all_ms: int) -> float | None:
    return round(1 - bad_ms / all_ms, 9) if all_ms > 0 else None
