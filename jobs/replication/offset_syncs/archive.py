"""The archive of a flow's offset syncs: a folder of Parquet files and a manifest, and what it answers.

Kafka compacts the topic of offset syncs to the last one per partition; what translation needs is all of them.
`jobs.replication.offset_syncs.archive_writer` appends, this module answers: of a partition that is not
queried for nothing is read, and what was read is kept in memory up to a bound.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from jobs.archives import MANIFEST, BadArchive
from jobs.cluster.descriptions import TopicPartition
from jobs.replication.offset_syncs.archive_manifest import Manifest, counting_parts, read_manifest
from jobs.replication.offset_syncs.sync_rows import (
    Int64s,
    SyncRows,
    SyncTable,
    feed,
    nothing_kept,
    store_of,
)
from jobs.replication.translation.bounds import NOTHING_KNOWN, Facts
from jobs.replication.translation.partition_syncs import PartitionSyncs
from jobs.replication.translation.sync_history import SyncHistory
from jobs.replication.translation.translator import Translator

if TYPE_CHECKING:
    from jobs.replication.offset_syncs.sync_files import SyncFile

# A writer may put other files in the place of those that were just named: look again so often.
_TRIES = 5
# A file of fewer syncs is read at once and closed.
_FEW = 20_000
# So many syncs of partitions that were queried stay in memory.
MOST_REMEMBERED = 4_000_000


def archive_folder(archive: Path, flow: str) -> Path:
    """Return the folder of a flow's offset syncs below that of all archives; `flow` is its id or name."""
    safe = "".join(letter if letter.isalnum() or letter in "-_." else "_" for letter in flow)
    return archive / "syncs" / (safe.lstrip(".") or "_")


class SmallPart:
    """A table of syncs in memory, asked like a `SyncFile`."""

    def __init__(self, table: SyncTable) -> None:
        self.names = table.names
        self._table = table
        self._numbers = {name: number for number, name in enumerate(table.names)}

    def __contains__(self, where: TopicPartition) -> bool:
        return where in self._numbers

    def rows(self, where: TopicPartition) -> SyncRows:
        """Return the syncs of a partition, in the order of the log."""
        number = self._numbers.get(where)
        return SyncRows.empty() if number is None else self._table.rows(number)

    def kept(self, where: TopicPartition) -> Int64s | None:
        """Return what MirrorMaker 2 would have kept: it is not stored."""
        return None


class Piece(NamedTuple):
    """Some syncs of the log: those of the appends `first` to `last`."""

    first: int
    last: int
    syncs: SmallPart | SyncFile


class SyncParts:
    """All offset syncs that count, in consecutive pieces of the log; of each partition as rows.

    `as_of_ms`: only what was written by then; a sync whose time is not known counts.
    """

    def __init__(self, pieces: Sequence[Piece] = (), as_of_ms: int | None = None) -> None:
        self.pieces = tuple(pieces)
        self.as_of_ms = as_of_ms

    @property
    def names(self) -> frozenset[TopicPartition]:
        """The source partitions with at least one offset sync."""
        return frozenset(name for piece in self.pieces for name in piece.syncs.names)

    def rows(self, where: TopicPartition, after: int = 0) -> SyncRows:
        """Return the syncs of a partition in the order of the log, of the appends after one.

        Raises `BadSyncFile`.
        """
        found = [p.syncs.rows(where) for p in self.pieces if p.first > after and where in p.syncs]
        rows = SyncRows.joined(found)
        return rows if self.as_of_ms is None else rows.known_at(self.as_of_ms)

    def kept(self, where: TopicPartition) -> Int64s:
        """Return what MirrorMaker 2 would keep of a partition, see `kept_syncs`; raises `BadSyncFile`."""
        later: list[SyncRows] = []
        kept = None
        for piece in reversed(self.pieces):
            if where not in piece.syncs:
                continue
            kept = piece.syncs.kept(where) if self.as_of_ms is None else None
            if kept is not None:
                break
            later.append(piece.syncs.rows(where))
        rows = SyncRows.joined(later[::-1])
        rows = (rows if self.as_of_ms is None else rows.known_at(self.as_of_ms)).records()
        kept = nothing_kept() if kept is None else kept
        feed(kept, rows.upstream, rows.downstream)
        return kept

    def reaches_over(self, append: int) -> bool:
        """Return whether a piece has syncs from before the end of an append and from after it."""
        return any(piece.first <= append < piece.last for piece in self.pieces)

    @property
    def last(self) -> int:
        """The last append."""
        return self.pieces[-1].last if self.pieces else 0


class _Known(NamedTuple):
    """What was read of a partition: up to which append, and how many holes are before its last sync."""

    history: SyncHistory
    last: int
    hole: int


