"""The control records of a log folder, with data batches passed by: all that a voter timeline needs.

Of a data batch only the header is read (its CRC is checked), so that years of an idle log take seconds.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from jobs.quorum.log.file_source import FileSource
from jobs.quorum.log.folder import LogFolder
from jobs.quorum.log.folder_records import FolderRecords
from jobs.quorum.log.folder_snapshots import SegmentFile, SnapshotFile
from jobs.quorum.timeline.clock import NO_OP
from jobs.wire.batches.log_batches import BatchAt, LogDamage, scan_batches
from jobs.wire.metadata.log import Gap, LogRecord, PassedBatch, batch_records
from jobs.wire.metadata.snapshots import check_snapshot

# The end of a NoOpRecord: the length of its value, frame 1, apiKey 20, version 0, no tags; no headers.
_NO_OP_END = bytes((8, 1, 20, 0, 0, 0))
DATA = "DATA"


ControlItem = LogRecord | PassedBatch | LogDamage | Gap


def control_items(folder: LogFolder) -> Iterator[ControlItem]:
    """Yield a folder's history as `LogFolder.records` does, but data batches as one item each."""
    return _ControlScan(folder.segments, folder.snapshots, folder.noted).read(None)


def items_of_all_segments(folder: LogFolder) -> Iterator[ControlItem]:
    """Yield the same from the first segment on, also what lies before the first snapshot.

    The voters of a static quorum are in no snapshot, only in the elections before it.
    """
    return _ControlScan(folder.segments, folder.snapshots, folder.noted).all_items()


def items_before(folder: LogFolder, offset: int | None = None) -> Iterator[ControlItem]:
    """Yield of `items_of_all_segments` what lies before an offset; None: before the begin of `records`."""
    begin = _beginning(folder) if offset is None else offset
    for item in items_of_all_segments(folder):
        if isinstance(item, LogRecord | PassedBatch) and _place(item) >= begin:
            return
        yield item


def _beginning(folder: LogFolder) -> int:
    """Return the first offset that `LogFolder.records` yields, or that behind its first snapshot."""
    first = next((one for one in folder.records() if isinstance(one, LogRecord)), None)
    return 0 if first is None else _place(first)


def _place(item: LogRecord | PassedBatch) -> int:
    """Return the offset of an item; of a snapshot the one behind it, at which the log continues."""
    is_header = isinstance(item, LogRecord) and item.is_control and item.type == "SNAPSHOT_HEADER"
    return item.offset + is_header


class _ControlScan(FolderRecords):
    """Reads a folder's history once, and decodes control batches only."""

    def all_items(self) -> Iterator[ControlItem]:
        """Yield the history from the first segment on; snapshots where the log reaches them."""
        first = self._segments[0].base_offset if self._segments else 0
        if first == 0:
            return self.read(None)
        self._is_whole = False
        return self.read(first)

    def _batch(self, batch: BatchAt, segment: SegmentFile) -> Iterator[LogRecord | LogDamage | Gap]:
        header = batch.header
        if header.is_control:
            yield from super()._batch(batch, segment)
        else:
            start = max(header.base_offset, self._next_offset)
            yield from self._up_to(start)
            yield _passed(batch, start)  # type: ignore[misc]  # a PassedBatch, too
            self._next_offset = header.last_offset + 1

    def _snapshot(self, snapshot: SnapshotFile) -> Iterator[LogRecord | LogDamage | Gap]:
        """Yield the control records of a snapshot, once; one that is not whole does not count."""
        if self._unread.pop(snapshot.offset, None) is None:
            return
        try:
            with FileSource(snapshot.path) as source:
                checked = check_snapshot(source)
                if checked.problem is None:
                    yield from _controls(snapshot, source, checked.contained_ms)
                    self._next_offset, self._is_whole = snapshot.offset, True
                    return
        except OSError as error:
            yield snapshot.unreadable(error)
            return
        yield snapshot.unusable(checked.problem)


def _controls(
    snapshot: SnapshotFile, source: FileSource, at_ms: int
) -> Iterator[LogRecord | LogDamage]:
    for batch in scan_batches(source, expected_offset=0):
        if isinstance(batch, BatchAt) and batch.header.is_control:
            for found in batch_records(batch):
                if isinstance(found, LogRecord):
                    yield replace(
                        found, offset=snapshot.offset - 1, epoch=snapshot.epoch, timestamp_ms=at_ms
                    )


def _passed(batch: BatchAt, start: int) -> PassedBatch:
    header = batch.header
    is_noop = header.record_count == 1 and bytes(batch.content[-len(_NO_OP_END) :]) == _NO_OP_END
    return PassedBatch(
        offset=start,
        end_offset=header.last_offset + 1,
        epoch=header.partition_leader_epoch,
        timestamp_ms=header.max_timestamp,
        batch_offset=header.base_offset,
        type=NO_OP if is_noop else DATA,
    )
