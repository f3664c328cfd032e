"""The offset syncs of a flow in arrays that are mapped from files, for answers in milliseconds.

It holds the syncs of each partition's newest generation, where their epochs begin, and what MirrorMaker 2
would have kept. What is told afterwards comes in pieces, in the order of the log.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from jobs.cluster.descriptions import TopicPartition
from jobs.replication.offset_sync_store import SIZE, OffsetSyncStore
from jobs.replication.offset_syncs.offset_sync_store_arrays import (
    empty_stores,
    feed_stores,
    store_of,
)
from jobs.replication.offset_syncs.runs import (
    UNKNOWN,
    Bools,
    Marks,
    SyncRows,
    marks_of,
    repeats,
    slices_by_partition,
    sorted_by_partition,
)
from jobs.replication.translation.partition_syncs import Int64s, PartitionSyncs

_NAMES = "names.json"


class Piece(NamedTuple):
    """Syncs in the order of the log.

    `is_after_loss`: nobody knows what was told before them, perhaps the last sync of a partition: nothing
    from before counts any more.
    """

    names: Sequence[TopicPartition]
    rows: SyncRows
    is_after_loss: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class SyncIndex:
    """Rows `row_at[i]` to `row_at[i + 1]` of `upstream` and `downstream` are those of partition `names[i]`.

    Its epochs begin at the rows `epoch_start[epoch_at[i]:epoch_at[i + 1]]`, counted from its own first row.
    `linked`: no sync is missing between a row and the one before it. `after_gap`: syncs are missing before
    the first row of a partition. `hole` is that of its last row, see `SyncRows`.
    `stores`: see `offset_sync_store_arrays`.
    """

    names: tuple[TopicPartition, ...]
    row_at: Int64s
    upstream: Int64s
    downstream: Int64s
    linked: Bools
    epoch_at: Int64s
    epoch_start: Int64s
    after_gap: Bools
    hole: Int64s
    stores: Int64s

    @classmethod
    def empty(cls) -> SyncIndex:
        """Return the index of nothing."""
        none, zero = np.empty(0, np.int64), np.zeros(1, np.int64)
        no = np.empty(0, np.bool_)
        return cls((), zero, none, none, no, zero, none, no, none, empty_stores(0))

    def syncs_of(self, number: int) -> PartitionSyncs:
        """Return the syncs of a partition by its place in `names`."""
        rows = slice(int(self.row_at[number]), int(self.row_at[number + 1]))
        epochs = slice(int(self.epoch_at[number]), int(self.epoch_at[number + 1]))
        return PartitionSyncs(
            self.upstream[rows],
            self.downstream[rows],
            self.linked[rows],
            self.epoch_start[epochs].tolist(),
            is_after_gap=bool(self.after_gap[number]),
        )

    def store_of(self, number: int) -> OffsetSyncStore:
        """Return what MirrorMaker 2 would have kept of a partition."""
        return store_of(self.stores[number])

    def extended(self, pieces: Iterable[Piece]) -> SyncIndex:
        """Return an index of everything in this one and what came after it."""
        joined = _Joined.of(self)
        for piece in pieces:
            joined.take(piece)
        return joined.index()

    def save(self, folder: Path) -> None:
        """Write the arrays into a new folder."""
        folder.mkdir(parents=True)
        (folder / _NAMES).write_text(json.dumps(self.names), encoding="utf-8")
        for name in _ARRAYS:
            np.save(folder / f"{name}.npy", getattr(self, name))

    @classmethod
    def load(cls, folder: Path) -> SyncIndex:
        """Map what `save` wrote; raises OSError or ValueError when it is not whole."""
        names = json.loads((folder / _NAMES).read_text(encoding="utf-8"))
        arrays = {name: _mapped(folder / f"{name}.npy") for name in _ARRAYS if name != "linked"}
        return cls(
            tuple(TopicPartition(*name) for name in names),
            **arrays,
            linked=_links(folder, len(arrays["upstream"])),
        )


_ARRAYS = tuple(one.name for one in fields(SyncIndex) if one.name != "names")


def _mapped(path: Path) -> Any:
    # A plain array over the mapping: slices of numpy's own kind of mapping are slow to make.
    return np.load(path, mmap_mode="r").view(np.ndarray)


def _links(folder: Path, count: int) -> Any:
    """Return which rows are linked; what version 0.1 wrote knows of none."""
    try:
        return _mapped(folder / "linked.npy")
    except FileNotFoundError:
        return np.zeros(count, np.bool_)


class _Joined:
    """An index and what came after it, before it is sorted."""

    def __init__(self) -> None:
        self.numbers: dict[TopicPartition, int] = {}
        self.after_gap: dict[TopicPartition, bool] = {}
        self.rows: list[SyncRows] = []
        self.stores: dict[TopicPartition, Int64s] = {}
        self.old_pieces = 0

    @classmethod
    def of(cls, index: SyncIndex) -> _Joined:
        joined = cls()
        joined.numbers = {name: number for number, name in enumerate(index.names)}
        joined.after_gap = dict(zip(index.names, index.after_gap.tolist(), strict=True))
        joined.rows = [_rows_of(index)]
        joined.old_pieces = 1
        joined.stores = dict(zip(index.names, index.stores, strict=True))
        return joined

    def take(self, piece: Piece) -> None:
        if piece.is_after_loss:
            self.rows, self.old_pieces, self.stores = [], 0, {}
            self.numbers, self.after_gap = {}, {}
        own = [self.numbers.setdefault(name, len(self.numbers)) for name in piece.names]
        numbered = np.array(own, np.int64)[piece.rows.partition]
        self.rows.append(piece.rows._replace(partition=numbered))

    def index(self) -> SyncIndex:
        names = list(self.numbers)
        stores = self._fed(names)
        kept, rows = sorted_by_partition(names, SyncRows.joined(self.rows))
        rows = rows.pick(~repeats(rows))
        marks = marks_of(rows)
        newest = np.flatnonzero(_is_of_newest(marks, rows, len(kept)))
        begins = np.flatnonzero((marks.partition | marks.generation | marks.epoch)[newest])
        own = rows.pick(newest)
        row_at = np.searchsorted(own.partition, np.arange(len(kept) + 1)).astype(np.int64)
        of_epoch = own.partition[begins]
        return SyncIndex(
            names=tuple(kept),
            row_at=row_at,
            upstream=own.upstream,
            downstream=own.downstream,
            linked=marks.linked[newest] & ~_at(len(newest), begins),
            epoch_at=np.searchsorted(of_epoch, np.arange(len(kept) + 1)).astype(np.int64),
            epoch_start=begins - row_at[of_epoch],
            after_gap=self._begin_after_gap(kept, marks, newest[row_at[:-1]]),
            hole=own.hole[row_at[1:] - 1],
            stores=np.array([stores[name] for name in kept], np.int64).reshape(-1, 3, SIZE),
        )

    def _begin_after_gap(
        self, names: Sequence[TopicPartition], marks: Marks, first: Int64s
    ) -> Bools:
        """Return whether syncs are missing before these rows; the old index may know more of a first one."""
        known = np.array([self.after_gap.get(name, False) for name in names], np.bool_)
        return marks.gap[first] | (marks.partition[first] & known)

    def _fed(self, names: list[TopicPartition]) -> dict[TopicPartition, Int64s]:
        """Give what came since the old index to the stores of MirrorMaker 2."""
        own, rows = sorted_by_partition(names, SyncRows.joined(self.rows[self.old_pieces :]))
        stores = empty_stores(len(own))
        for number, name in enumerate(own):
            if name in self.stores:
                stores[number] = self.stores[name]
        spans = [span for _, span in slices_by_partition(rows.partition)]
        bounds = np.array([*(span.start for span in spans), len(rows.partition)], np.int64)
        feed_stores(stores, np.arange(len(own)), bounds, rows.upstream, rows.downstream)
        return {**self.stores, **dict(zip(own, stores, strict=True))}


def _rows_of(index: SyncIndex) -> SyncRows:
    partition = np.repeat(np.arange(len(index.names)), np.diff(index.row_at))
    hole = np.repeat(index.hole, np.diff(index.row_at))
    follows = np.full((2, len(partition)), UNKNOWN, np.int64)
    linked = np.flatnonzero(index.linked)
    follows[0, linked] = index.upstream[linked - 1]
    follows[1, linked] = index.downstream[linked - 1]
    return SyncRows(partition, index.upstream, index.downstream, hole, *follows)


def _at(count: int, places: Int64s) -> Bools:
    found = np.zeros(count, np.bool_)
    found[places] = True
    return found


def _is_of_newest(marks: Marks, rows: SyncRows, partitions: int) -> Bools:
    """Return which rows belong to the newest generation of their partition: only those answer anything."""
    generation = np.cumsum(marks.partition | marks.generation)
    last = np.searchsorted(rows.partition, np.arange(partitions), side="right") - 1
    found: Bools = generation == generation[last][rows.partition]
    return found
