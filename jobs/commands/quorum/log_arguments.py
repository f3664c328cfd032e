"""What commands that read a metadata log share: moments on a command line, and its unfinished end."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from jobs.commands import command
from jobs.quorum.history.histories import LogItem
from jobs.quorum.image.point_in_time import LogPosition
from jobs.quorum.timeline.anomalies import UNFINISHED
from jobs.wire.batches.log_batches import LogDamage


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


def telling_tails(path: Path, items: Iterator[LogItem]) -> Iterator[LogItem]:
    """Yield the items of a log, and tell of an unfinished end among them."""
    for item in items:
        if isinstance(item, LogDamage) and item.is_tail:
            write_tail(path, item)
        yield item


def write_tail(path: Path, tail: LogDamage) -> None:
    """Tell of an unfinished end of the log in a folder."""
    command.say(f"{path}: {UNFINISHED} before offset {tail.expected}: {tail.sentence}")
