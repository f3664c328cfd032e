"""Quick answers: the state of a cluster at an offset or a time, and a partition's history, out of an index.

The answer is that of folding the log from its beginning; `IndexWriter` writes the parts. Of a part one column
is looked through (the offsets); rows become Python objects only when they are asked for.
"""

from __future__ import annotations

import json
import re
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from jobs.quorum.changes import PartitionChange
from jobs.quorum.fold import Fold
from jobs.quorum.fold_record import fold_data
from jobs.quorum.image_records import ImageRecord
from jobs.quorum.image_tables import ImageTables
from jobs.quorum.index_rows import partition_change_of, partition_state_of, record_of_row
from jobs.quorum.index_writer import META
from jobs.quorum.keyed_rows import Int64s, KeyedRows, map_table
from jobs.quorum.moments import Moment
from jobs.quorum.partition_state import NO_LEADER, PartitionState
from jobs.quorum.registrations import Topic
from jobs.quorum.stamp import undated

_PART_NAME = re.compile(r"\d{20}-\d{20}-\d{10}")
# So many parts stay mapped.
_OPEN_PARTS = 8


class PartitionCounts(NamedTuple):
    """How many there were, how many without a leader, not fully in sync, and in reassignment."""

    partitions: int
    offline: int
    under_replicated: int
    reassigning: int


@dataclass(frozen=True, slots=True)
class _Name:
    first: int
    last: int
    path: Path


class _Part:
    def __init__(self, path: Path) -> None:
        self.partitions = KeyedRows(map_table(path / "partitions.arrow"))
        self.documents = KeyedRows(map_table(path / "documents.arrow"))
        self.ticks = map_table(path / "ticks.arrow")
        told: dict[str, Any] = json.loads((path / META).read_text())
        self.unknown: list[tuple[int, int | None]] = [(one[0], one[1]) for one in told["unknown"]]

    @cached_property
    def topics(self) -> dict[str, Int64s]:
        """The first row of each partition, by the topic's name."""
        rows = self.partitions
        column = rows.table["topic"].combine_chunks()
        codes = np.asarray(column.indices.to_numpy(zero_copy_only=False))[rows.first_rows]
        names = column.dictionary.to_pylist()
        order = np.argsort(codes, kind="stable")
        starts = np.searchsorted(codes[order], np.arange(len(names) + 1))
        return {
            name: rows.first_rows[np.sort(order[starts[at] : starts[at + 1]])]
            for at, name in enumerate(names)
        }


class StateThen:
    """The state of a cluster at an offset. `is_unknown`: records before it are missing, and it is empty."""

    def __init__(self, part: _Part, offset: int) -> None:
        self._part = part
        self.offset = offset
        self.is_unknown = any(
            first <= offset and (end is None or offset < end) for first, end in part.unknown
        )
        rows = part.partitions.last_rows(offset)
        self._rows = rows[:0] if self.is_unknown else rows

    @property
    def partition_count(self) -> int:
        """How many partitions there were."""
        return len(self._rows)

    def counts(self) -> PartitionCounts:
        """Count partitions by what an operator asks first."""
        rows = self._part.partitions
        here = self._rows
        lengths = {
            name: rows.lengths(name)[here] for name in ("isr", "replicas", "adding", "removing")
        }
        return PartitionCounts(
            partitions=len(here),
            offline=int((rows.numbers("leader")[here] == NO_LEADER).sum()),
            under_replicated=int((lengths["isr"] < lengths["replicas"]).sum()),
            reassigning=int(((lengths["adding"] + lengths["removing"]) > 0).sum()),
        )

    def leader_counts(self) -> dict[int, int]:
        """Return how many partitions each broker led; -1 counts those without a leader."""
        leaders, counts = np.unique(
            self._part.partitions.numbers("leader")[self._rows], return_counts=True
        )
        return dict(zip(leaders.tolist(), counts.tolist(), strict=True))

    def changes(
        self, start: int = 0, stop: int | None = None, *, topic: str | None = None
    ) -> list[PartitionChange]:
        """Return, of each partition (a page of them), the change that made it what it was.

        In the order in which partitions were first seen; of one topic only where a name is given.
        """
        rows = self._rows if topic is None else self._of_topic(topic)
        return [partition_change_of(row) for row in self._part.partitions.rows(rows[start:stop])]

    def _of_topic(self, topic: str) -> Int64s:
        first = self._part.topics.get(topic)
        if first is None:
            return self._rows[:0]
        # The key of a row is that of the last first row at or before it.
        keys = np.searchsorted(self._part.partitions.first_rows, self._rows, side="right") - 1
        wanted = np.searchsorted(self._part.partitions.first_rows, first)
        return self._rows[np.isin(keys, wanted)]

    def records(self, *types: str) -> Iterator[ImageRecord]:
        """Yield everything besides partitions as records of a snapshot; of these types if any are named."""
        if self.is_unknown:
            return
        documents = self._part.documents
        for row in documents.rows(documents.last_rows(self.offset)):
            if not types or row["type"] in types:
                yield record_of_row(row)

    def tables(self, *types: str) -> ImageTables:
        """Return everything besides partitions as tables; of these record types only, if any are named."""
        fold = Fold()
        for type_, data in self.records(*types):
            fold_data(fold, type_, data, undated(self.offset, 0, None))
        return fold.tables

    def partitions(self) -> Iterator[tuple[Topic, int, PartitionState]]:
        """Yield all partitions; of a large cluster rather ask for counts and pages."""
        for row in self._part.partitions.rows(self._rows):
            topic = Topic(row["topic"], row["topic_id"])
            yield topic, row["partition"], partition_state_of(row)

    def image(self) -> ImageTables:
        """Return everything as tables."""
        tables = self.tables()
        for topic, number, state in self.partitions():
            tables.partitions[topic.topic_id][number] = state
        return tables


