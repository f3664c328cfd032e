"""Files of an archive of offset syncs: Parquet, a row per sync, partition by partition.

A file of many syncs is read a few partitions at a time: its row groups end where a partition ends, or are
full. The footer names the partitions with their rows, and may say what MirrorMaker 2 would have kept of each
at the end of the file (`kept_syncs`).
"""

from __future__ import annotations

import json
import zlib
from base64 import b64decode, b64encode
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped] # it has no types
import pyarrow.parquet as pq  # type: ignore[import-untyped] # it has no types

from jobs.archives import BadArchive
from jobs.cluster.descriptions import TopicPartition
from jobs.replication.offset_sync_store import SIZE
from jobs.replication.offset_syncs.sync_rows import (
    UNKNOWN,
    Int64s,
    SyncRows,
    SyncTable,
    sync_table,
)

_NAMES = SyncRows._fields[1:]
SCHEMA = pa.schema(
    [
        pa.field("topic", pa.dictionary(pa.int32(), pa.string()), nullable=False),
        pa.field("partition", pa.int32(), nullable=False),
        *(pa.field(name, pa.int64(), nullable=False) for name in _NAMES),
    ]
)
_PARTITIONS, _KEPT = b"crosslog.partitions", b"crosslog.kept"
# In the file for "the sync before it": nearly all of crosslog's are linked, and that takes no room.
_PREVIOUS = -2
# A row group is written when it has so many rows; one partition may need several.
GROUP_ROWS, LONGEST_GROUP = 50_000, 1_000_000


class BadSyncFile(BadArchive):
    """A file that should hold offset syncs and does not; the message names it."""


def write_syncs(
    file: BinaryIO | Path,
    content: Iterable[tuple[TopicPartition, SyncRows]],
    kept: dict[TopicPartition, Int64s] | None = None,
) -> int:
    """Write partitions, sorted, and return how many syncs they have; at no time more than a group is held.

    `kept` is called when all are written.
    """
    counts: list[tuple[str, int, int]] = []
    waiting: list[tuple[TopicPartition, SyncRows]] = []
    with pq.ParquetWriter(
        file,
        SCHEMA,
        compression="zstd",
        use_dictionary=["topic", "partition", "hole"],
        # Offsets rise: their differences take a byte or two each.
        column_encoding={n: "DELTA_BINARY_PACKED" for n in _NAMES if n != "hole"},
    ) as writer:

        def flush() -> None:
            if waiting:
                writer.write_table(_arrow(waiting), row_group_size=LONGEST_GROUP)
                waiting.clear()

        rows_waiting = 0
        for name, rows in content:
            counts.append((*name, len(rows.upstream)))
            waiting.append((name, rows))
            rows_waiting += len(rows.upstream)
            if rows_waiting >= GROUP_ROWS:
                flush()
                rows_waiting = 0
        flush()
        told = {_PARTITIONS: json.dumps(counts)}
        if kept is not None:
            stores = np.array([kept[TopicPartition(*one[:2])] for one in counts], np.int64)
            told[_KEPT] = b64encode(zlib.compress(stores.tobytes(), 1)).decode()
        writer.add_key_value_metadata(told)
    return sum(count for *_, count in counts)


