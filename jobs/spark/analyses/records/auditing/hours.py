"""Level L1: number and digests of the records of each hour, on both sides."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from jobs.spark.analyses.records.auditing.alignment import HASH, OFFSET, TIME
from jobs.spark.analyses.records.auditing.judging import MOST_FINDINGS, Edges, Finding
from jobs.wire.rebatch.table import Int64s

HOUR_MS = 3_600_000
_NEVER = 1 << 62
_NOTHING = [0, 0, 0, -1, -1]
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
    source: Iterable[Int64s], target: Iterable[Int64s], edges: Edges
) -> dict[str, Any]:
    """Return what was found of a pair, without order and offsets of records; rows as `Alignment` takes them.

    Hours that differ are left out where the difference is what is expected: up to the first one of both sides
    where older records were deleted or not read, and from the last one of the target on with fewer
    records there. They are not judged where they got records after a later hour had begun.
    """
    sides = _Hours(), _Hours()
    # What waits of the target is read before the source is.
    for hours, coming in ((sides[1], target), (sides[0], source)):
        for rows in coming:
            hours.add(rows)
    here, there = (one.found for one in sides)
    first = max(min(one, default=_NEVER) for one in (here, there))
    last = max(there, default=-_NEVER)
    is_open = any(edges.removed) or any(edges.older_unread)
    soft = sides[0].late | sides[1].late
    counts, findings, compared, unjudged = Counter[str](), [], 0, 0
    for hour in sorted(here.keys() | there.keys()):
        ours, theirs = (one.get(hour, _NOTHING) for one in (here, there))
        more = theirs[0] - ours[0]
        if ours[:3] == theirs[:3]:
            compared += ours[0]
        elif (is_open and hour <= first) or (hour >= last and more < 0):
            continue
        elif (
            edges.is_compacted
            or hour in soft
            or (edges.is_watched and hour <= first)
            or (hour >= last and not more)
        ):
            unjudged += 1
        else:
            what = "altered" if not more else "extra" if more > 0 else "missing"
            counts[what] += abs(more) or 1
            compared += min(ours[0], theirs[0])
            detail = f"{'' if more else 'at least 1 '}in this hour: use L2"
            findings.append(
                Finding(what, ours[3], ours[4], theirs[3], theirs[4], abs(more) or 1, detail)
            )
    return {
        "compared": compared,
        "counts": counts,
        "findings": findings[:MOST_FINDINGS],
        "next": None,
        "stopped": f"{unjudged:,} hours differ and cannot be judged (late or compacted records): use L2."
        if unjudged
        else "",
    }


def _digest(hashes: Int64s, factor: int, shift: int) -> Int64s:
    """Return a digest of each hash: sums of them are equal for equal multisets (almost) only."""
    found = hashes ^ (hashes >> shift)
    found = found * factor
    digest: Int64s = (found ^ (found >> 31)) * (factor + 2)
    return digest