class ImageIndex:
    """Reads the parts of an index; new parts are seen when they are there."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._open: OrderedDict[Path, _Part] = OrderedDict()

    @property
    def end_offset(self) -> int:
        """The offset behind the last change that is indexed; 0 when there is none."""
        return max((one.last + 1 for one in self._names()), default=0)

    def state_at(self, moment: Moment) -> StateThen | None:
        """Return the state at a moment; None before everything that is known.

        Behind the end it is that of the last change. Raises OSError when a part cannot be read.
        """
        offset = moment.offset
        if offset is None:
            offset = self._offset_at(moment.timestamp_ms)
        if offset is None:
            return None
        before = [one for one in self._names() if one.first <= offset]
        return StateThen(self._part(before[-1]), offset) if before else None

    def partition_history(
        self, topic: str, partition: int, *, to_offset: int | None = None
    ) -> Iterator[PartitionChange]:
        """Yield the changes of a partition, of all topics that ever had the name, in the order of the log."""
        told = -1
        for name in self._names():
            found = [
                one
                for one in self._of_partition(self._part(name), topic, partition)
                # What a part begins with was told by the one before.
                if one.effective_offset > told
                and (to_offset is None or one.effective_offset < to_offset)
            ]
            yield from sorted(found, key=lambda one: (one.effective_offset, one.offset))
            told = name.last

    @staticmethod
    def _of_partition(part: _Part, topic: str, partition: int) -> Iterator[PartitionChange]:
        rows = part.partitions
        numbers = rows.numbers("partition")
        for first in part.topics.get(topic, ()):
            if numbers[first] == partition:
                at = int(np.searchsorted(rows.first_rows, first)) + 1
                end = rows.first_rows[at] if at < len(rows.first_rows) else len(rows.offsets)
                yield from map(partition_change_of, rows.rows(np.arange(first, end)))

    def _names(self) -> list[_Name]:
        """Return the parts in order; of two with the same beginning the longer one."""
        found: dict[int, _Name] = {}
        for path in sorted(self._folder.iterdir()) if self._folder.is_dir() else ():
            if _PART_NAME.fullmatch(path.name):
                first, last, _ = map(int, path.name.split("-"))
                found[first] = _Name(first, last, path)
        return [found[first] for first in sorted(found)]

    def _part(self, name: _Name) -> _Part:
        part = self._open.pop(name.path, None) or self._opened(name)
        self._open[name.path] = part
        if len(self._open) > _OPEN_PARTS:
            self._open.popitem(last=False)
        return part

    def _opened(self, name: _Name) -> _Part:
        try:
            return _Part(name.path)
        except FileNotFoundError:
            # A growing part was replaced by a longer one since the folder was listed.
            longer = [one for one in self._names() if one.first == name.first]
            if not longer or longer[0].path == name.path:
                raise
            return _Part(longer[0].path)

    def _offset_at(self, timestamp_ms: int | None) -> int | None:
        """Return the last offset before the first record that is later; None: it is before everything."""
        names = self._names()
        if timestamp_ms is None:
            return names[-1].last if names else None
        for name in reversed(names):
            ticks = self._part(name).ticks
            at = int(np.searchsorted(ticks["latest_ms"].to_numpy(), timestamp_ms, side="right"))
            if at:
                return int(ticks["offset"][at - 1].as_py())
        return None
