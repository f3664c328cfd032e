"""Level L1: number and digests of the records of each hour, on both sides."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from jobs.spark.analyses.records.auditing.alignment import HASH, OFFSET, TIME
from jobs.spark.analyses.records.auditing.judging import Finding
from jobs.wire.rebatch.table import Int64s

HOUR_MS = 3_600_000
_ONE, _OTHER = (-49064778989728563, 30), (-4265267296055464877, 27)


@dataclass(slots=True)
class _Hours:
    """Of each hour: records, two sums of digests, first and last offset; `late`: hours with late records."""

    found: dict[int, list[int]] = field(default_factory=dict)
    late: set[int] = field(default_factory=set)
    highest: int = -(1 << 62)

    def add(self, rows: Int64s) -> None:
        if not rows.shape[1]:
            return
        hours = rows[TIME] // HOUR_MS
        highest = np.maximum(np.maximum.accumulate(hours), self.highest)
        self.late.update(np.unique(hours[hours < highest]).tolist())
        self.highest = int(highest[-1])
        order = np.argsort(hours, kind="stable")
        starts = np.flatnonzero(np.diff(hours[order], prepend=hours[order[0]] - 1))
        ends = np.append(starts[1:], len(order))
        sums = [np.add.reduceat(_digest(rows[HASH][order], *one), starts) for one in (_ONE, _OTHER)]
        offsets = rows[OFFSET][order]
        for place, (start, end) in enumerate(zip(starts.tolist(), ends.tolist(), strict=True)):
            kept = self.found.setdefault(
                int(hours[order[start]]), [0, 0, 0, int(offsets[start]), 0]
            )
            kept[0] += end - start
            for number in (0, 1):
                kept[1 + number] = (kept[1 + number] + int(sums[number][place])) & (2**64 - 1)
            kept[4] = int(offsets[end - 1]) + 1


def compare_hours(
    source: Iterable[Int64s], target: Iterable[Int64s], extra: Mapping[str, Any]
) -> dict[str, Any]:
    """Return what was found of a pair, without order and offsets of records; rows as `Alignment` takes them.

    Hours that differ are not judged where one side may have only a part of them: those of the first and
    last records, and those that got records after a later hour had begun.
    """
    sides = _Hours(), _Hours()
    # What waits of the target is read before the source is.
    for hours, coming in ((sides[1], target), (sides[0], source)):
        for rows in coming:
            hours.add(rows)
    counts = dict.fromkeys(("missing", "extra", "altered"), 0)
    findings, compared, unjudged = [], 0, 0
    here, there = (one.found for one in sides)
    soft = sides[0].late | sides[1].late
    first, last = -(1 << 62), (1 << 62)
    if here and there:
        first, last = max(min(here), min(there)), min(max(here), max(there))
    for hour in sorted(here.keys() | there.keys()):
        ours, theirs = here.get(hour), there.get(hour)
        if ours and theirs and ours[:3] == theirs[:3]:
            compared += ours[0]
            continue
        if not first < hour < last:
            continue
        if hour in soft or extra["edges"]["is_compacted"]:
            unjudged += 1
            continue
        more = (theirs[0] if theirs else 0) - (ours[0] if ours else 0)
        what = "altered" if not more else "extra" if more > 0 else "missing"
        counts[what] += abs(more) or 1
        compared += min(one[0] if one else 0 for one in (ours, theirs))
        ranges = [(one[3], one[4]) if one else (-1, -1) for one in (ours, theirs)]
        detail = "in this hour; which ones: use L2" if more else "at least 1 in this hour: use L2"
        findings.append(Finding(what, *ranges[0], *ranges[1], abs(more) or 1, detail))
    return {
        "compared": compared,
        "counts": counts,
        "findings": findings[:1000],
        "next": None,
        "stopped": f"{unjudged:,} hours differ that have late or compacted records: use L2."
        if unjudged
        else "",
    }


def _digest(hashes: Int64s, factor: int, shift: int) -> Int64s:
    """Return a digest of each hash: sums of them are equal for equal multisets (almost) only."""
    found = hashes ^ (hashes >> shift)
    found = found * factor
    digest: Int64s = (found ^ (found >> 31)) * (factor + 2)
    return digest
