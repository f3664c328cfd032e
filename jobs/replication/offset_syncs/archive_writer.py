"""Whoever appends to an archive of offset syncs: one process at a time, while any number read.

A crash loses at most an append that was not finished, and the manifest says where to go on reading.
"""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import TracebackType
from typing import IO, NamedTuple
from uuid import uuid4

from jobs.archives import LOCK, MANIFEST, lock_archive
from jobs.cluster.descriptions import TopicPartition
from jobs.replication.offset_syncs.archive import load_index, pieces_after
from jobs.replication.offset_syncs.archive_manifest import (
    Gap,
    GapKind,
    Index,
    Manifest,
    Part,
    Source,
    read_manifest,
)
from jobs.replication.offset_syncs.run_files import read_runs, write_runs
from jobs.replication.offset_syncs.runs import RunTable, SyncRows, build_runs, join_runs


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
    """When files are merged: more than so many are there.

    When arrays are made anew: so many syncs, and such a share of all, stand outside of the last ones.
    """

    most_parts: int = 64
    syncs_before_index: int = 20_000
    share_before_index: float = 0.05


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
        """Keep what was read and where to go on; nothing of it counts before all of it is on disk.

        Who appends a lot in a row leaves tidying (`tidy`) to the end.
        """
        manifest = self.manifest
        appends, parts, gap = manifest.appends, manifest.parts, increment.gap
        if len(increment.rows.partition) or (gap is not None and gap.kind is GapKind.LOST):
            appends += 1
            rows = increment.rows._replace(hole=increment.rows.hole + manifest.holes)
            parts = (*parts, self._write(build_runs(increment.names, rows), appends))
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

    def tidy(self, *, index_now: bool = False) -> None:
        """Merge small files, and make a new index, when it is time for that or asked for."""
        _, outside = self._sections()
        waiting = sum(part.syncs for part in outside)
        share = self.limits.share_before_index * self.manifest.sync_count
        if outside and (index_now or waiting > max(self.limits.syncs_before_index, share)):
            self._make_index()
        for parts in self._sections():
            if len(parts) > self.limits.most_parts:
                self._merge(_mergeable(parts, self.manifest.gaps))

    def _sections(self) -> tuple[list[Part], list[Part]]:
        """Return the files whose syncs are in the index, and the others; a file is never half in it."""
        indexed = self.manifest.index.last if self.manifest.index else 0
        parts = self.manifest.parts
        return [p for p in parts if p.last <= indexed], [p for p in parts if p.last > indexed]

    def _make_index(self) -> None:
        """Write the arrays of everything; readers go over to them with their next look at the manifest."""
        manifest = self.manifest
        old = load_index(self.folder, manifest)
        after = manifest.index.last if manifest.index else 0
        index = old.extended(pieces_after(self.folder, manifest, after))
        name = f"index-{manifest.appends}"
        shutil.rmtree(self.folder / name, ignore_errors=True)
        index.save(self.folder / name)
        self._save(replace(manifest, index=Index(name, manifest.appends)))
        if manifest.index is not None:
            shutil.rmtree(self.folder / manifest.index.folder, ignore_errors=True)

    def _merge(self, group: Sequence[Part]) -> None:
        """Put consecutive files into one."""
        if len(group) < 2:  # noqa: PLR2004  one file is merged already
            return
        table = join_runs([read_runs(self.folder / part.file) for part in group])
        merged = self._write(table, group[-1].last, group[0].first)
        gone = {part.file for part in group}
        at = self.manifest.parts.index(group[0])
        rest = [part for part in self.manifest.parts if part.file not in gone]
        self._save(replace(self.manifest, parts=(*rest[:at], merged, *rest[at:])))
        for file in gone:
            (self.folder / file).unlink(missing_ok=True)

    def _write(self, table: RunTable, last: int, first: int | None = None) -> Part:
        first = last if first is None else first
        part = Part(f"runs-{first}-{last}.parquet", first, last, len(table), table.sync_count)
        write_runs(self.folder / part.file, table)
        return part

    def _save(self, manifest: Manifest) -> None:
        manifest.save(self.folder)
        self.manifest = manifest

    def _remove_leftovers(self) -> None:
        """Remove what a crash left: files that no manifest names."""
        index = self.manifest.index
        named = {MANIFEST, LOCK, *(part.file for part in self.manifest.parts)}
        named |= {index.folder} if index else set()
        for path in self.folder.iterdir():
            if path.name in named:
                continue
            if path.is_dir() and path.name.startswith("index-"):
                shutil.rmtree(path, ignore_errors=True)
            elif path.name.endswith((".parquet", ".partial")):
                path.unlink(missing_ok=True)


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
    """Return all gaps with one more; what compaction removed bit by bit is told as one."""
    new, last = replace(gap, before=append), gaps[-1] if gaps else None
    if last is None or not GapKind.COMPACTED is last.kind is new.kind:
        return (*gaps, new)
    return (*gaps[:-1], replace(last, to_offset=new.to_offset, at_ms=new.at_ms))
