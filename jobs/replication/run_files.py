"""Runs as Parquet: a row per run, with the upstream offset of each of its syncs."""

from __future__ import annotations

from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped] # it has no types
import pyarrow.parquet as pq  # type: ignore[import-untyped] # it has no types

from jobs.cluster.descriptions import TopicPartition
from jobs.files import write_whole
from jobs.replication.sync_runs import RunTable

SCHEMA = pa.schema(
    [
        pa.field("topic", pa.dictionary(pa.int32(), pa.string()), nullable=False),
        pa.field("partition", pa.int32(), nullable=False),
        pa.field("generation", pa.int64(), nullable=False),
        pa.field("epoch", pa.int64(), nullable=False),
        pa.field("difference", pa.int64(), nullable=False),
        pa.field("hole", pa.int64(), nullable=False),
        pa.field("upstream_offsets", pa.large_list(pa.int64()), nullable=False),
    ]
)
_OFFSETS = "upstream_offsets.list.element"


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
        pa.LargeListArray.from_arrays(pa.array(table.start), pa.array(table.upstream)),
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
    return _table(pq.read_table(file).cast(SCHEMA).combine_chunks())


def _write(content: Any, file: BinaryIO) -> None:
    # Offsets rise: their differences take a byte or two each.
    pq.write_table(
        content,
        file,
        compression="zstd",
        use_dictionary=["topic", "partition"],
        column_encoding={_OFFSETS: "DELTA_BINARY_PACKED"},
    )


def _table(content: Any) -> RunTable:
    topics, topic_of = _topics(_one(content["topic"]))
    # Both are below 2^31.
    packed = (topic_of << 32) | _one(content["partition"]).to_numpy().astype(np.int64)
    present, partition = np.unique(packed, return_inverse=True)
    names = [TopicPartition(topics[one >> 32], one & 0xFFFFFFFF) for one in present.tolist()]
    lists = _one(content["upstream_offsets"])
    start = lists.offsets.to_numpy().astype(np.int64)
    return RunTable(
        names=tuple(names),
        partition=partition.astype(np.int64),
        generation=_one(content["generation"]).to_numpy(),
        epoch=_one(content["epoch"]).to_numpy(),
        difference=_one(content["difference"]).to_numpy(),
        hole=_one(content["hole"]).to_numpy(),
        start=start - start[0],
        upstream=lists.values.to_numpy()[start[0] : start[-1]],
    )


def _topics(column: Any) -> tuple[list[str], Any]:
    return column.dictionary.to_pylist(), column.indices.to_numpy().astype(np.int64)


def _one(column: Any) -> Any:
    """Return a column of a table whose chunks are one; no rows may mean no chunk."""
    return column.chunk(0) if column.num_chunks else pa.array([], column.type)
