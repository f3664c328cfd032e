"""The profile of a topic from what its tasks counted: its rows, and the changes of its levels."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

from jobs.spark.analyses.records.profile import tallies as layout
from jobs.spark.analyses.records.profile.change_points import steps
from jobs.spark.analyses.records.profile.tallies import NO_TIME, Count, Tallies, distinct, quantiles
from jobs.spark.analyses.records.running import Reduced

# A rate of less time says nothing.
_LEAST_MS = 1_000
# Series that change. A share is compared in percent: the logarithm of small numbers is flat.
_SCALES = {"record_bytes_p50": 1, "compression_ratio": 1, "null_key_share": 100, "distinct_keys": 1}
# So many buckets without records are looked at behind the last one that has some.
_SILENT = 24


@dataclass(slots=True)
class TopicProfile:
    """All that was counted of a topic.

    Its complete times are from `low_ms` until before `high_ms`: all records of these are counted; both are 0
    where there are none. `done` has its works without their tables.
    """

    topic: str
    width_ms: int
    policy: str | None = None
    low_ms: int = 0
    high_ms: int = 0
    tallies: Tallies = field(default_factory=Tallies)
    done: list[Reduced] = field(default_factory=list)

    @property
    def is_compacted(self) -> bool:
        return "compact" in (self.policy or "")

    @property
    def held(self) -> int:
        """How many partitions end at an open transaction."""
        parts = ((one.work.spans, one.work.extra["are_ended"]) for one in self.done)
        ends = [pair for spans, are_ended in parts for pair in zip(spans, are_ended, strict=True)]
        return sum(is_ended and span.end == span.log_end for span, is_ended in ends)

    @property
    def emptied(self) -> int:
        """How many partitions had records, of which none is left."""
        spans = (span for one in self.done for span in one.work.spans)
        return sum(span.log_start == span.log_end > 0 for span in spans)

    @property
    def overflow(self) -> int:
        """How many records lie in too many buckets; they count as those without a time."""
        return int(self.tallies.numbers[0, Count.OVERFLOW])

    @property
    def slots(self) -> dict[int, int]:
        """The slots of buckets with a time, oldest first."""
        pairs = sorted(self.tallies.slots.items())
        return {bucket: slot for bucket, slot in pairs if bucket != NO_TIME}

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yield a row for each bucket, oldest first, the one of records without a time at the end."""
        for bucket, slot in self.slots.items():
            place = {"bucket_ms": bucket * self.width_ms, "complete": self._is_complete(bucket)}
            yield place | self._row(self.tallies, slot, [slot], self._covered_ms(bucket))
        if self.tallies.numbers[0, Count.RECORDS]:
            yield {"bucket_ms": None, "complete": False, **self._row(self.tallies, 0, [], 0)}

    def total(self) -> dict[str, Any]:
        """Return the row of all buckets; rates are of the complete times."""
        inside = [slot for bucket, slot in self.slots.items() if self._covered_ms(bucket)]
        complete = sum(map(self._is_complete, self.slots))
        row = self._row(self.tallies.total(), 0, inside, max(self.high_ms - self.low_ms, 0))
        return {"complete_buckets": complete, **row}

    def _is_complete(self, bucket: int) -> bool:
        return self._covered_ms(bucket) == self.width_ms

    def _covered_ms(self, bucket: int) -> int:
        start = bucket * self.width_ms
        return max(0, min(start + self.width_ms, self.high_ms) - max(start, self.low_ms))

    def _row(self, of: Tallies, slot: int, rated: list[int], covered_ms: int) -> dict[str, Any]:
        read = self.tallies.numbers
        per_s = 1000 / covered_ms if covered_ms >= _LEAST_MS else None
        return {
            "topic": self.topic,
            "records_per_s": per_s and int(read[rated, Count.RECORDS].sum()) * per_s,
            "bytes_per_s": per_s and int(read[rated, Count.BYTES].sum()) / 1000 * per_s,
            **row_of(of, slot),
        }


