"""One history out of segments and snapshots: missing records are a gap, never bridged silently."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

from jobs.quorum.log.file_source import FileSource
from jobs.quorum.log.folder_snapshots import SegmentFile, SnapshotFile
from jobs.quorum.log.possible_times import with_possible_times
from jobs.wire.batches.log_batches import BatchAt, DamageKind, LogDamage, scan_batches
from jobs.wire.metadata.log import Gap, LogRecord, batch_records

LogItem = LogRecord | LogDamage | Gap


class FolderRecords:
    """Reads a folder's history once, from start to end; see `LogFolder.records`.

    `noted` is what was damaged where the files come from, in the order of the offsets expected there.
    """

    def __init__(
        self,
        segments: Sequence[SegmentFile],
        snapshots: Sequence[SnapshotFile],
        noted: Sequence[LogDamage] = (),
    ) -> None:
        self._segments = segments
        self._snapshots = snapshots
        self._unread = {snapshot.offset: snapshot for snapshot in snapshots}
        self._noted = deque(noted)
        self._next_offset = 0
        # The first offset of the history; before it is what a snapshot holds.
        self._begin = 0
        # Whether the state at the next offset is complete; a gap ends it, a snapshot restores it.
        self._is_whole = True

    def read(self, from_offset: int | None) -> Iterator[LogItem]:
        """Yield the history."""
        return with_possible_times(self._read_all(from_offset))  # type: ignore[return-value]  # of these

    def _read_all(self, from_offset: int | None) -> Iterator[LogItem]:
        if from_offset is None:
            yield from self._beginning()
        else:
            self._next_offset = from_offset
        self._begin = self._next_offset
        for segment, follower in pairwise([*self._segments, None]):
            after = None if follower is None else follower.base_offset
            if segment is not None and (after is None or after > self._next_offset):
                self._passes(segment.base_offset - 1)
                yield from self._segment(segment, after)
        end = self._segments[-1].base_offset if self._segments and from_offset is None else 0
        if end > self._next_offset:
            # An empty segment says by its name how far the log reached.
            yield from self._up_to(end)
        yield from self._snapshots_behind()
        yield from self._noted

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

    def _segment(self, segment: SegmentFile, follower: int | None) -> Iterator[LogItem]:
        """Yield a segment; `follower` is the base offset of the one behind it, None for the last.

        Damage before the first offset of the history is left out.
        """
        held: list[LogDamage] = []
        try:
            with FileSource(segment.path) as source:
                for found in scan_batches(source, expected_offset=segment.base_offset):
                    if not isinstance(found, BatchAt):
                        held.append(self._damaged(found, segment, follower))
                        continue
                    if not self._passes(found.header.base_offset):
                        yield from held
                    held.clear()
                    if found.header.last_offset >= self._next_offset:
                        yield from self._batch(found, segment)
        except OSError as error:
            held.append(unreadable(segment, error))
        yield from held

    def _passes(self, offset: int) -> bool:
        """Pass by an offset that lies before the history, and what was noted up to it; False: it does not."""
        if offset >= self._begin:
            return False
        while self._noted and (self._noted[0].expected or 0) <= offset:
            self._noted.popleft()
        return True

    def _damaged(self, found: LogDamage, segment: SegmentFile, follower: int | None) -> LogDamage:
        """Place damage in the history: an unfinished end is damage where the next segment begins later."""
        found = replace(found, file=segment.path.name, expected=self._next_offset)
        if found.is_tail and follower is not None and follower > self._next_offset:
            return replace(found, kind=DamageKind.CUT_OFF)
        return found

    def _batch(self, batch: BatchAt, segment: SegmentFile) -> Iterator[LogItem]:
        for found in batch_records(batch):
            if isinstance(found, LogDamage):
                yield self._damaged(found, segment, None)
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
            while self._noted and (self._noted[0].expected or 0) < to_offset:
                yield self._noted.popleft()
            yield Gap(self._next_offset, to_offset)
            self._next_offset, self._is_whole = to_offset, False

    def _snapshots_behind(self) -> Iterator[LogItem]:
        """Yield what snapshots know of offsets that no segment here has."""
        for snapshot in self._snapshots:
            if snapshot.offset > self._next_offset:
                yield from self._gap(snapshot.offset)
                yield from self._snapshot(snapshot)


def unreadable(segment: SegmentFile, error: OSError) -> LogDamage:
    """Return the damage of a segment that the system does not give."""
    text = f"the segment cannot be read: {error.strerror}"
    kind, base = DamageKind.UNREADABLE_FILE, segment.base_offset
    return LogDamage(0, base, kind, text, segment.path.name, base)
