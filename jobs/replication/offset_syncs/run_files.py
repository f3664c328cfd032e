"""Runs as Parquet: a row per run, with the upstream offset of each of its syncs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped] # it has no types
import pyarrow.parquet as pq  # type: ignore[import-untyped] # it has no types

from jobs.cluster.descriptions import TopicPartition
from jobs.files import write_whole
from jobs.replication.offset_syncs.runs import UNKNOWN, RunTable, marks_of
from jobs.replication.translation.partition_syncs import Int64s

SCHEMA = pa.schema(
    [
        pa.field("topic", pa.dictionary(pa.int32(), pa.string()), nullable=False),
        pa.field("partition", pa.int32(), nullable=False),
        pa.field("generation", pa.int64(), nullable=False),
        pa.field("epoch", pa.int64(), nullable=False),
        pa.field("difference", pa.int64(), nullable=False),
        pa.field("hole", pa.int64(), nullable=False),
        pa.field("upstream_offsets", pa.large_list(pa.int64()), nullable=False),
        pa.field("follows_upstream", pa.large_list(pa.int64()), nullable=False),
        pa.field("follows_downstream", pa.large_list(pa.int64()), nullable=False),
    ]
)
_LISTS = ("upstream_offsets", "follows_upstream", "follows_downstream")
# Files of version 0.1 have none of these: nothing is known of what their syncs follow.
_ADDED = _LISTS[1:]
# In the file for "the sync before it": nearly all of crosslog's are linked, and that takes no room.
_PREVIOUS = -2


class BadRuns(ValueError):
    """A file that should hold runs and does not; the message names it."""


def write_runs(path: Path, table: RunTable) -> None:
    """Write runs into a file that is there whole or not at all."""
    write_whole(path, lambda file: write_table(table, file))


def write_table(table: RunTable, file: BinaryIO) -> None:
    """Write runs as the content of a file."""
    topics = pa.array([name.topic for name in table.names], pa.string())
    partitions = np.array([name.partition for name in table.names], np.int32)
    columns = [
        pa.DictionaryArray.from_arrays(pa.array(table.partition.astype(np.int32)), topics),
        pa.array(partitions[table.partition]),
        pa.array(table.generation),
        pa.array(table.epoch),
        pa.array(table.difference),
        pa.array(table.hole),
        *(_lists(table, values) for values in (table.upstream, *_short_links(table))),
    ]
    _write(pa.Table.from_arrays(columns, schema=SCHEMA), file)


def read_runs(path: Path) -> RunTable:
    """Read what `write_runs` wrote; raises FileNotFoundError, and `BadRuns` when it is not that."""
    try:
        with path.open("rb") as file:
            return read_table(file)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, KeyError, ValueError) as error:
        raise BadRuns(f"{path} does not hold runs of offset syncs: {error}") from None


def read_table(file: BinaryIO) -> RunTable:
    """Read what `write_table` wrote; raises pyarrow's errors when it is not that."""
    content = pq.read_table(file)
    for name in _ADDED:
        if name not in content.column_names:
            content = content.append_column(SCHEMA.field(name), _unknown(content))
    return _table(content.cast(SCHEMA).combine_chunks())


def _write(content: Any, file: BinaryIO) -> None:
    # Offsets rise: their differences take a byte or two each.
    pq.write_table(
        content,
        file,
        compression="zstd",
        use_dictionary=["topic", "partition"],
        column_encoding={f"{name}.list.element": "DELTA_BINARY_PACKED" for name in _LISTS},
    )


def _lists(table: RunTable, values: Int64s) -> Any:
    return pa.LargeListArray.from_arrays(pa.array(table.start), pa.array(values))


def _unknown(content: Any) -> Any:
    """Return as many lists of the same lengths, in which nothing is known."""
    offsets = _one(content.combine_chunks()["upstream_offsets"])
    lengths = np.diff(offsets.offsets.to_numpy())
    start = np.append(0, np.cumsum(lengths)).astype(np.int64)
    nothing = pa.array(np.full(int(start[-1]), UNKNOWN, np.int64))
    return pa.LargeListArray.from_arrays(pa.array(start), nothing)


def _short_links(table: RunTable) -> tuple[Int64s, Int64s]:
    """Return what the syncs follow; where it is the one before in the table, a number that says just that."""
    rows = table.rows()
    linked = marks_of(rows).linked
    upstream = np.where(linked, _PREVIOUS, rows.follows_upstream)
    return upstream, np.where(linked, _PREVIOUS, rows.follows_downstream)


def _with_whole_links(table: RunTable) -> RunTable:
    """Return the inverse of `_short_links`."""
    rows = table.rows()
    linked = np.flatnonzero(table.follows_upstream == _PREVIOUS)
    upstream, downstream = table.follows_upstream.copy(), table.follows_downstream.copy()
    upstream[linked] = rows.upstream[linked - 1]
    downstream[linked] = rows.downstream[linked - 1]
    return replace(table, follows_upstream=upstream, follows_downstream=downstream)


def _table(content: Any) -> RunTable:
    topics, topic_of = _topics(_one(content["topic"]))
    # Both are below 2^31.
    packed = (topic_of << 32) | _one(content["partition"]).to_numpy().astype(np.int64)
    present, partition = np.unique(packed, return_inverse=True)
    names = [TopicPartition(topics[one >> 32], one & 0xFFFFFFFF) for one in present.tolist()]
    lists = [_one(content[name]) for name in _LISTS]
    starts = [one.offsets.to_numpy().astype(np.int64) for one in lists]
    values = [one.values.to_numpy()[at[0] : at[-1]] for one, at in zip(lists, starts, strict=True)]
    table = RunTable(
        names=tuple(names),
        partition=partition.astype(np.int64),
        generation=_one(content["generation"]).to_numpy(),
        epoch=_one(content["epoch"]).to_numpy(),
        difference=_one(content["difference"]).to_numpy(),
        hole=_one(content["hole"]).to_numpy(),
        start=starts[0] - starts[0][0],
        upstream=values[0],
        follows_upstream=values[1],
        follows_downstream=values[2],
    )
    return _with_whole_links(table)


def _topics(column: Any) -> tuple[list[str], Any]:
    return column.dictionary.to_pylist(), column.indices.to_numpy().astype(np.int64)


def _one(column: Any) -> Any:
    """Return a column of a table whose chunks are one; no rows may mean no chunk."""
    return column.chunk(0) if column.num_chunks else pa.array([], column.type)
