"""Kafka's timestamps as times; whoever wrote them may have written anything."""

from __future__ import annotations

from datetime import UTC, datetime

# The last millisecond of the calendar, in the year 9999.
LATEST_MS = 253_402_300_799_999


def is_time(timestamp_ms: int) -> bool:
    """Whether ms since 1970 are a time of the calendar."""
    return 0 <= timestamp_ms <= LATEST_MS


def utc_time(timestamp_ms: int | None) -> datetime | None:
    """Return ms since 1970 as a time; None for none, and for what is beyond the calendar."""
    if timestamp_ms is None:
        return None
    try:
        return datetime.fromtimestamp(timestamp_ms / 1000, UTC)
    except (ValueError, OverflowError, OSError):
        return None
