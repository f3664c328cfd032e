"""The archive of a flow's offset syncs: a folder of Parquet files, arrays for quick answers, and a manifest.

Kafka compacts the topic of offset syncs to the last one per partition; what translation needs is all of them.
`jobs.replication.offset_syncs.archive_writer` appends, this module answers.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from copy import copy
from pathlib import Path

from jobs.archives import MANIFEST, BadArchive
from jobs.cluster.descriptions import TopicPartition
from jobs.replication.offset_sync_store import OffsetSyncStore
from jobs.replication.offset_syncs.archive_manifest import GapKind, Manifest, read_manifest
from jobs.replication.offset_syncs.index import Piece, SyncIndex
from jobs.replication.offset_syncs.run_files import BadRuns, read_runs
from jobs.replication.offset_syncs.runs import UNKNOWN, RunTable, join_runs
from jobs.replication.translation.sync_history import NOTHING_KNOWN, Facts, SyncHistory
from jobs.replication.translation.translator import Translator, started_store

# A writer may put other files in the place of those that were just named: look again so often.
_TRIES = 5
# So many syncs outside of the index are put into arrays at once instead of one by one.
_MANY = 50_000


def archive_folder(archive: Path, flow: str) -> Path:
    """Return the folder of a flow's offset syncs below that of all archives; `flow` is its id or name."""
    safe = "".join(letter if letter.isalnum() or letter in "-_." else "_" for letter in flow)
    return archive / "syncs" / (safe.lstrip(".") or "_")


class ArchivedTranslator(Translator):
    """Answers from the arrays of an archive; of a partition that nobody asks for nothing is loaded.

    It never changes: what is appended to the archive is in the next one (`with_pieces`).
    """

    def __init__(self, index: SyncIndex, *, facts: Facts = NOTHING_KNOWN) -> None:
        super().__init__(facts=facts)
        self._index = index
        self._numbers = {name: number for number, name in enumerate(index.names)}
        # Of partitions that were told of since; see `SyncRows`.
        self._holes: dict[TopicPartition, int] = {}

    @property
    def partitions(self) -> frozenset[TopicPartition]:
        """The source partitions with at least one offset sync."""
        return frozenset(self._numbers.keys() | self._histories.keys())

    def history(self, where: TopicPartition) -> SyncHistory | None:
        """Return what is known of a partition; None without any offset sync."""
        known = self._histories.get(where)
        if known is None and where in self._numbers:
            known = self._histories.setdefault(
                where, SyncHistory(self._index.syncs_of(self._numbers[where]))
            )
        return known

    def mm2(self, where: TopicPartition, upstream: int) -> int | None:
        """Return MirrorMaker 2's own answer: None without a sync, -1 for one older than all it keeps."""
        is_known = where in self._stores or where in self._numbers
        return self._store(where).translate(upstream) if is_known else None

    def with_pieces(self, pieces: Sequence[Piece]) -> ArchivedTranslator:
        """Return a translator that knows these pieces, too; this one stays as it is."""
        losses = [at for at, piece in enumerate(pieces) if piece.is_after_loss]
        if losses:
            begin = losses[-1]
            rest = [pieces[begin]._replace(is_after_loss=False), *pieces[begin + 1 :]]
            return ArchivedTranslator(SyncIndex.empty(), facts=self.facts).with_pieces(rest)
        return copy(self).grown(pieces)

    def grown(self, pieces: Sequence[Piece]) -> ArchivedTranslator:
        """Take pieces, and own from then on what they change; returns itself."""
        self._histories, self._stores = dict(self._histories), dict(self._stores)
        self._holes = dict(self._holes)
        touched: set[TopicPartition] = set()
        for piece in pieces:
            self._take(piece, touched)
        return self

    def _take(self, piece: Piece, touched: set[TopicPartition]) -> None:
        columns = (column.tolist() for column in piece.rows)
        for number, upstream, downstream, hole, *follows in zip(*columns, strict=True):
            where = piece.names[number]
            if where not in touched:
                self._own(where)
                touched.add(where)
            after_gap = self._holes.get(where, hole) != hole
            self._holes[where] = hole
            known = None if follows[0] == UNKNOWN else (follows[0], follows[1])
            self.add(where, upstream, downstream, after_gap=after_gap, follows=known)

    def _own(self, where: TopicPartition) -> None:
        """Have a history and a store of one's own, which nobody else reads."""
        history = self.history(where)
        if history is not None:
            self._histories[where] = SyncHistory(history.syncs.copy())
            self._stores[where] = OffsetSyncStore.restored(list(self._store(where).syncs))
        if where in self._numbers:
            self._holes.setdefault(where, int(self._index.hole[self._numbers[where]]))

    def _store(self, where: TopicPartition) -> OffsetSyncStore:
        store = self._stores.get(where)
        if store is None:
            number = self._numbers.get(where)
            store = started_store() if number is None else self._index.store_of(number)
            self._stores[where] = store
        return store