class SyncFile:
    """One file of an archive, which stays readable when it was replaced by a merged one.

    Raises FileNotFoundError, and `BadSyncFile` when it is none, also while it is read.
    """

    def __init__(self, file: BinaryIO | Path) -> None:
        self._path = file
        with self._named():
            self._file = pq.ParquetFile(file)
            told = self._file.metadata.metadata or {}
            self._old = None if _PARTITIONS in told else _read_runs(self._file.read())
            counts = [] if self._old is not None else json.loads(told[_PARTITIONS])
        if self._old is not None:
            self.names, self.row_at = self._old.names, self._old.row_at
        else:
            self.names = tuple(TopicPartition(*one[:2]) for one in counts)
            self.row_at = np.append(0, np.cumsum([one[2] for one in counts])).astype(np.int64)
        self._numbers = {name: number for number, name in enumerate(self.names)}
        groups = range(self._file.metadata.num_row_groups)
        sizes = [self._file.metadata.row_group(group).num_rows for group in groups]
        self._group_at = np.append(0, np.cumsum(sizes)).astype(np.int64)
        self._kept = told.get(_KEPT)
        self._stores: Any = None
        self._seen: tuple[tuple[int, int], tuple[Int64s, ...]] | None = None

    def __contains__(self, where: TopicPartition) -> bool:
        return where in self._numbers

    def __len__(self) -> int:
        return int(self.row_at[-1])

    def rows(self, where: TopicPartition) -> SyncRows:
        """Return the syncs of a partition, in the order of the log; none where there are none here."""
        number = self._numbers.get(where)
        if number is None:
            return SyncRows.empty()
        if self._old is not None:
            return self._old.rows(number)
        start, end = int(self.row_at[number]), int(self.row_at[number + 1])
        first = int(np.searchsorted(self._group_at, start, side="right")) - 1
        behind = int(np.searchsorted(self._group_at, end, side="left"))
        base = int(self._group_at[first])
        columns = [one[start - base : end - base] for one in self._columns(first, behind)]
        partition = np.full(end - start, number, np.int64)
        return _with_whole_links(SyncRows(partition, *columns))

    def table(self) -> SyncTable:
        pieces = [self.rows(name) for name in self.names]
        return SyncTable(self.names, self.row_at, SyncRows.joined(pieces))

    def kept(self, where: TopicPartition) -> Int64s | None:
        """Return what MirrorMaker 2 would have kept at the end of this file; None: not stored."""
        if self._kept is None or where not in self._numbers:
            return None
        if self._stores is None:
            with self._named():
                content = zlib.decompress(b64decode(self._kept))
                self._stores = np.frombuffer(content, np.int64).reshape(-1, 3, SIZE)
        found: Int64s = self._stores[self._numbers[where]].copy()
        return found

    def _columns(self, first: int, behind: int) -> tuple[Int64s, ...]:
        """Return the columns of some row groups; reading partition by partition reads each once."""
        seen = self._seen
        if seen is None or seen[0] != (first, behind):
            with self._named():
                groups = list(range(first, behind))
                content = self._file.read_row_groups(groups, columns=list(_NAMES))
                if _NAMES[-1] not in content.column_names:  # chains were not written then
                    none = np.zeros(len(content), np.int64)
                    content = content.append_column(_NAMES[-1], pa.array(none))
                columns = tuple(content[name].to_numpy() for name in _NAMES)
            seen = self._seen = (first, behind), columns
        return seen[1]

    @contextmanager
    def _named(self) -> Iterator[None]:
        try:
            yield
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError, KeyError, ValueError) as error:
            raise BadSyncFile(f"{self._path} does not hold offset syncs: {error}") from None


def _arrow(content: list[tuple[TopicPartition, SyncRows]]) -> Any:
    counts = [len(rows.upstream) for _, rows in content]
    topics = sorted({name.topic for name, _ in content})
    topic = np.repeat([topics.index(name.topic) for name, _ in content], counts)
    columns = SyncRows.joined([_with_short_links(rows) for _, rows in content])
    partition = np.repeat([name.partition for name, _ in content], counts)
    return pa.Table.from_arrays(
        [
            pa.DictionaryArray.from_arrays(pa.array(topic.astype(np.int32)), pa.array(topics)),
            pa.array(partition.astype(np.int32)),
            *(pa.array(column) for column in columns[1:]),
        ],
        schema=SCHEMA,
    )


def _with_short_links(rows: SyncRows) -> SyncRows:
    """Say "the one before it" where a sync follows the one that is before it in this piece."""
    linked = np.zeros(len(rows.upstream), np.bool_)
    linked[1:] = (rows.follows_upstream[1:] == rows.upstream[:-1]) & (
        rows.follows_downstream[1:] == rows.downstream[:-1]
    )
    return rows._replace(
        follows_upstream=np.where(linked, _PREVIOUS, rows.follows_upstream),
        follows_downstream=np.where(linked, _PREVIOUS, rows.follows_downstream),
    )


def _with_whole_links(rows: SyncRows) -> SyncRows:
    """Return the inverse of `_with_short_links`."""
    linked = np.flatnonzero(rows.follows_upstream == _PREVIOUS)
    upstream, downstream = rows.follows_upstream.copy(), rows.follows_downstream.copy()
    upstream[linked] = rows.upstream[linked - 1]
    downstream[linked] = rows.downstream[linked - 1]
    return rows._replace(follows_upstream=upstream, follows_downstream=downstream)


def _read_runs(content: Any) -> SyncTable:
    """Return what a file of version 1 holds: a row per run of one difference, with lists of its offsets."""
    counts = np.diff(content["upstream_offsets"].combine_chunks().offsets.to_numpy())

    def each(name: str) -> Int64s:
        found: Int64s = np.repeat(content[name].to_numpy().astype(np.int64), counts)
        return found

    def listed(name: str) -> Int64s:
        if name not in content.column_names:
            return np.full(int(counts.sum()), UNKNOWN, np.int64)
        found: Int64s = content[name].combine_chunks().flatten().to_numpy().astype(np.int64)
        return found

    upstream = listed("upstream_offsets")
    topics, partitions = content["topic"].to_pylist(), content["partition"].to_pylist()
    names = [TopicPartition(*one) for one in zip(topics, partitions, strict=True)]
    known = list(dict.fromkeys(names))
    number = {name: at for at, name in enumerate(known)}
    rows = SyncRows(
        np.repeat(np.array([number[name] for name in names], np.int64), counts),
        upstream,
        upstream + each("difference"),
        each("hole"),
        listed("follows_upstream"),
        listed("follows_downstream"),
        np.full(len(upstream), UNKNOWN, np.int64),
        np.zeros(len(upstream), np.int64),
    )
    return sync_table(known, _with_whole_links(rows))
