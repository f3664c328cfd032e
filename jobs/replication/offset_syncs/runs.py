"""Offset syncs as runs: the longest stretches in which downstream minus upstream offset stays the same.

A run keeps the upstream offset of each of its syncs, so nothing is lost: every sync is a piece of evidence.
So is what stands beside it, the sync that was told before it (`jobs.wire.topics.sync_links`): where that is
the one before it here, none is missing between the two, whatever was removed from the log; where it is
another one, some are.
Runs belong to an epoch (the upstream offset rises) of a generation (the downstream offset rises); see
`jobs.replication.translation.partition_syncs` for what begins one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from jobs.cluster.descriptions import TopicPartition
from jobs.replication.translation.partition_syncs import Int64s

Bools = npt.NDArray[np.bool_]
UNKNOWN = -1


class SyncRows(NamedTuple):
    """Offset syncs in the order of the log, as columns.

    `partition` is an index into a list of source partitions that stands beside it. `hole` is how many holes
    the log has before this sync: where records were removed that nobody kept. Two syncs of a partition with
    the same number have none between them. `follows_upstream` and `follows_downstream` are the sync that was
    told before it, both -1 where that is not known.
    """

    partition: Int64s
    upstream: Int64s
    downstream: Int64s
    hole: Int64s
    follows_upstream: Int64s
    follows_downstream: Int64s

    @classmethod
    def empty(cls) -> SyncRows:
        """Return no rows."""
        none = np.empty(0, np.int64)
        return cls(none, none, none, none, none, none)

    @classmethod
    def without_links(
        cls, partition: Int64s, upstream: Int64s, downstream: Int64s, hole: Int64s
    ) -> SyncRows:
        """Return rows of which nobody told what they follow, as MirrorMaker 2 writes them."""
        unknown = np.full(len(partition), UNKNOWN, np.int64)
        return cls(partition, upstream, downstream, hole, unknown, unknown)

    @classmethod
    def joined(cls, pieces: Sequence[SyncRows]) -> SyncRows:
        """Return pieces of the same log one after the other; they share their list of partitions."""
        if not pieces:
            return cls.empty()
        return cls(*(np.concatenate(columns) for columns in zip(*pieces, strict=True)))

    def pick(self, rows: Int64s | Bools | slice) -> SyncRows:
        """Return some of the rows."""
        return SyncRows(*(column[rows] for column in self))


@dataclass(frozen=True, slots=True, eq=False)
class RunTable:
    """Runs of many partitions: those of one stand together, in the order of the log.

    `partition` is an index into `names`. `start` has one entry more than there are runs: the syncs of run i
    are `upstream[start[i]:start[i + 1]]`; `follows_upstream` and `follows_downstream` have as many entries.
    `hole`, and those two: see `SyncRows`.
    """

    names: tuple[TopicPartition, ...]
    partition: Int64s
    generation: Int64s
    epoch: Int64s
    difference: Int64s
    hole: Int64s
    start: Int64s
    upstream: Int64s
    follows_upstream: Int64s
    follows_downstream: Int64s

    def __len__(self) -> int:
        return len(self.partition)

    @property
    def sync_count(self) -> int:
        """How many offset syncs the runs are made of."""
        return len(self.upstream)

    @property
    def first_upstream(self) -> Int64s:
        """The upstream offset of the first sync of each run."""
        return self.upstream[self.start[:-1]]

    @property
    def last_upstream(self) -> Int64s:
        """The upstream offset of the last sync of each run."""
        return self.upstream[self.start[1:] - 1]

    def rows(self) -> SyncRows:
        """Return the syncs again, partition by partition."""
        counts = np.diff(self.start)
        return SyncRows(
            np.repeat(self.partition, counts),
            self.upstream,
            self.upstream + np.repeat(self.difference, counts),
            np.repeat(self.hole, counts),
            self.follows_upstream,
            self.follows_downstream,
        )

    @property
    def after_hole(self) -> Bools:
        """Where the log has a hole between a run and the one before it."""
        found = np.zeros(len(self), np.bool_)
        found[1:] = (self.partition[1:] == self.partition[:-1]) & (self.hole[1:] != self.hole[:-1])
        return found

    def same_as(self, other: RunTable) -> bool:
        """Return whether both hold the same runs of the same partitions."""
        return self.names == other.names and all(
            np.array_equal(getattr(self, name), getattr(other, name)) for name in _COLUMNS
        )


_COLUMNS = (
    "partition",
    "generation",
    "epoch",
    "difference",
    "after_hole",
    "start",
    "upstream",
    "follows_upstream",
    "follows_downstream",
)


class Marks(NamedTuple):
    """Where something new begins among rows that are sorted by partition.

    `gap`: before these rows syncs are missing. `linked`: no sync is missing between a row and the one before.
    """

    partition: Bools
    generation: Bools
    epoch: Bools
    gap: Bools
    linked: Bools


def build_runs(names: Sequence[TopicPartition], rows: SyncRows) -> RunTable:
    """Return the runs of offset syncs; names are sorted, and only those with a sync stay."""
    names, rows = sorted_by_partition(names, rows)
    rows = rows.pick(~repeats(rows))
    marks = marks_of(rows)
    difference = rows.downstream - rows.upstream
    begins = marks.partition | marks.generation | marks.epoch
    begins[1:] |= (difference[1:] != difference[:-1]) | (rows.hole[1:] != rows.hole[:-1])
    first = np.flatnonzero(begins)
    generation = _count_since(marks.generation, marks.partition)
    epoch = _count_since(marks.epoch, marks.partition | marks.generation)
    return RunTable(
        names=tuple(names),
        partition=rows.partition[first],
        generation=generation[first],
        epoch=epoch[first],
        difference=difference[first],
        hole=rows.hole[first],
        start=np.append(first, len(rows.partition)).astype(np.int64),
        upstream=rows.upstream,
        follows_upstream=rows.follows_upstream,
        follows_downstream=rows.follows_downstream,
    )


def join_runs(tables: Sequence[RunTable]) -> RunTable:
    """Return the runs of consecutive pieces of a log; a run that goes on in the next piece is one."""
    names = sorted({name for table in tables for name in table.names})
    number = {name: at for at, name in enumerate(names)}
    pieces = []
    for table in tables:
        rows = table.rows()
        own = np.array([number[name] for name in table.names], np.int64)
        pieces.append(rows._replace(partition=own[rows.partition] if len(own) else rows.partition))
    return build_runs(names, SyncRows.joined(pieces))


class RunBuilder:
    """Takes offset syncs one by one, in the order of the log; the same as `build_runs` of all at once."""

    def __init__(self) -> None:
        self._partitions: dict[TopicPartition, _Growing] = {}

    def add(
        self,
        where: TopicPartition,
        upstream: int,
        downstream: int,
        *,
        hole: int = 0,
        follows: tuple[int, int] | None = None,
    ) -> None:
        """Take the next sync; see `SyncRows` for the hole and what it follows."""
        growing = self._partitions.get(where)
        if growing is None:
            growing = self._partitions[where] = _Growing()
        growing.add((upstream, downstream), hole, follows)

    def table(self) -> RunTable:
        """Return the runs so far."""
        names = sorted(self._partitions)
        runs = [
            (number, *run)
            for number, name in enumerate(names)
            for run in self._partitions[name].runs
        ]
        syncs = [row for name in names for run in self._partitions[name].syncs for row in run]
        upstream, follows_upstream, follows_downstream = np.array(syncs, np.int64).reshape(-1, 3).T
        sizes = [len(run) for name in names for run in self._partitions[name].syncs]
        columns = np.array(runs, np.int64).reshape(-1, 5).T
        return RunTable(
            names=tuple(names),
            partition=columns[0],
            generation=columns[1],
            epoch=columns[2],
            difference=columns[3],
            hole=columns[4],
            start=np.cumsum([0, *sizes], dtype=np.int64),
            upstream=upstream,
            follows_upstream=follows_upstream,
            follows_downstream=follows_downstream,
        )


class _Growing:
    """The runs of one partition: (generation, epoch, difference, hole), and of each sync what is kept."""

    def __init__(self) -> None:
        self.runs: list[tuple[int, int, int, int]] = []
        self.syncs: list[list[tuple[int, int, int]]] = []
        self._last: tuple[int, int] | None = None

    def add(self, pair: tuple[int, int], hole: int, follows: tuple[int, int] | None) -> None:
        last, self._last = self._last, pair
        generation, epoch, old, known = self.runs[-1] if self.runs else (0, 0, None, hole)
        if last == pair and hole == known:
            return
        is_gap = follows != last and (hole != known or follows is not None)
        if last is not None and (is_gap or pair[1] <= last[1]):
            generation, epoch, old = generation + 1, 0, None
        elif last is not None and pair[0] <= last[0]:
            epoch, old = epoch + 1, None
        if pair[1] - pair[0] != old or hole != known:
            self.runs.append((generation, epoch, pair[1] - pair[0], hole))
            self.syncs.append([])
        self.syncs[-1].append((pair[0], *(follows or (UNKNOWN, UNKNOWN))))


def slices_by_partition(partition: Int64s) -> Iterator[tuple[int, slice]]:
    """Yield each partition of sorted rows with the slice of its rows."""
    present, starts = np.unique(partition, return_index=True)
    ends = np.append(starts, len(partition))[1:].tolist()
    for number, start, end in zip(present.tolist(), starts.tolist(), ends, strict=True):
        yield number, slice(start, end)


def sorted_by_partition(
    names: Sequence[TopicPartition], rows: SyncRows
) -> tuple[list[TopicPartition], SyncRows]:
    """Return rows partition by partition, and the names of those that have any, sorted."""
    used = np.flatnonzero(np.bincount(rows.partition, minlength=len(names))).tolist()
    order = sorted(used, key=lambda number: names[number])
    rank = np.zeros(len(names), np.int64)
    rank[order] = np.arange(len(order))
    ranked = rank[rows.partition]
    if len(order) > 1:
        by_partition = np.argsort(ranked, kind="stable")
        rows, ranked = rows.pick(by_partition), ranked[by_partition]
    return [names[number] for number in order], rows._replace(partition=ranked)


def repeats(rows: SyncRows) -> Bools:
    """Return which rows say what the row before them said; behind a hole that is news all the same."""
    found = np.zeros(len(rows.partition), np.bool_)
    found[1:] = True
    for column in (rows.partition, rows.upstream, rows.downstream, rows.hole):
        found[1:] &= column[1:] == column[:-1]
    return found


def marks_of(rows: SyncRows) -> Marks:
    """Return where partitions, generations and epochs begin among sorted rows that do not repeat."""
    count = len(rows.partition)
    partition, generation, epoch, hole, linked = (np.zeros(count, np.bool_) for _ in range(5))
    partition[:1] = True
    partition[1:] = rows.partition[1:] != rows.partition[:-1]
    hole[1:] = rows.hole[1:] != rows.hole[:-1]
    linked[1:] = (rows.follows_upstream[1:] == rows.upstream[:-1]) & (
        rows.follows_downstream[1:] == rows.downstream[:-1]
    )
    linked &= ~partition
    gap = ~linked & ((hole & ~partition) | (rows.follows_upstream != UNKNOWN))
    generation[1:] = rows.downstream[1:] <= rows.downstream[:-1]
    generation = (generation | gap) & ~partition
    epoch[1:] = rows.upstream[1:] <= rows.upstream[:-1]
    epoch &= ~partition & ~generation
    return Marks(partition, generation, epoch, gap, linked)


def _count_since(marks: Bools, resets: Bools) -> Int64s:
    """Return for each row how many marks there were since the last reset, the row's own included."""
    counted = np.cumsum(marks, dtype=np.int64)
    bases = np.where(resets, counted, 0)
    return counted - np.maximum.accumulate(bases) if len(marks) else counted
