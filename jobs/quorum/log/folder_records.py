"""One history out of segments and snapshots: what is missing is told as a gap, never bridged silently."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from jobs.quorum.log.file_source import FileSource
from jobs.quorum.log.folder_snapshots import SegmentFile, SnapshotFile
from jobs.wire.batches.log_batches import BatchAt, DamageKind, scan_batches
from jobs.wire.metadata.log import Gap, LogDamage, LogRecord, batch_records

LogItem = LogRecord | LogDamage | Gap


class FolderRecords:
    """Reads a folder's history once, from start to end; see `LogFolder.records`."""

    def __init__(self, segments: Sequence[SegmentFile], snapshots: Sequence[SnapshotFile]) -> None:
        self._segments = segments
        self._snapshots = snapshots
        self._unread = {snapshot.offset: snapshot for snapshot in snapshots}
        self._next_offset = 0
        # Whether all that is true at the next offset was told; a gap ends it, a snapshot makes it so again.
        self._is_whole = True

    def read(self, from_offset: int | None) -> Iterator[LogItem]:
        """Yield the history."""
        if from_offset is None:
            yield from self._beginning()
        else:
            self._next_offset = from_offset
        for index, segment in enumerate(self._segments):
            is_last = index + 1 == len(self._segments)
            if is_last or self._segments[index + 1].base_offset > self._next_offset:
                yield from self._segment(segment, is_last=is_last)
        yield from self._snapshots_behind()

    def _beginning(self) -> Iterator[LogItem]:
        first = self._segments[0].base_offset if self._segments else None
        if first == 0:
            for snapshot in self._snapshots:
                if snapshot.offset == 0:
                    yield from self._snapshot(snapshot)
            return
        for snapshot in self._snapshots:
            yield from self._snapshot(snapshot)
            if self._next_offset == snapshot.offset:
                return
        self._is_whole = False

    def _snapshot(self, snapshot: SnapshotFile) -> Iterator[LogItem]:
        """Yield a snapshot, but only once; it counts when nothing of it was damaged."""
        is_whole = self._unread.pop(snapshot.offset, None) is not None
        if not is_whole:
            return
        for found in self._records_of(snapshot):
            is_whole = is_whole and isinstance(found, LogRecord)
            yield found
        if is_whole:
            self._next_offset, self._is_whole = snapshot.offset, True

    def _records_of(self, snapshot: SnapshotFile) -> Iterator[LogItem]:
        return snapshot.records()

    def _segment(self, segment: SegmentFile, *, is_last: bool) -> Iterator[LogItem]:
        try:
            with FileSource(segment.path) as source:
                for found in scan_batches(source, expected_offset=segment.base_offset):
                    if isinstance(found, BatchAt):
                        yield from self._batch(found, segment)
                    elif not (is_last and found.kind is DamageKind.TRUNCATED_TAIL):
                        yield replace(found, file=segment.path.name)
        except OSError as error:
            text = f"the segment cannot be read: {error.strerror}"
            yield LogDamage(
                0, segment.base_offset, DamageKind.UNREADABLE_FILE, text, segment.path.name
            )

    def _batch(self, batch: BatchAt, segment: SegmentFile) -> Iterator[LogItem]:
        if batch.header.last_offset < self._next_offset:
            return
        for found in batch_records(batch):
            if isinstance(found, LogDamage):
                yield replace(found, file=segment.path.name)
            elif found.offset >= self._next_offset:
                yield from self._up_to(found.offset)
                yield found
                self._next_offset = found.offset + 1

    def _up_to(self, offset: int) -> Iterator[LogItem]:
        """Tell of everything between the last record and this offset."""
        if not self._is_whole and self._next_offset in self._unread:
            yield from self._snapshot(self._unread[self._next_offset])
        if offset == self._next_offset:
            return
        for snapshot in self._snapshots:
            if self._next_offset < snapshot.offset <= offset:
                yield from self._gap(snapshot.offset)
                yield from self._snapshot(snapshot)
        yield from self._gap(offset)

    def _gap(self, to_offset: int) -> Iterator[LogItem]:
        if to_offset > self._next_offset:
            yield Gap(self._next_offset, to_offset)
            self._next_offset, self._is_whole = to_offset, False

    def _snapshots_behind(self) -> Iterator[LogItem]:
        """Yield what snapshots know of offsets that no segment here has."""
        for snapshot in self._snapshots:
            if snapshot.offset > self._next_offset:
                yield from self._gap(snapshot.offset)
                yield from self._snapshot(snapshot)
