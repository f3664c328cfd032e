"""Times of records that are none: beyond the calendar or before 1970, as a broken clock writes them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

import numpy as np

from jobs.wire.batches.log_batches import DamageKind, LogDamage
from jobs.wire.metadata.log import Gap, LogRecord, PassedBatch
from jobs.wire.metadata.table import Int64s
from jobs.wire.values import LATEST_MS, is_time

# At most so many batches with impossible times are listed one by one.
MOST_TOLD = 100
_Placed = LogRecord | PassedBatch


def with_possible_times(
    items: Iterable[_Placed | LogDamage | Gap],
) -> Iterator[_Placed | LogDamage | Gap]:
    """Yield items with times that are possible: an impossible one is that of the record before it (else 0).

    Before each of the first batches with such a time comes a `LogDamage` that says so; at the end one for
    all others.
    """
    last, told, count = 0, -1, 0
    for item in items:
        if isinstance(item, LogDamage | Gap):
            yield item
            continue
        wrong = next((one for one in _times(item) if not is_time(one)), None)
        if wrong is not None and told != item.batch_offset:
            told, count = item.batch_offset, count + 1
            if count <= MOST_TOLD:
                yield _damage(item, wrong, last)
        placed = item if wrong is None else _clamped(item, last)
        *_, last = _times(placed)
        yield placed
    if count > MOST_TOLD:
        problem = f"{count - MOST_TOLD:,} more batches have times that are none"
        yield LogDamage(0, None, DamageKind.IMPOSSIBLE_TIME, problem)


def clamp_times(times: Int64s, last_ms: int) -> int:
    """Do the same in place for the times of records in a row; return the last of them.

    `last_ms` is the time of the record before them.
    """
    if not len(times):
        return last_ms
    is_possible = (times >= 0) & (times <= LATEST_MS)
    if not is_possible.all():
        before = np.maximum.accumulate(np.where(is_possible, np.arange(len(times)), -1))
        times[:] = np.where(before < 0, last_ms, times[before])
    return int(times[-1])


def _times(item: _Placed) -> tuple[int, ...]:
    end_ms = item.end_ms if isinstance(item, PassedBatch) else None
    return (item.timestamp_ms,) if end_ms is None else (item.timestamp_ms, end_ms)


def _clamped(item: _Placed, last: int) -> _Placed:
    begin = item.timestamp_ms if is_time(item.timestamp_ms) else last
    if isinstance(item, PassedBatch) and item.end_ms is not None:
        return replace(
            item, timestamp_ms=begin, end_ms=item.end_ms if is_time(item.end_ms) else begin
        )
    return replace(item, timestamp_ms=begin)


def _damage(item: _Placed, wrong: int, last: int) -> LogDamage:
    at = f"the time of the record before it, {last} ms, counts instead" if last else "it has none"
    problem = f"the record at offset {item.offset} is dated {wrong} ms, which is no time; {at}"
    position = item.position if isinstance(item, LogRecord) else 0
    return LogDamage(
        position, item.offset, DamageKind.IMPOSSIBLE_TIME, problem, expected=item.offset
    )
