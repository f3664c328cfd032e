"""The single writer of an archive of offset syncs; readers need no lock.

A crash loses at most an append that was not finished, and the manifest says where to resume reading.
"""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import TracebackType
from typing import IO, BinaryIO, NamedTuple
from uuid import uuid4

import numpy as np

from jobs.archives import LOCK, MANIFEST, lock_archive
from jobs.cluster.descriptions import TopicPartition
from jobs.files import write_whole
from jobs.replication.offset_syncs.archive import Piece, SyncParts, open_part
from jobs.replication.offset_syncs.archive_manifest import (
    Gap,
    GapKind,
    Manifest,
    Part,
    Source,
    read_manifest,
)
from jobs.replication.offset_syncs.sync_rows import Int64s, SyncRows, feed, repeats, sync_table


class Increment(NamedTuple):
    """What was read of the topic of offset syncs, up to `next_offset`.

    `rows` count holes from 0, `holes` of them are up to `next_offset`. `gap`: what is missing in or before
    it. `newest_at_ms` is the time of the newest sync, None without any.
    """

    source: Source
    names: Sequence[TopicPartition]
    rows: SyncRows
    next_offset: int
    refused: Mapping[str, int] = {}
    gap: Gap | None = None
    holes: int = 0
    leader_epoch: int = -1
    newest_at_ms: int | None = None
    read_at_ms: int | None = None


class Limits(NamedTuple):
    """Files are merged when there are more than so many; one of so many syncs holds `kept_syncs`, too."""

    most_parts: int = 64
    syncs_of_kept: int = 20_000


LIMITS = Limits()


@dataclass(slots=True)
class SyncArchive:
    """The one writer of an archive; a context manager. Raises `ArchiveBusy` and `BadArchive` when opened."""

    folder: Path
    limits: Limits = LIMITS
    manifest: Manifest = field(default_factory=Manifest)
    _lock: IO[bytes] | None = None

    def __enter__(self) -> SyncArchive:
        self._lock = lock_archive(self.folder)
        try:
            self.manifest = read_manifest(self.folder) or Manifest()
            self._remove_leftovers()
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
        if self._lock is not None:
            self._lock.close()

    def append(self, increment: Increment, *, tidies: bool = True) -> None:
        """Keep what was read and where to resume; nothing of it counts before all of it is on disk.

        Who appends a lot in a row leaves tidying (`tidy`) to the end.
        """
        manifest = self.manifest
        appends, parts, gap = manifest.appends, manifest.parts, increment.gap
        if len(increment.rows.partition) or (gap is not None and gap.kind is GapKind.LOST):
            appends += 1
            rows = increment.rows._replace(hole=increment.rows.hole + manifest.holes)
            parts = (*parts, self._write(sync_table(increment.names, rows), appends, appends))
        self._save(
            replace(
                manifest,
                identity=manifest.identity or uuid4().hex,
                source=increment.source,
                next_offset=increment.next_offset,
                appends=appends,
                parts=parts,
                refused=dict(Counter(manifest.refused) + Counter(increment.refused)),
                gaps=manifest.gaps if gap is None else _noted(manifest.gaps, gap, appends),
                holes=manifest.holes + increment.holes,
                leader_epoch=increment.leader_epoch,
                newest_at_ms=increment.newest_at_ms or manifest.newest_at_ms,
                read_at_ms=increment.read_at_ms or manifest.read_at_ms,
            )
        )
        if tidies:
            self.tidy()

    def tidy(self, *, now: bool = False) -> None:
        """Merge small files when there are many, or now."""
        parts = self.manifest.parts
        if parts and (now or len(parts) > self.limits.most_parts):
            self._merge(_mergeable(parts, self.manifest.gaps))

    def _merge(self, group: Sequence[Part]) -> None:
        """Put consecutive files into one, a few partitions in memory at a time."""
        at = self.manifest.parts.index(group[0])
        kept: dict[TopicPartition, Int64s] | None = None
        before = SyncParts()
        if sum(part.syncs for part in group) >= self.limits.syncs_of_kept:
            kept, before = {}, self._opened(_since_loss(self.manifest, at))
        content = _merged(self._opened(group), before, kept)
        merged = self._write(content, group[0].first, group[-1].last, kept)
        gone = {part.file for part in group} - {merged.file}
        rest = [part for part in self.manifest.parts if part not in group]
        self._save(replace(self.manifest, parts=(*rest[:at], merged, *rest[at:])))
        for file in gone:
            (self.folder / file).unlink(missing_ok=True)

    def _opened(self, parts: Sequence[Part]) -> SyncParts:
        return SyncParts(
            [Piece(p.first, p.last, open_part(self.folder / p.file, p.syncs)) for p in parts]
        )

    def _write(
        self,
        content: Iterable[tuple[TopicPartition, SyncRows]],
        first: int,
        last: int,
        kept: dict[TopicPartition, Int64s] | None = None,
    ) -> Part:
        # Arrow is for those who write.
        from jobs.replication.offset_syncs.sync_files import write_syncs

        name, count = f"syncs-{first}-{last}.parquet", 0

        def write(file: BinaryIO) -> None:
            nonlocal count
            count = write_syncs(file, content, kept)

        write_whole(self.folder / name, write)
        return Part(name, first, last, count)

    def _save(self, manifest: Manifest) -> None:
        manifest.save(self.folder)
        self.manifest = manifest

    def _remove_leftovers(self) -> None:
        """Remove what a crash left: files that no manifest names."""
        named = {MANIFEST, LOCK, *(part.file for part in self.manifest.parts)}
        for path in self.folder.iterdir():
            if path.name in named:
                continue
            if path.is_dir() and path.name.startswith("index-"):  # of version 1
                shutil.rmtree(path, ignore_errors=True)
            elif path.name.endswith((".parquet", ".partial")):
                path.unlink(missing_ok=True)


