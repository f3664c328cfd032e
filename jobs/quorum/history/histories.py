"""Histories out of the metadata log: every change with its cause, of all or of one partition or broker.

All are generators: what they keep is the cluster as it is at the moment (`MetadataImage`) and the changes of
the batch that is being read.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from jobs.quorum.history.broker_causes import attribute
from jobs.quorum.history.changes import (
    AnyChange,
    BrokerChange,
)
from jobs.quorum.image.image import LARGEST_BATCH_RECORDS, MetadataImage
from jobs.wire.batches.log_batches import LogDamage
from jobs.wire.metadata.log import Gap, LogRecord, PassedBatch

LogItem = LogRecord | PassedBatch | LogDamage | Gap

# An event may fill several batches (a broker with tens of thousands of partitions): so many changes are
# held back at most, until the record that names the broker is read.
MOST_HELD_BACK = 200_000


def read_changes(
    items: Iterable[LogItem], image: MetadataImage | None = None
) -> Iterator[AnyChange]:
    """Yield every change of a log in its order, each with its cause.

    `image` is the state to begin with; it is changed along the way and is ahead of the changes by at most
    the batch that is being read. A snapshot at the beginning yields changes with the cause `snapshot`.
    """
    image = MetadataImage() if image is None else image
    batch = _Batch(image)
    for item in items:
        if isinstance(item, LogRecord):
            yield from batch.before(item)
            batch.add(item)
        else:
            yield from batch.told()
            yield from apply_item(image, item)
    yield from batch.told()


def apply_item(image: MetadataImage, item: LogItem) -> list[AnyChange]:
    """Apply whatever a reader of the log yields; causes as single records show them."""
    if isinstance(item, LogRecord):
        return image.apply(item)
    if isinstance(item, Gap):
        return image.skip(item.to_offset)
    if isinstance(item, PassedBatch):
        return image.pass_by(item)
    return image.damaged(item)


class _Batch:
    """The changes of the batch that is being read: neighbours tell the cause."""

    def __init__(self, image: MetadataImage) -> None:
        self._image = image
        self._changes: list[AnyChange] = []
        self._leaving = self._in_shutdown()
        self._offset: int | None = None
        self._count = 0

    def before(self, record: LogRecord) -> list[AnyChange]:
        """Return the changes that are settled before this record is applied."""
        is_same = record.batch_offset == self._offset and not record.is_control
        if is_same or (self._count >= LARGEST_BATCH_RECORDS and self._has_room):
            return []
        return self.told()

    @property
    def _has_room(self) -> bool:
        return len(self._changes) < MOST_HELD_BACK

    def add(self, record: LogRecord) -> None:
        if record.batch_offset != self._offset:
            self._offset, self._count = record.batch_offset, 0
        self._count += 1
        self._changes += self._image.apply(record)

    def told(self) -> list[AnyChange]:
        """Return what the batch changed, with its causes, and begin the next one."""
        found = attribute(self._changes, self._leaving)
        self._changes, self._offset, self._count = [], None, 0
        if any(isinstance(one, BrokerChange) for one in found):
            self._leaving = self._in_shutdown()
        return found

    def _in_shutdown(self) -> frozenset[int]:
        brokers = self._image.brokers.values()
        return frozenset(one.broker_id for one in brokers if one.in_controlled_shutdown)
