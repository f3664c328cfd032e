"""Offset syncs as columns, in the order of the log; many partitions as one table.

Every sync is kept, with what stands beside it: the sync that was told before it
(`jobs.wire.topics.sync_links`). Where that is the one before it here, none is missing between the two,
whatever was removed from the log; where it is another one, some are.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from jobs.cluster.descriptions import TopicPartition

Int64s = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
UNKNOWN = -1


class SyncRows(NamedTuple):
    """Offset syncs in the order of the log.

    `partition` is an index into a list of source partitions that stands beside it. `hole` is how many holes
    the log has before this sync: where records were removed that nobody kept. Two syncs of a partition with
    the same number have none between them. `follows_upstream` and `follows_downstream` are the sync that was
    told before it, both -1 where that is not known. `at_ms` is when it was written (ms since 1970), -1 where
    nobody kept that. `chained` is 1 where it is no record of its own, but stands beside a later one.
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
        """Return rows of which nobody told what they follow, nor when they were written."""
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
        """Return what MirrorMaker 2 sees: of a record that stands for several syncs, its own."""
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
