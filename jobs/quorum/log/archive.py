"""The single writer of an archive of a metadata log; readers need no lock.

The folder looks like a node's `__cluster_metadata-0`: segments with exactly the bytes of the log, snapshots
beside them, and a manifest. A crash loses nothing that was written: what the manifest does not name yet is
checked and taken in when the archive is opened again, and a batch that was not finished is cut off.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from io import FileIO
from pathlib import Path
from types import TracebackType
from typing import IO, NamedTuple
from uuid import uuid4

from jobs.archives import MANIFEST, BadArchive, lock_archive
from jobs.files import sync_folder
from jobs.quorum.log.archive_manifest import (
    DroppedTail,
    Manifest,
    MissingRange,
    Segment,
    Snapshot,
    read_manifest,
    segment_name,
    snapshot_name,
)
from jobs.quorum.log.batches import (
    Batch,
    LogBroken,
    Run,
    check_snapshot,
    checked_batches,
    mapped,
    whole_batches,
)

SEGMENT_BYTES = 64 << 20
_PART = ".part"
# Folders for uploads on their way in; what a crash left of them is removed.
UNPACKED = "unpacked-"


class CommittedCut(ValueError):
    """What is committed would have to be cut off: never done, because it means that a cluster lost it."""


class Appended(NamedTuple):
    """What was appended: `batches`, their bytes, and whether uncommitted ones were held back."""

    batches: int
    size_bytes: int
    is_held_back: bool


@dataclass(slots=True)
class LogArchive:
    """The one writer of an archive; a context manager. Raises `ArchiveBusy` and `BadArchive` when opened.

    `manifest` is always true of what was written; `save` makes both lasting.
    """

    folder: Path
    segment_bytes: int = SEGMENT_BYTES
    manifest: Manifest = field(default_factory=Manifest)
    _lock: IO[bytes] | None = None
    _file: FileIO | None = None

    def __enter__(self) -> LogArchive:
        self._lock = lock_archive(self.folder)
        try:
            self.manifest = read_manifest(self.folder) or self._begun()
            self._recover()
        except BaseException:
            self._lock.close()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            self.save()
        finally:
            self._close_file()
            if self._lock is not None:
                self._lock.close()

    def append(self, records: bytes | memoryview, *, high_watermark: int | None) -> Appended:
        """Append the committed batches that the archive does not have yet.

        Batches from `high_watermark` on are held back; None: it is unknown, and all are taken.
        Raises `LogBroken` when a batch is damaged or does not follow what is there; those before it are kept.
        """
        view, end, before = memoryview(records), 0, self.manifest.size_bytes
        run: Run | None = None
        count, is_held_back = 0, False
        try:
            for batch in checked_batches(view):
                end += len(batch.content)
                is_held_back = high_watermark is not None and batch.end_offset > high_watermark
                if is_held_back:
                    break
                if self._has(batch, run):
                    continue
                self._check_next(batch, run)
                count += 1
                if run is not None and self._has_room(run, batch):
                    run.add(batch, end)
                    continue
                self._put(run, view)
                run = Run.of(batch, end)
        finally:
            self._put(run, view)
        return Appended(count, self.manifest.size_bytes - before, is_held_back)

    def add_snapshot(self, end_offset: int, epoch: int, source: Iterable[bytes]) -> None:
        """Put a snapshot beside the segments; the log continues there when it is ahead of them.

        Raises `LogBroken` when the bytes are no whole snapshot; what `source` raises leaves nothing behind.
        """
        path = self.folder / snapshot_name(end_offset, epoch)
        partial = path.with_name(path.name + _PART)
        try:
            with partial.open("wb") as file:
                for piece in source:
                    file.write(piece)
                file.flush()
                os.fsync(file.fileno())
            check_snapshot(partial)
            partial.replace(path)
        finally:
            partial.unlink(missing_ok=True)
        sync_folder(self.folder)
        self._name_snapshot(Snapshot(end_offset, epoch, path.stat().st_size))

    def note_missing(self, missing: MissingRange) -> None:
        """Note offsets that are lost; what is between them is unknown."""
        self._change(missing=tuple(sorted((*self.manifest.missing, missing), key=_from_offset)))

    def insert_segment(self, run: Run, content: memoryview) -> None:
        """Write batches that lie before or between the segments as a file of their own."""
        self._close_file()
        segment = _segment_of(run)
        partial = self.folder / (segment.file + _PART)
        with partial.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(self.folder / segment.file)
        sync_folder(self.folder)
        self._change(segments=tuple(sorted((*self.manifest.segments, segment), key=_base_offset)))

    def truncate(self, end_offset: int, *, at_ms: int) -> None:
        """Cut off what the quorum gave up, from `end_offset` on.

        Raises `CommittedCut`, and cuts nothing, below the high watermark.
        """
        known = self.manifest
        if known.high_watermark is not None and end_offset < known.high_watermark:
            raise CommittedCut(
                f"Offsets {end_offset} to {known.high_watermark - 1} are in the archive as committed, "
                "and the log of the cluster has others there, or none."
            )
        self._close_file()
        tail = DroppedTail(end_offset, known.next_offset, known.last_epoch or 0, at_ms)
        while self.manifest.segments and self.manifest.segments[-1].end_offset > end_offset:
            self._cut_last(end_offset)
        self._change(dropped=(*known.dropped, tail))
        self.save()

    def end_of_epoch(self, epoch: int) -> int:
        """Return the offset after the last one of this epoch or an earlier one."""
        for segment in reversed(self.manifest.segments):
            if segment.last_epoch <= epoch:
                return segment.end_offset
            if segment.first_epoch <= epoch:
                batches = self.batches(segment)
                return next(one.header.base_offset for one in batches if one.epoch > epoch)
        return self.manifest.segments[0].base_offset if self.manifest.segments else 0

    def note(self, **changes: object) -> None:
        """Change what the manifest says of leader, high watermark, times and findings."""
        self._change(**changes)

    def save(self) -> None:
        """Make everything lasting that was appended so far."""
        if self._file is not None:
            os.fsync(self._file.fileno())
        self.manifest.save(self.folder)

    def _has(self, batch: Batch, run: Run | None) -> bool:
        if run is None and self.manifest.is_empty:
            return False
        end = run.last.next_offset if run else self.manifest.next_offset
        return batch.end_offset <= end

    def _check_next(self, batch: Batch, run: Run | None) -> None:
        """Raise `LogBroken` unless a batch follows the end of the archive and a run behind it."""
        known, base = self.manifest, batch.header.base_offset
        if run is None and known.is_empty:
            return
        end = run.last.next_offset if run else known.next_offset
        epoch = run.last.partition_leader_epoch if run else known.last_epoch or 0
        # After a snapshot the first batch may begin below its end: it is whole, and so are segments.
        if base > end or (base < end and not (run is None and self._is_behind_snapshot)):
            raise LogBroken(f"The log continues at offset {base}, not at {end}.")
        if batch.epoch < epoch:
            raise LogBroken(f"The epoch falls from {epoch} to {batch.epoch} at offset {base}.")

    @property
    def _is_behind_snapshot(self) -> bool:
        """Whether the log continues at a snapshot, not at the end of its last segment."""
        known = self.manifest
        return not known.segments or known.segments[-1].end_offset < known.next_offset

    def _has_room(self, run: Run, batch: Batch) -> bool:
        """Return whether a batch goes into the same file as the run before it."""
        begun = 0 if self._is_behind_snapshot else self.manifest.segments[-1].size_bytes
        if begun + run.first.size_bytes > self.segment_bytes:
            begun = 0
        return begun + run.size_bytes + len(batch.content) <= self.segment_bytes

    def _put(self, run: Run | None, view: memoryview) -> None:
        """Append a run, to a new segment where the last one is full or does not end there."""
        if run is None:
            return
        known = self.manifest.segments
        last = None if self._is_behind_snapshot else known[-1]
        if last is None or last.size_bytes + run.first.size_bytes > self.segment_bytes:
            self._close_file()
            grown, before = _segment_of(run), 0
        else:
            known, before = known[:-1], last.size_bytes
            grown = replace(
                last,
                end_offset=run.last.next_offset,
                size_bytes=before + run.size_bytes,
                last_epoch=run.last.partition_leader_epoch,
            )
        self._write(grown.file, before, view[run.start : run.end])
        self._change(segments=(*known, grown), newest_at_ms=run.last.max_timestamp)

    def _write(self, name: str, before: int, content: memoryview) -> None:
        if self._file is None:
            self._file = (self.folder / name).open("ab", buffering=0)
            self._file.truncate(before)
        written = 0
        try:
            while written < len(content):
                written += self._file.write(content[written:])
        except OSError:
            # A part may be written: the next attempt cuts it off first.
            self._file.close()
            self._file = None
            raise

    def _close_file(self) -> None:
        if self._file is not None:
            os.fsync(self._file.fileno())
            self._file.close()
            self._file = None

    def _cut_last(self, end_offset: int) -> None:
        """Cut the last segment at a batch, or remove it whole."""
        *rest, segment = self.manifest.segments
        kept = [one for one in self.batches(segment) if one.end_offset <= end_offset]
        path = self.folder / segment.file
        if not kept:
            path.unlink()
            self._change(segments=tuple(rest))
            return
        size, last = sum(len(one.content) for one in kept), kept[-1]
        end, epoch = last.end_offset, last.epoch
        del kept, last
        os.truncate(path, size)
        cut = replace(segment, end_offset=end, size_bytes=size, last_epoch=epoch)
        self._change(segments=(*rest, cut))

    def batches(self, segment: Segment) -> Iterable[Batch]:
        """Return the batches of a segment; raises `LogBroken` where it was damaged since."""
        content = mapped(self.folder / segment.file)[: segment.size_bytes]
        return checked_batches(content)

    def _begun(self) -> Manifest:
        """Return the manifest of a new archive; raises `BadArchive` for a folder with another log."""
        strange = [path.name for path in self.folder.glob("*.log")]
        if strange:
            raise BadArchive(
                f"{self.folder} has {strange[0]} and no {MANIFEST}: it is a node's folder, or somebody "
                "else's. Choose an empty folder for the archive, and import the other into it."
            )
        return Manifest(identity=uuid4().hex)

    def _recover(self) -> None:
        """Take in what was written after the manifest was saved last, and cut off what is not whole."""
        for partial in self.folder.glob(f"*{_PART}"):
            partial.unlink()
        for unpacked in self.folder.glob(f"{UNPACKED}*"):
            shutil.rmtree(unpacked, ignore_errors=True)
        for segment in self.manifest.segments[-1:]:
            self._take_in(self.manifest.segments[:-1], segment)
        while (path := self.folder / segment_name(self.manifest.next_offset)).exists():
            known, base = self.manifest.segments, self.manifest.next_offset
            self._take_in(known, Segment(base, base, 0, 0, 0))
            if self.manifest.next_offset == base:
                path.unlink()
                self._change(segments=known)

    def _take_in(self, rest: tuple[Segment, ...], segment: Segment) -> None:
        path = self.folder / segment.file
        size = path.stat().st_size if path.exists() else 0
        if size < segment.size_bytes:
            raise BadArchive(
                f"{path} has {size} bytes, and the manifest names {segment.size_bytes}: it was cut. "
                "Restore it, or begin a new archive in another folder."
            )
        for batch in whole_batches(mapped(path)[segment.size_bytes :]):
            if segment.size_bytes and batch.header.base_offset != segment.end_offset:
                break
            first = segment.first_epoch if segment.size_bytes else batch.epoch
            grown = segment.size_bytes + len(batch.content)
            base = segment.base_offset
            segment = Segment(base, batch.end_offset, grown, first, batch.epoch)
        if size > segment.size_bytes:
            os.truncate(path, segment.size_bytes)
        self._change(segments=(*rest, segment))

    def _name_snapshot(self, snapshot: Snapshot) -> None:
        others = (one for one in self.manifest.snapshots if one.end_offset != snapshot.end_offset)
        self._change(snapshots=tuple(sorted((*others, snapshot), key=lambda one: one.end_offset)))

    def _change(self, **changes: object) -> None:
        self.manifest = replace(self.manifest, **changes)  # type: ignore[arg-type]  # fields by name


def _segment_of(run: Run) -> Segment:
    return Segment(
        run.first.base_offset,
        run.last.next_offset,
        run.size_bytes,
        run.first.partition_leader_epoch,
        run.last.partition_leader_epoch,
    )


def _from_offset(missing: MissingRange) -> int:
    return missing.from_offset


def _base_offset(segment: Segment) -> int:
    return segment.base_offset
