"""What commands that read a metadata log share: its unfinished end."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from jobs.commands import command
from jobs.quorum.history.histories import LogItem
from jobs.quorum.timeline.anomalies import UNFINISHED
from jobs.wire.batches.log_batches import LogDamage


def telling_tails(path: Path, items: Iterator[LogItem]) -> Iterator[LogItem]:
    """Yield the items of a log, and tell of an unfinished end among them."""
    for item in items:
        if isinstance(item, LogDamage) and item.is_tail:
            write_tail(path, item)
        yield item


def write_tail(path: Path, tail: LogDamage) -> None:
    """Tell of an unfinished end of the log in a folder."""
    command.say(f"{path}: {UNFINISHED} before offset {tail.expected}: {tail.sentence}")