def row_of(tallies: Tallies, slot: int) -> dict[str, Any]:
    """Return what a slot says, by column; sizes and shares of nothing are None."""
    numbers = tallies.numbers[slot].tolist()
    counts = {one.name.lower(): numbers[one] for one in Count}
    records, stored, size = counts["records"], counts["bytes"], counts["size"]
    row = {
        "bytes": round(stored / 1000),
        "largest_partition": numbers[layout.MAX_PARTITION] if records else None,
        "largest_offset": numbers[layout.MAX_OFFSET] if records else None,
        "compression_ratio": counts["expanded"] * 1000 / stored if stored else None,
        "null_key_share": counts["null_keys"] / records if records else None,
        "distinct_keys": distinct(tallies.registers[slot]),
        "large_share": counts["large_size"] / size if size else None,
    }
    for name, (begin, largest_at) in layout.SPREADS.items():
        largest = numbers[largest_at]
        values = quantiles(tallies.numbers[slot, begin : begin + layout.BINS], (0.5, 0.95, 0.99))
        for part, value in zip(("p50", "p95", "p99"), values, strict=True):
            row[f"{name}_{part}"] = None if value is None else min(value, largest)
        row[f"{name}_max"] = None if values[0] is None else largest
    return counts | row


def profiles_of(
    reduced: Iterable[Reduced], width_ms: int, from_ms: int | None, to_ms: int | None
) -> Iterator[TopicProfile]:
    """Yield the profile of each topic, when its last work is done; works are topic by topic.

    `from_ms` and `to_ms` are the range of times that was read, None: no bound.
    """
    for topic, works in groupby(reduced, key=lambda one: one.work.spans[0].topic):
        found = TopicProfile(topic, width_ms)
        lows = [] if from_ms is None else [from_ms]
        highs = [] if to_ms is None else [to_ms]
        firsts: list[int] = []
        for one in works:
            edges = one.tables["edges"].to_pydict()
            firsts += [ms for ms in edges["first_ms"] if ms is not None]
            # Of the bucket in which what is unknown ends, nothing is exact.
            lows += [-(-ms // width_ms) * width_ms for ms in edges["from_ms"] if ms is not None]
            highs += [ms // width_ms * width_ms for ms in edges["to_ms"] if ms is not None]
            highs += [one.work.extra["planned_ms"]]
            found.policy = one.work.extra["policy"]
            found.tallies.add(one.tables["buckets"])
            found.done.append(one._replace(tables={}))
        if firsts and not found.overflow:
            found.low_ms, found.high_ms = max(lows, default=min(firsts)), min(highs)
        yield found


def changes_of(profile: TopicProfile) -> Iterator[dict[str, Any]]:
    """Yield rows of changes, with `step`, the logarithm of its factor; none of a compacted topic.

    A bucket without records has a rate of 0, and is no part of the other series.
    """
    if profile.is_compacted:
        return
    width, slots = profile.width_ms, profile.slots
    first, end = -(-profile.low_ms // width), profile.high_ms // width
    last = max((one for one in slots if one < end), default=first)
    end = min(end, last + 1 + _SILENT)
    buckets = range(max(first, end - layout.MOST_BUCKETS), end)
    rows = {one: row_of(profile.tallies, slots[one]) for one in buckets if one in slots}
    # A rate is compared by what a bucket has.
    for name in ("records", "bytes"):
        values = [float(rows[one][name]) if one in rows else 0.0 for one in buckets]
        yield from _changes(profile, f"{name}_per_s", list(buckets), values, 1000 / width)
    for name, scale in _SCALES.items():
        known = [one for one in buckets if one in rows and rows[one][name] is not None]
        values = [rows[one][name] * scale for one in known]
        yield from _changes(profile, name, known, values, 1 / scale)


def _changes(
    profile: TopicProfile, series: str, buckets: list[int], values: list[float], unit: float
) -> Iterator[dict[str, Any]]:
    for step in steps(values):
        yield {
            "topic": profile.topic,
            "series": series,
            "at_ms": buckets[step.at] * profile.width_ms,
            "before": step.before * unit,
            "after": step.after * unit,
            "factor": step.after / step.before if step.before else None,
            "step": abs(step.size) if math.isfinite(step.size) else 0.0,
        }
