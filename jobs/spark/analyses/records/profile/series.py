"""The series of a topic over its complete buckets, and the changes of their levels."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from jobs.spark.analyses.records.profile.change_points import steps
from jobs.spark.analyses.records.profile.merging import TopicProfile, row_of
from jobs.spark.analyses.records.profile.tallies import MOST_BUCKETS

# A rate is compared by what a bucket has; a share in percent: the logarithm of small numbers is flat.
_OF_BUCKET = {"records": "records_per_s", "bytes": "bytes_per_s"}
_OF_RECORDS = {
    "record_bytes_p50": 1.0,
    "compression_ratio": 1.0,
    "null_key_share": 100.0,
    "distinct_keys": 1.0,
}
# So many buckets without records are looked at behind the last one that has some.
_SILENT = 24


def changes_of(profile: TopicProfile) -> Iterator[dict[str, Any]]:
    """Yield rows of changes, with `step`, the logarithm of its factor; none of a compacted topic.

    A bucket without records has a rate of 0, and is no part of the other series.
    """
    if profile.low_ms is None or profile.high_ms is None or is_compacted(profile):
        return
    width, slots = profile.width_ms, profile.slots
    first, end = -(-profile.low_ms // width), profile.high_ms // width
    last = max((one for one in slots if one < end), default=first)
    end = min(end, last + 1 + _SILENT)
    buckets = range(max(first, end - MOST_BUCKETS), end)
    rows = {one: row_of(profile.tallies, slots[one]) for one in buckets if one in slots}
    for name, series in _OF_BUCKET.items():
        values = [float(rows[one][name]) if one in rows else 0.0 for one in buckets]
        yield from _rows(profile, series, list(buckets), values, 1000 / width)
    for name, scale in _OF_RECORDS.items():
        known = [one for one in buckets if one in rows and rows[one][name] is not None]
        values = [rows[one][name] * scale for one in known]
        yield from _rows(profile, name, known, values, 1 / scale)


def is_compacted(profile: TopicProfile) -> bool:
    return "compact" in (profile.policy or "")


def _rows(
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
