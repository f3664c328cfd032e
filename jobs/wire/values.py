"""Kafka's timestamps as times, and its ids as text; clients may have written any value.

Uuids are url-safe base64 without padding, 22 characters (`Uuid.toString`).
"""

from __future__ import annotations

import base64
import binascii
from datetime import UTC, datetime
from uuid import UUID

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


UUID_BYTES = 16


def uuid_text(content: bytes) -> str:
    """Return 16 bytes as text."""
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode("ascii")


def uuid_bytes(text: str) -> bytes:
    """Return the 16 bytes of a text; raises ValueError."""
    try:
        content = base64.b64decode(f"{text}==", altchars=b"-_", validate=True)
    except binascii.Error:
        content = b""
    if len(content) != UUID_BYTES:
        raise ValueError(f"{text!r} is no uuid as Kafka writes them")
    return content


def id_text(value: UUID | None) -> str | None:
    """Return the text of an id; None for none, which Kafka also writes as zeros."""
    return uuid_text(value.bytes) if value is not None and value.int else None
