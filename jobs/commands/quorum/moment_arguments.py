"""Moments of a metadata log as they stand on a command line: an offset, or a time in ISO 8601."""

from __future__ import annotations

import argparse
from datetime import UTC, datetime

from jobs.quorum.image.point_in_time import LogPosition


def parse_offset(text: str) -> LogPosition:
    """Return the moment of an offset; raises argparse.ArgumentTypeError."""
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is no offset: it is 0 or more")
    return LogPosition(offset=int(text))


def parse_time(text: str) -> LogPosition:
    """Return the moment of a time; without a zone it is UTC. Raises argparse.ArgumentTypeError."""
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        example = "2026-11-22T03:04:05Z"
        raise argparse.ArgumentTypeError(f"{text!r} is no ISO 8601 time like {example}") from None
    at = at if at.tzinfo is not None else at.replace(tzinfo=UTC)
    return LogPosition(timestamp_ms=round(at.timestamp() * 1000))


def parse_moment(text: str) -> LogPosition:
    """Return the moment of an offset or a time; raises argparse.ArgumentTypeError."""
    return parse_offset(text) if text.isdecimal() else parse_time(text)