def open_translator(folder: Path, *, facts: Facts = NOTHING_KNOWN) -> Translator:
    """Return what an archive has to say now; cheap when nothing was appended since the last call.

    A folder without an archive (yet) has nothing to say. What is returned never changes; do not `add` to it.
    Raises `BadArchive` when the archive is damaged.
    """
    with _opening:
        opened = _opened.setdefault((folder.absolute(), facts), _Opened(folder, facts))
    with opened.lock:
        return opened.look()


class _Opened:
    """An archive as it was last seen, and the translator that knows all of that."""

    def __init__(self, folder: Path, facts: Facts) -> None:
        self.lock = threading.Lock()
        self._folder = folder
        self._facts = facts
        self._seen: tuple[int, int, int] | None = None
        self._known = Manifest()
        self._translator = ArchivedTranslator(SyncIndex.empty(), facts=facts)

    def look(self) -> Translator:
        for tries_left in range(_TRIES - 1, -1, -1):
            seen = _signature(self._folder / MANIFEST)
            if seen == self._seen:
                break
            try:
                self._read(read_manifest(self._folder) or Manifest())
            except (FileNotFoundError, BadRuns, BadArchive):
                # The writer may have put other files in the place of those that were just named.
                if not tries_left or _signature(self._folder / MANIFEST) == seen:
                    raise
            else:
                self._seen = seen
        return self._translator

    def _read(self, manifest: Manifest) -> None:
        known, index = self._known, manifest.index
        goes_on = known.is_continued_by(manifest)
        begun = self._translator if goes_on else self._anew(manifest)
        after = known.appends if goes_on else (index.last if index else 0)
        pieces = list(pieces_after(self._folder, manifest, after))
        if not goes_on and sum(len(piece.rows.partition) for piece in pieces) > _MANY:
            arrays = load_index(self._folder, manifest).extended(pieces)
            begun, pieces = ArchivedTranslator(arrays, facts=self._facts), []
        self._translator = begun.with_pieces(pieces) if pieces else begun
        self._known = manifest

    def _anew(self, manifest: Manifest) -> ArchivedTranslator:
        return ArchivedTranslator(load_index(self._folder, manifest), facts=self._facts)


_opening = threading.Lock()
_opened: dict[tuple[Path, Facts], _Opened] = {}


def _signature(path: Path) -> tuple[int, int, int] | None:
    """Return what changes with every manifest; None where there is none."""
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return found.st_ino, found.st_mtime_ns, found.st_size


def load_index(folder: Path, manifest: Manifest) -> SyncIndex:
    """Return the arrays of an archive, mapped; those of nothing when there are none yet."""
    if manifest.index is None:
        return SyncIndex.empty()
    return SyncIndex.load(folder / manifest.index.folder)


def pieces_after(folder: Path, manifest: Manifest, append: int) -> Iterator[Piece]:
    """Yield what was appended after an append; raises `BadArchive` for a file that begins before."""
    losses = {gap.before for gap in manifest.gaps if gap.kind is GapKind.LOST}
    for part in manifest.parts:
        if part.last <= append:
            continue
        if part.first <= append:
            raise BadArchive(f"{folder / part.file} begins before append {append + 1}")
        table = read_runs(folder / part.file)
        yield Piece(table.names, table.rows(), part.first in losses)


def read_all_runs(folder: Path) -> RunTable:
    """Return everything that an archive holds, as runs, also of what counts no more; raises `BadArchive`."""
    manifest = read_manifest(folder) or Manifest()
    return join_runs([read_runs(folder / part.file) for part in manifest.parts])