def _merged(
    group: SyncParts, before: SyncParts, kept: dict[TopicPartition, Int64s] | None
) -> Iterator[tuple[TopicPartition, SyncRows]]:
    """Yield each partition with all its syncs, and note what MirrorMaker 2 would have kept of it."""
    for name in sorted(group.names):
        rows = group.rows(name)
        rows = rows.pick(~repeats(rows._replace(partition=np.zeros_like(rows.partition))))
        if kept is not None:
            kept[name] = before.kept(name)
            own = rows.records()
            feed(kept[name], own.upstream, own.downstream)
        yield name, rows


def _since_loss(manifest: Manifest, at: int) -> tuple[Part, ...]:
    """Return the files before one that count together with it."""
    begin = max(
        (gap.before for gap in manifest.losses if gap.before <= manifest.parts[at].first), default=0
    )
    return tuple(part for part in manifest.parts[:at] if part.first >= begin)


def _mergeable(parts: Sequence[Part], gaps: Sequence[Gap]) -> list[Part]:
    """Return the newest files, up to one that dwarfs what came after it; no file reaches over a loss."""
    begins = {gap.before for gap in gaps if gap.kind is GapKind.LOST}
    group: list[Part] = []
    for part in reversed(parts):
        if group and part.syncs > 2 * sum(one.syncs for one in group):
            break
        group.insert(0, part)
        if part.first in begins:
            break
    return group


def _noted(gaps: Sequence[Gap], gap: Gap, append: int) -> tuple[Gap, ...]:
    """Return all gaps with one more; what compaction removed bit by bit is reported as one."""
    new, last = replace(gap, before=append), gaps[-1] if gaps else None
    if last is None or not GapKind.COMPACTED is last.kind is new.kind:
        return (*gaps, new)
    return (*gaps[:-1], replace(last, to_offset=new.to_offset, at_ms=new.at_ms))
