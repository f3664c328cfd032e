"""The large files of a metadata log's folder, and a snapshot as part of a history."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from jobs.quorum.log.file_source import FileSource
from jobs.wire.batches.log_batches import DamageKind
from jobs.wire.metadata.log import LogDamage, LogRecord, read_source
from jobs.wire.metadata.snapshots import check_snapshot


@dataclass(frozen=True, slots=True)
class SegmentFile:
    """A segment, and the offset of its first record."""

    path: Path
    base_offset: int


@dataclass(frozen=True, slots=True)
class SnapshotFile:
    """A snapshot: it holds all before `offset`, the last of it from `epoch`."""

    path: Path
    offset: int
    epoch: int

    def records(self) -> Iterator[LogRecord | LogDamage]:
        """Yield its records as they count in a history, or one damage if it is not whole.

        Every record has the offset before the snapshot's own (-1 in that of a fresh quorum), the snapshot's
        epoch, and as time that of the last record it stands for: the state is known, not when it came to be.
        """
        try:
            with FileSource(self.path) as source:
                checked = check_snapshot(source)
                if checked.problem is None:
                    yield from self._placed(source, checked.last_contained_log_timestamp_ms or 0)
                else:
                    yield self._damage(DamageKind.UNUSABLE_SNAPSHOT, checked.problem)
        except OSError as error:
            yield self._damage(DamageKind.UNREADABLE_FILE, f"it cannot be read: {error.strerror}")

    def _placed(self, source: FileSource, timestamp_ms: int) -> Iterator[LogRecord | LogDamage]:
        for found in read_source(source, expected_offset=0):
            if isinstance(found, LogRecord):
                yield replace(
                    found, offset=self.offset - 1, epoch=self.epoch, timestamp_ms=timestamp_ms
                )
            else:
                yield replace(found, file=self.path.name)

    def _damage(self, kind: DamageKind, problem: str) -> LogDamage:
        return LogDamage(0, None, kind, f"the snapshot is not used: {problem}", self.path.name)
