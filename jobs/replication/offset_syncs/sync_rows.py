"""Offset syncs as columns, in the order of the log; many partitions as one table.

Every sync is kept, with what is beside it: the sync that was written before it
(`jobs.wire.topics.sync_links`). Where that is the one before it here, none is missing between the two,
whatever was removed from the log; where it is another one, some are.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from jobs.cluster.descriptions import TopicPartition
from jobs.files import cache_folder
from jobs.replication.offset_sync_store import SIZE, TOO_OLD, KeptSync, OffsetSyncStore

Int64s = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
UNKNOWN = -1


class SyncRows(NamedTuple):
    """Offset syncs in the order of the log.

    `partition` is an index into a list of source partitions beside it. `hole` is how many holes
    the log has before this sync: where records were removed that are not stored. Two syncs of a partition
    with the same number have none between them. `follows_upstream` and `follows_downstream` are the sync that
    was written before it, both -1 where that is not known. `at_ms` is when it was written (ms since 1970), -1
    where that is not stored. `chained` is 1 where it is no record of its own, but is beside a later one.
    """

    partition: Int64s
    upstream: Int64s
    downstream: Int64s
    hole: Int64s
    follows_upstream: Int64s
    follows_downstream: Int64s
    at_ms: Int64s
    chained: Int64s

    @classmethod
    def empty(cls) -> SyncRows:
        return cls(*(np.empty(0, np.int64) for _ in cls._fields))

    @classmethod
    def without_links(
        cls, partition: Int64s, upstream: Int64s, downstream: Int64s, hole: Int64s
    ) -> SyncRows:
        """Return rows for which it is not known what they follow, nor when they were written."""
        unknown = np.full(len(partition), UNKNOWN, np.int64)
        own = np.zeros(len(partition), np.int64)
        return cls(partition, upstream, downstream, hole, unknown, unknown, unknown, own)

    @classmethod
    def joined(cls, pieces: Sequence[SyncRows]) -> SyncRows:
        """Return pieces of the same log one after the other; they share their list of partitions."""
        if len(pieces) < 2:  # noqa: PLR2004  nothing to join
            return pieces[0] if pieces else cls.empty()
        return cls(*(np.concatenate(columns) for columns in zip(*pieces, strict=True)))

    def pick(self, rows: Int64s | Bools | slice) -> SyncRows:
        return SyncRows(*(column[rows] for column in self))

    def records(self) -> SyncRows:
        """Return what MirrorMaker 2 sees: of a record with several syncs, its own."""
        return self.pick(self.chained == 0) if self.chained.any() else self

    def known_at(self, at_ms: int) -> SyncRows:
        """Return what of one partition was written up to a time: nothing behind the last sync of then."""
        known = np.flatnonzero(self.at_ms <= at_ms)
        return self.pick(slice(0, int(known[-1]) + 1 if len(known) else 0))


@dataclass(frozen=True, slots=True, eq=False)
class SyncTable:
    """Offset syncs partition by partition, those of one in the order of the log.

    Those of `names[i]` are the rows `row_at[i]` to `row_at[i + 1]`; each has at least one.
    """

    names: tuple[TopicPartition, ...]
    row_at: Int64s
    all_rows: SyncRows

    def __len__(self) -> int:
        return len(self.all_rows.partition)

    def __iter__(self) -> Iterator[tuple[TopicPartition, SyncRows]]:
        for number, name in enumerate(self.names):
            yield name, self.rows(number)

    def rows(self, number: int) -> SyncRows:
        """Return the rows of a partition by its place in `names`."""
        return self.all_rows.pick(slice(int(self.row_at[number]), int(self.row_at[number + 1])))


def sync_table(names: Sequence[TopicPartition], rows: SyncRows) -> SyncTable:
    """Return rows of a log as a table; names are sorted, and what says nothing new is left out."""
    used = np.flatnonzero(np.bincount(rows.partition, minlength=len(names))).tolist()
    order = sorted(used, key=lambda number: names[number])
    rank = np.zeros(len(names), np.int64)
    rank[order] = np.arange(len(order))
    rows = rows._replace(partition=rank[rows.partition])
    rows = rows.pick(np.argsort(rows.partition, kind="stable"))
    rows = rows.pick(~repeats(rows))
    row_at = np.searchsorted(rows.partition, np.arange(len(order) + 1)).astype(np.int64)
    return SyncTable(tuple(names[number] for number in order), row_at, rows)


def joined_tables(tables: Iterable[SyncTable]) -> SyncTable:
    """Return consecutive pieces of a log as one table."""
    numbers: dict[TopicPartition, int] = {}
    pieces = []
    for table in tables:
        own = [numbers.setdefault(name, len(numbers)) for name in table.names]
        partition = np.array(own, np.int64)[table.all_rows.partition]
        pieces.append(table.all_rows._replace(partition=partition))
    return sync_table(list(numbers), SyncRows.joined(pieces))


def repeats(rows: SyncRows) -> Bools:
    """Return which rows say what the row before them said; behind a hole that is news all the same."""
    found = np.zeros(len(rows.partition), np.bool_)
    found[1:] = True
    for column in (rows.partition, rows.upstream, rows.downstream, rows.hole):
        found[1:] &= column[1:] == column[:-1]
    return found


def slices_by_partition(partition: Int64s) -> Iterator[tuple[int, slice]]:
    """Yield each partition of sorted rows with the slice of its rows."""
    present, starts = np.unique(partition, return_index=True)
    ends = np.append(starts, len(partition))[1:].tolist()
    for number, start, end in zip(present.tolist(), starts.tolist(), ends, strict=True):
        yield number, slice(start, end)


# From so many syncs on the compiled loop is worth its start.
_MANY = 20_000
# Instead of an answer: there is no offset sync of the partition.
NOTHING = -2
_fed = [0]


def nothing_kept() -> Int64s:
    """Return what MirrorMaker 2 would have kept of no sync: (upstream, downstream, which sync it is) x 64."""
    return np.full((3, SIZE), -1, np.int64)


def store_of(kept: Int64s) -> OffsetSyncStore:
    """Return the store of one partition, ready to answer."""
    if kept[2, 0] < 0:
        return OffsetSyncStore.restored([])
    upstreams, downstreams, numbers = kept.tolist()
    by_number = {
        number: KeptSync(upstream, downstream)
        for upstream, downstream, number in zip(upstreams, downstreams, numbers, strict=True)
    }
    return OffsetSyncStore.restored([by_number[number] for number in numbers])


def kept_by(store: OffsetSyncStore) -> Int64s:
    """Return the inverse of `store_of`."""
    kept = nothing_kept()
    # The latest gets the highest number: numbers continue from there.
    numbers: dict[int, int] = {}
    for sync in reversed(store.syncs):
        numbers.setdefault(id(sync), len(numbers))
    for at, sync in enumerate(store.syncs):
        kept[:, at] = (*sync, numbers[id(sync)])
    return kept


def translated(kept: Int64s, upstreams: Int64s) -> Int64s:
    """Return what `OffsetSyncStore.translate` answers for each offset; `NOTHING` without any sync."""
    if kept[2, 0] < 0:
        return np.full(len(upstreams), NOTHING, np.int64)
    # Latest first: the first at or before an offset is the one that answers.
    at = np.searchsorted(-kept[0], -upstreams, side="left")
    sync = np.minimum(at, SIZE - 1)
    found = kept[1][sync] + (upstreams > kept[0][sync])
    return np.where(at < SIZE, found, TOO_OLD)


def feed(
    kept: Int64s, upstream: Int64s, downstream: Int64s, *, compiled: bool | None = None
) -> None:
    """Give a store syncs in the order of the log; `compiled` None: once there were many in this process."""
    _fed[0] += len(upstream)
    if _fed[0] >= _MANY if compiled is None else compiled:
        os.environ.setdefault("NUMBA_CACHE_DIR", str(cache_folder() / "numba"))
        try:
            from jobs.replication.offset_syncs import kept_syncs_kernel
        except ImportError:
            pass
        else:
            kept_syncs_kernel.feed(kept, nothing_kept(), upstream, downstream)
            return
    store = store_of(kept)
    for pair in zip(upstream.tolist(), downstream.tolist(), strict=True):
        store.sync(*pair)
    kept[:] = kept_by(store)
