"""When something changed, as far as the log says: the fields that every change begins with."""

from __future__ import annotations

from typing import TypedDict

from jobs.wire.metadata.log import LogRecord, PassedBatch


class ChangePosition(TypedDict):
    """The fields of `Change` without the cause; see there."""

    offset: int
    epoch: int
    timestamp_ms: int | None
    batch_offset: int | None
    since_offset: int | None
    not_after_ms: int | None
    applied_offset: int | None


def position_of(
    record: LogRecord | PassedBatch, applied_offset: int | None = None
) -> ChangePosition:
    """Return the stamp of a record of a log segment."""
    return ChangePosition(
        offset=record.offset,
        epoch=record.epoch,
        timestamp_ms=record.timestamp_ms,
        batch_offset=record.batch_offset,
        since_offset=None,
        not_after_ms=None,
        applied_offset=applied_offset,
    )


def undated(
    offset: int, epoch: int, since_offset: int | None, not_after_ms: int | None = None
) -> ChangePosition:
    """Return the stamp of what is only known to be so at an offset, and not since when."""
    return ChangePosition(
        offset=offset,
        epoch=epoch,
        timestamp_ms=None,
        batch_offset=None,
        since_offset=since_offset,
        not_after_ms=not_after_ms,
        applied_offset=None,
    )
