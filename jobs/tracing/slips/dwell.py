"""How long slips stay at a step: from its first record to the first one of the next step."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from jobs.tracing.outbox import spread
from jobs.tracing.slips.events import Slips, begins
from jobs.tracing.slips.verdicts import BEHIND, Stay
from jobs.wire.rebatch.table import Int64s

# A factor between halves of a range is stated from so many slips in each.
LEAST_SLIPS = 10
_NAMES = ("p50_ms", "p95_ms", "p99_ms", "max_ms")
UNKNOWN = -1


class Stays(NamedTuple):
    """A row for each slip and step: `dwell` in ms, UNKNOWN while it lasts or where what follows is not known.

    `skewed`: stays that end before they begin, by the times of records; `most_skew_ms`: the largest.
    """

    slips: Int64s
    steps: Int64s
    types: Int64s
    times: Int64s
    positions: Int64s
    dwell: Int64s
    skewed: int
    most_skew_ms: int


def stays(slips: Slips) -> Stays:
    """Return the stays of all slips."""
    lists = [[(slips.step_codes[one.step], *one[1:]) for one in path.stays] for path in slips.paths]
    owner, (steps, positions, events, ends) = slips.rows(lists, len(Stay._fields))
    times = slips.times[slips.starts[owner] + events]
    passed = slips.times[slips.starts[owner] + np.maximum(ends, 0)] - times
    skewed = passed[(ends >= 0) & (passed < 0)]
    dwell = np.where((ends >= 0) & (passed >= 0), passed, UNKNOWN)
    most = -int(skewed.min(initial=0))
    return Stays(owner, steps, slips.type[owner], times, positions, dwell, len(skewed), most)


def funnel(slips: Slips, found: Stays) -> Iterator[dict[str, Any]]:
    """Yield rows by type and step: entered is left, failed and waiting together."""
    width, last = len(slips.steps) + 1, slips.last_step
    is_failed, is_waiting = slips.is_failed & (last >= 0), slips.is_waiting & (last >= 0)
    # Of some slips only the failure at a step was read.
    failed_at = np.flatnonzero(is_failed) * width + last[is_failed]
    # With counts NumPy sorts; without, it hashes, which takes many times as long here.
    stayed, _ = np.unique(
        np.concatenate([found.slips * width + found.steps, failed_at]), return_counts=True
    )
    pairs = _pairs(slips.type[stayed // width], stayed % width, width)
    kept, entered = np.unique(pairs, return_counts=True)
    now = _pairs(slips.type, last, width)
    failed, waiting = (
        np.bincount(np.searchsorted(kept, now[mask]), minlength=len(kept))
        for mask in (is_failed, is_waiting)
    )
    positions = np.full(len(kept), BEHIND, np.int64)
    is_known = found.positions >= 0
    at = np.searchsorted(kept, _pairs(found.types, found.steps, width)[is_known])
    np.minimum.at(positions, at, found.positions[is_known])
    order = np.lexsort((kept, positions, kept // width))
    columns = (one[order] for one in (kept, positions, entered, failed, waiting))
    for key, position, *counts in zip(*map(np.ndarray.tolist, columns), strict=True):
        yield {
            **_names(slips, key, width),
            "position": position + 1 if position < BEHIND else None,
            "entered": counts[0],
            "left": counts[0] - counts[1] - counts[2],
            "failed": counts[1],
            "waiting": counts[2],
        }


def by_step(slips: Slips, found: Stays) -> Iterator[dict[str, Any]]:
    """Yield percentiles by type and step, and the median of both halves of the range."""
    half = (int(found.times.min()) + int(found.times.max())) // 2 if len(found.times) else 0
    width = len(slips.steps) + 1
    known = np.flatnonzero(found.dwell >= 0)
    keys = _pairs(found.types, found.steps, width)[known]
    order = np.argsort(keys, kind="stable")
    for start, end in _runs(keys[order]):
        mine = known[order[start:end]]
        values, is_late = found.dwell[mine], found.times[mine] > half
        parts = [values[~is_late], values[is_late]]
        before, after = (spread(one)[0] for one in parts)
        is_enough = min(map(len, parts)) >= LEAST_SLIPS
        yield {
            **_names(slips, int(keys[order[start]]), width),
            "slips": len(values),
            **dict(zip(_NAMES, spread(values), strict=True)),
            "before_ms": before,
            "after_ms": after,
            "factor": after / before if before and after is not None and is_enough else None,
        }


def over_time(slips: Slips, found: Stays, width_ms: int) -> Iterator[dict[str, Any]]:
    """Yield rows by time, type and step: slips that entered, and how long those stayed that left."""
    width = len(slips.steps) + 1
    keys = _pairs(found.types, found.steps, width)
    buckets = found.times // width_ms * width_ms
    order = np.lexsort((keys, buckets))
    keys, buckets, dwell = keys[order], buckets[order], found.dwell[order]
    for start, end in _runs(buckets, keys):
        values = dwell[start:end]
        p50, p95, *_ = spread(values[values >= 0])
        yield {
            "bucket_ms": int(buckets[start]),
            **_names(slips, int(keys[start]), width),
            "entered": end - start,
            "p50_ms": p50,
            "p95_ms": p95,
        }


def _runs(*columns: Int64s) -> Iterator[tuple[int, int]]:
    """Return where rows with equal values begin and end."""
    starts = np.flatnonzero(begins(*columns)).tolist()
    ends = [*starts[1:], len(columns[0])] if starts else []
    return zip(starts, ends, strict=True)


def _pairs(types: Int64s, steps: Int64s, width: int) -> Int64s:
    found: Int64s = types * width + steps
    return found


def _names(slips: Slips, key: int, width: int) -> dict[str, str]:
    type_, step = divmod(key, width)
    name = slips.types[type_]
    return {
        "type": name,
        "step": slips.steps[step],
        "line": f"{name}: {slips.steps[step]}" if name else slips.steps[step],
    }
