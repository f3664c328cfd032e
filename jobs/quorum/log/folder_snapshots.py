"""The large files of a metadata log's folder, and a snapshot as part of a history."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from jobs.quorum.log.file_source import FileSource
from jobs.wire.batches.log_batches import DamageKind, LogDamage
from jobs.wire.metadata.log import LogRecord, read_source
from jobs.wire.metadata.snapshots import check_snapshot


class SegmentFile(NamedTuple):
    """A segment, the offset of its first record, and how large it was when the folder was listed."""

    path: Path
    base_offset: int
    size_bytes: int


@dataclass(frozen=True, slots=True)
class SnapshotFile:
    """A snapshot: it holds all before `offset`, the last of it from `epoch`."""

    path: Path
    offset: int
    epoch: int

    def records(self) -> Iterator[LogRecord | LogDamage]:
        """Yield its records as they count in a history, or one damage if it is not whole.

        Every record has the offset before the snapshot's own (-1 in that of a fresh quorum), the snapshot's
        epoch, and the time of the last record it contains: the state is known, not the times of its changes.
        """
        try:
            with FileSource(self.path) as source:
                checked = check_snapshot(source)
                if checked.problem is None:
                    yield from self._placed(source, checked.contained_ms)
                else:
                    yield self.unusable(checked.problem)
        except OSError as error:
            yield self.unreadable(error)

    def unusable(self, problem: str) -> LogDamage:
        """Return the damage of one that is not whole."""
        return self._damage(DamageKind.UNUSABLE_SNAPSHOT, problem)

    def unreadable(self, error: OSError) -> LogDamage:
        """Return the damage of one that the system does not give."""
        return self._damage(DamageKind.UNREADABLE_FILE, f"it cannot be read: {error.strerror}")

    def _placed(self, source: FileSource, timestamp_ms: int) -> Iterator[LogRecord | LogDamage]:
        for found in read_source(source, expected_offset=0):
            if isinstance(found, LogRecord):
                yield replace(
                    found, offset=self.offset - 1, epoch=self.epoch, timestamp_ms=timestamp_ms
                )
            else:
                yield replace(found, file=self.path.name)

    def _damage(self, kind: DamageKind, problem: str) -> LogDamage:
        problem = f"the snapshot is not used: {problem}"
        return LogDamage(0, None, kind, problem, self.path.name, self.offset)
