"""State of the cluster at an offset or at a time: the log folded up to there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import chain

from jobs.quorum.history.changes import Anomaly
from jobs.quorum.history.histories import LogItem, apply_item
from jobs.quorum.image.image import MetadataImage
from jobs.quorum.log.folder import LogFolder
from jobs.quorum.log.folder_snapshots import SnapshotFile
from jobs.wire.batches.log_batches import LogDamage
from jobs.wire.metadata.log import Gap, LogRecord, PassedBatch

# At most so many anomalies are listed with a state; the rest is counted.
MOST_ANOMALIES = 100
# By so much the clocks of two controllers are taken to disagree at most.
CLOCK_MARGIN_MS = 10 * 60 * 1000


@dataclass(frozen=True, slots=True)
class LogPosition:
    """Up to where: the last offset (inclusive), or a time in ms.

    Clocks of different controllers disagree: the state at a time is that before the first record that is
    later, by any controller's clock. Both None: all there is.
    """

    offset: int | None = None
    timestamp_ms: int | None = None

    def includes(self, record: LogRecord | PassedBatch) -> bool:
        """Whether a record belongs to what was there at this moment."""
        if self.offset is not None:
            return record.offset <= self.offset
        return self.timestamp_ms is None or record.timestamp_ms <= self.timestamp_ms


@dataclass(frozen=True, slots=True)
class StateAt:
    """The state at a moment.

    `is_before_log` says that the moment lies before the first record that is known: then there is no state.
    `anomalies` are the first ones met on the way, `anomaly_count` is how many there were. `tail` is the
    unfinished end of the log, None where there is none before the moment.
    """

    image: MetadataImage
    is_before_log: bool
    anomalies: tuple[Anomaly, ...]
    anomaly_count: int
    tail: LogDamage | None = None


def state_at(items: Iterable[LogItem], moment: LogPosition) -> StateAt:
    """Fold a log up to a moment; a snapshot counts only as a whole."""
    image = MetadataImage()
    anomalies: list[Anomaly] = []
    count = 0
    is_before = True
    tail: LogDamage | None = None
    for item in up_to(items, moment):
        if isinstance(item, LogDamage) and item.is_tail:
            tail = item
        else:
            is_before = False
        for change in apply_item(image, item):
            if isinstance(change, Anomaly):
                count += 1
                anomalies += [change][: MOST_ANOMALIES - len(anomalies)]
    return StateAt(image, is_before, tuple(anomalies), count, tail)


def up_to(items: Iterable[LogItem], moment: LogPosition) -> Iterator[LogItem]:
    """Yield the log up to a moment; records after the first later one are not read.

    A gap counts as far as it reaches to the moment: where records are missing, the state is not known.
    """
    for item in items:
        if isinstance(item, LogRecord):
            if not moment.includes(item):
                return
            yield item
        elif isinstance(item, Gap) and moment.offset is not None:
            end = min(item.to_offset, moment.offset + 1)
            if end > item.from_offset:
                yield replace(item, to_offset=end)
        else:
            yield item


def state_of_folder(folder: LogFolder, moment: LogPosition) -> StateAt:
    """Return the state at a moment out of a folder."""
    return state_at(items_until(folder, moment), moment)


def items_until(folder: LogFolder, moment: LogPosition) -> Iterator[LogItem]:
    """Yield the records that lead to a moment: the nearest snapshot before it, and the log from there on."""
    for snapshot in reversed(folder.snapshots):
        if _is_before(snapshot, moment) and _is_whole(snapshot):
            tail = folder.records(snapshot.offset)
            return up_to(chain(snapshot.records(), tail), moment)
    return up_to(folder.records(), moment)


def _is_before(snapshot: SnapshotFile, moment: LogPosition) -> bool:
    if moment.offset is not None:
        return snapshot.offset <= moment.offset + 1
    if moment.timestamp_ms is None:
        return True
    first = next(snapshot.records(), None)
    # Clocks disagree: from a snapshot just before the time, a record before it might have been later.
    latest_ms = moment.timestamp_ms - CLOCK_MARGIN_MS
    return isinstance(first, LogRecord) and first.timestamp_ms <= latest_ms


def _is_whole(snapshot: SnapshotFile) -> bool:
    return all(isinstance(one, LogRecord) for one in snapshot.records())
