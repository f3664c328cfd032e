"""Replication lag: the rules, without any I/O.

Replication lag
    R1  Records: end offset minus position, never below zero.
    R2  A position below the log start counts from the log start: what retention deleted is not waiting.
    R3  Where nothing but transaction markers is left (`data_end` at or below the position), lag is 0.
    R4  Unknown position or end: unknown lag, not zero.
    R5  Time: timestamp of the newest source record minus timestamp of the last replicated record. It
        does not grow while nothing flows and is right for back-fills, which `now - timestamp` is not.
    R6  Lag of 0 records is 0 ms. Time is never negative. A missing timestamp makes it unknown.

Group lag
    G1  No commit is no number: `no_commit`.
    G2  Records: end offset minus committed offset, where committed was read BEFORE the end.
    G3  Committed above the high watermark (log truncated, topic re-created): 0, marked `ahead_of_end`.
        Between the last stable offset and the high watermark is a group of read_uncommitted: 0, and fine.
    G4  Committed below the log start: records from the log start on, marked `behind_log_start`.
    G5  Only transaction markers left: 0.
    G6  Unknown end: `unknown`, no number.
    G7  The end is the last stable offset. The lag to the high watermark is that of kafka-consumer-groups.sh:
        with what open transactions hold, aborted records and transaction markers.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


@dataclass(frozen=True, slots=True)
class Lag:
    """Replication lag; None where it is unknown."""

    records: int | None
    ms: int | None


class LagStatus(StrEnum):
    """How far a group's lag can be believed."""

    OK = "ok"
    NO_COMMIT = "no_commit"
    BEHIND_LOG_START = "behind_log_start"
    AHEAD_OF_END = "ahead_of_end"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class GroupLag:
    """Lag of a group on one partition; `records` is None when there is no number.

    `to_high_watermark` is as kafka-consumer-groups.sh counts.
    """

    records: int | None
    status: LagStatus
    to_high_watermark: int | None = None


def replication_lag(
    *,
    position: int | None,
    log_start_offset: int | None,
    end_offset: int | None,
    last_timestamp_ms: int | None = None,
    head_timestamp_ms: int | None = None,
    data_end: int | None = None,
) -> Lag:
    """Return the lag of a partition whose next offset to copy is `position` (rules R1 to R6).

    `end_offset` is the source's last stable offset; `last_timestamp_ms` belongs to the last copied
    record, `head_timestamp_ms` to the newest record of the source (read from the record: the largest
    timestamp that ListOffsets tells may be a transaction marker's).
    """
    if position is None or end_offset is None:
        return Lag(None, None)
    records = _waiting(position, log_start_offset, end_offset, data_end)
    if records == 0:
        return Lag(0, 0)
    if last_timestamp_ms is None or head_timestamp_ms is None:
        return Lag(records, None)
    return Lag(records, max(head_timestamp_ms - last_timestamp_ms, 0))


def group_lag(
    *,
    committed: int | None,
    log_start_offset: int | None,
    end_offset: int | None,
    data_end: int | None = None,
    high_watermark: int | None = None,
) -> GroupLag:
    """Return the lag of a group on a partition (rules G1 to G7)."""
    if committed is None:
        return GroupLag(None, LagStatus.NO_COMMIT)
    if end_offset is None:
        return GroupLag(None, LagStatus.UNKNOWN)
    high = None if high_watermark is None else max(high_watermark, end_offset)
    if committed > (end_offset if high is None else high):
        return GroupLag(0, LagStatus.AHEAD_OF_END, None if high is None else 0)
    records = _waiting(committed, log_start_offset, end_offset, data_end)
    to_high = None if high is None else _waiting(committed, log_start_offset, high, None)
    if log_start_offset is not None and committed < log_start_offset:
        return GroupLag(records, LagStatus.BEHIND_LOG_START, to_high)
    return GroupLag(records, LagStatus.OK, to_high)


def _waiting(position: int, log_start: int | None, end: int, data_end: int | None) -> int:
    first = position if log_start is None else max(position, log_start)
    last = end if data_end is None else min(end, data_end)
    return max(last - first, 0)
