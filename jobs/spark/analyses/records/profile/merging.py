"""The profile of a topic, from what its tasks counted, and the rows that say it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

from jobs.spark.analyses.records.profile.sketches import distinct, quantiles
from jobs.spark.analyses.records.profile.tallies import (
    AT,
    BATCH_BYTES,
    BATCH_RECORDS,
    BYTES,
    NO_TIME,
    RECORD_SIZES,
    Tallies,
)
from jobs.spark.analyses.records.running import Reduced

_CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
_SHARES = (0.5, 0.95, 0.99)
# A rate of less time says nothing.
_LEAST_MS = 1_000


@dataclass(slots=True)
class TopicProfile:
    """All that was counted of a topic.

    Its complete times are from `low_ms` until before `high_ms`: all records of these are counted; None
    without any record with a time.
    """

    topic: str
    width_ms: int
    policy: str | None = None
    low_ms: int | None = None
    high_ms: int | None = None
    tallies: Tallies = field(default_factory=Tallies)

    @property
    def slots(self) -> dict[int, int]:
        """The slots of buckets with a time, oldest first."""
        pairs = sorted((bucket, slot) for slot, bucket in enumerate(self.tallies.buckets))
        return {bucket: slot for bucket, slot in pairs if bucket != NO_TIME}

    def is_complete(self, bucket: int) -> bool:
        """Whether all records of a bucket are counted, and the bucket is over."""
        return self._covered_ms(bucket) == self.width_ms

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yield a row for each bucket, oldest first, the one of records without a time at the end."""
        for bucket, slot in self.slots.items():
            rates = self._rates([slot], self._covered_ms(bucket))
            place = {"bucket_ms": bucket * self.width_ms, "complete": self.is_complete(bucket)}
            yield {"topic": self.topic, **place, **rates, **row_of(self.tallies, slot)}
        if self.tallies.counts[0, AT["records"]]:
            place = {"bucket_ms": None, "complete": False}  # type: ignore[dict-item]
            yield {"topic": self.topic, **place, **self._rates([0], 0), **row_of(self.tallies, 0)}

    def total(self) -> dict[str, Any]:
        """Return the row of all buckets; rates are of the complete times."""
        low, high = self.low_ms, self.high_ms
        total = self.tallies.total()
        covered = 0 if low is None or high is None else max(high - low, 0)
        inside = [slot for bucket, slot in self.slots.items() if self._covered_ms(bucket) > 0]
        buckets = sum(map(self.is_complete, self.slots))
        facts = {"topic": self.topic, "complete_buckets": buckets}
        appended = int(total.counts[0, AT["log_append"]])
        records = int(total.counts[0, AT["records"]])
        times = "log_append_time" if appended == records else "both" if appended else "create_time"
        return {
            **facts,
            "time_type": times if records else None,
            **self._rates(inside, covered),
            **row_of(total, 0),
        }

    def _covered_ms(self, bucket: int) -> int:
        if self.low_ms is None or self.high_ms is None:
            return 0
        start = bucket * self.width_ms
        return max(0, min(start + self.width_ms, self.high_ms) - max(start, self.low_ms))

    def _rates(self, slots: list[int], covered_ms: int) -> dict[str, float | None]:
        if covered_ms < _LEAST_MS:
            return {"records_per_s": None, "bytes_per_s": None}
        records = float(self.tallies.counts[slots, AT["records"]].sum())
        size = float(self.tallies.shares[slots, 0].sum())
        return {
            "records_per_s": records * 1000 / covered_ms,
            "bytes_per_s": size * 1000 / covered_ms,
        }


def row_of(tallies: Tallies, slot: int) -> dict[str, Any]:
    """Return what a slot says, by column; sizes and shares of nothing are None."""
    counts = {name: int(tallies.counts[slot, at]) for name, at in AT.items()}
    size, stored = (float(tallies.shares[slot, at]) for at in range(len(BYTES)))
    records = counts["records"]

    def share(name: str, of: int) -> float | None:
        return counts[name] / of if of else None

    row = {
        "records": records,
        "bytes": round(size),
        **_spread("record_bytes", tallies.sizes[slot, RECORD_SIZES], counts["max_record"]),
        "largest_partition": counts["max_partition"] if records else None,
        "largest_offset": counts["max_offset"] if records else None,
        **_spread("batch_records", tallies.sizes[slot, BATCH_RECORDS], counts["max_batch_records"]),
        **_spread("batch_bytes", tallies.sizes[slot, BATCH_BYTES], counts["max_batch_bytes"]),
        "compression_ratio": counts["expanded"] / stored if stored else None,
        "codecs": sorted((one for one in _CODECS if counts[one]), key=lambda one: -counts[one]),
        "null_key_share": share("null_keys", records),
        "header_share": share("with_headers", records),
        "distinct_keys": distinct(tallies.registers[slot]),
        "large_share": share("large_size", counts["size"]),
    }
    same = ("null_keys", "tombstones", "out_of_order", "future", "large")
    return row | {name: counts[name] for name in same}


def _spread(name: str, sizes: Any, largest: int) -> dict[str, int | None]:
    values = [None if one is None else min(one, largest) for one in quantiles(sizes, _SHARES)]
    named = dict(zip((f"{name}_p50", f"{name}_p95", f"{name}_p99"), values, strict=True))
    return named | {f"{name}_max": largest if values[0] is not None else None}


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
        firsts = []
        for one in works:
            found.policy = one.work.extra["policy"]
            edges = one.tables["edges"].to_pylist()[0]
            # Of the bucket in which what is unknown ends, nothing is exact.
            if edges["from_ms"] is not None:
                lows.append(-(-edges["from_ms"] // width_ms) * width_ms)
            if edges["to_ms"] is not None:
                highs.append(edges["to_ms"] // width_ms * width_ms)
            firsts += [edges["first_ms"]] if edges["first_ms"] is not None else []
            highs += [one.work.extra["planned_ms"]]
            found.tallies.add(one.tables["buckets"])
            found.tallies.overflow += edges["overflow"]
        if firsts:
            found.low_ms, found.high_ms = max(lows, default=min(firsts)), min(highs)
        yield found
