"""The unfinished end of a log, told on standard error: normal after a kill, and no finding."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

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
    sys.stderr.write(f"{path}: {UNFINISHED} before offset {tail.expected}: {tail.sentence}\n")