class ArchivedTranslator(Translator):
    """Answers from the files of an archive. It never changes: what is appended later is in another one."""

    def __init__(self, parts: SyncParts, *, facts: Facts = NOTHING_KNOWN) -> None:
        super().__init__(facts=facts)
        self.parts = parts
        self._names = parts.names
        self._known: dict[TopicPartition, _Known] = {}
        self._keeping: dict[TopicPartition, tuple[int, Int64s]] = {}
        self._remembered = 0

    def continued(self, parts: SyncParts) -> ArchivedTranslator:
        """Return a translator for what the archive has now; of what this one knows only the rest is read."""
        later = ArchivedTranslator(parts, facts=self.facts)
        later._known, later._keeping = dict(self._known), dict(self._keeping)
        later._remembered = self._remembered
        return later

    @property
    def partitions(self) -> frozenset[TopicPartition]:
        """The source partitions with at least one offset sync."""
        return self._names

    def history(self, where: TopicPartition) -> SyncHistory | None:
        """Return what is known of a partition; None without any offset sync. Raises `BadSyncFile`."""
        known, last = self._known.get(where), self.parts.last
        if known is None or known.last != last:
            if where not in self._names:
                return None
            after = known.last if known and not self.parts.reaches_over(known.last) else 0
            rows = self.parts.rows(where, after)
            if known is None or not after:
                syncs = PartitionSyncs.of_rows(rows)
            else:
                syncs = known.history.syncs
                syncs = syncs.extended(rows, known.hole) if len(rows.upstream) else syncs
            hole = int(rows.hole[-1]) if len(rows.hole) else (known.hole if known else 0)
            known = self._remember(where, _Known(SyncHistory(syncs), last, hole))
        return known.history if len(known.history.syncs) else None

    def kept(self, where: TopicPartition) -> Int64s | None:
        """Return what MirrorMaker 2 would have kept; None without any offset sync."""
        if where not in self._names:
            return None
        last, kept = self._keeping.get(where, (0, None))
        if kept is None or self.parts.reaches_over(last):
            kept = self.parts.kept(where)
        elif last != self.parts.last:
            rows = self.parts.rows(where, last).records()
            kept = kept.copy()
            feed(kept, rows.upstream, rows.downstream)
        self._keeping[where] = (self.parts.last, kept)
        return kept

    def mm2(self, where: TopicPartition, upstream: int) -> int | None:
        """Return MirrorMaker 2's own answer: None without a sync, -1 for one older than all it keeps."""
        store = self._stores.get(where)
        if store is None:
            kept = self.kept(where)
            if kept is None:
                return None
            store = self._stores[where] = store_of(kept)
        return store.translate(upstream)

    def _remember(self, where: TopicPartition, known: _Known) -> _Known:
        """Keep what was read; when that is too much, all of it is forgotten."""
        self._remembered += len(known.history.syncs)
        if self._remembered > MOST_REMEMBERED:
            self._known, self._keeping, self._stores = {}, {}, {}
            self._remembered = len(known.history.syncs)
        self._known[where] = known
        return known


def translator_of(table: SyncTable, *, facts: Facts = NOTHING_KNOWN) -> ArchivedTranslator:
    """Return what an archive of just these syncs would answer."""
    return ArchivedTranslator(SyncParts([Piece(1, 1, SmallPart(table))]), facts=facts)


def open_translator(
    folder: Path, *, facts: Facts = NOTHING_KNOWN, as_of_ms: int | None = None
) -> ArchivedTranslator:
    """Return what an archive has to say now; cheap when nothing was appended since the last call.

    `as_of_ms`: what it had to say then. A folder without an archive (yet) has nothing to say. What is
    returned never changes; do not `add` to it. Raises `BadArchive` when the archive is damaged.
    """
    if as_of_ms is not None:
        return ArchivedTranslator(open_parts(folder, as_of_ms), facts=facts)
    with _opening:
        opened = _opened.setdefault((folder.absolute(), facts), _Opened(folder, facts))
    with opened.lock:
        return opened.look()


def open_parts(folder: Path, as_of_ms: int | None = None) -> SyncParts:
    """Return the offset syncs of an archive as they are now, or were known at a time.

    A folder without an archive has none. Raises `BadArchive` and `BadSyncFile`.
    """
    reading = _Opened(folder, NOTHING_KNOWN, as_of_ms)
    return reading.look().parts


class _Opened:
    """An archive as it was last seen, and the translator that knows all of that."""

    def __init__(self, folder: Path, facts: Facts, as_of_ms: int | None = None) -> None:
        self.lock = threading.Lock()
        self._folder = folder
        self._as_of_ms = as_of_ms
        self._seen: tuple[int, int, int] | None = None
        self._known = Manifest()
        self._files: dict[str, Piece] = {}
        self._translator = ArchivedTranslator(SyncParts(), facts=facts)

    def look(self) -> ArchivedTranslator:
        for tries_left in range(_TRIES - 1, -1, -1):
            seen = _signature(self._folder / MANIFEST)
            if seen == self._seen:
                break
            try:
                self._read(read_manifest(self._folder) or Manifest())
            except (FileNotFoundError, BadArchive):
                # The writer may have put other files in the place of those that were just named.
                if not tries_left or _signature(self._folder / MANIFEST) == seen:
                    raise
            else:
                self._seen = seen
        return self._translator

    def _read(self, manifest: Manifest) -> None:
        is_same = self._known.identity == manifest.identity
        known = self._files if is_same else {}
        parts = counting_parts(manifest, self._as_of_ms)
        files = {
            part.file: known.get(part.file)
            or Piece(part.first, part.last, open_part(self._folder / part.file, part.syncs))
            for part in parts
        }
        found = SyncParts(tuple(files.values()), self._as_of_ms)
        if is_same and self._known.losses == manifest.losses:
            self._translator = self._translator.continued(found)
        else:
            self._translator = ArchivedTranslator(found, facts=self._translator.facts)
        self._files, self._known = files, manifest


_opening = threading.Lock()
_opened: dict[tuple[Path, Facts], _Opened] = {}


def _signature(path: Path) -> tuple[int, int, int] | None:
    """Return what changes with every manifest; None where there is none."""
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return found.st_ino, found.st_mtime_ns, found.st_size


def open_part(path: Path, syncs: int) -> SmallPart | SyncFile:
    """Open a file of so many syncs; raises FileNotFoundError and `BadSyncFile`."""
    # Arrow is for archives with files.
    from jobs.replication.offset_syncs.sync_files import SyncFile

    file = SyncFile(path)
    return SmallPart(file.table()) if syncs < _FEW else file
