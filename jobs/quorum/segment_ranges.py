"""Segments cut at the borders of batches, so that their ranges can be decoded at the same time."""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped] # it has no types

from jobs.quorum.replay_history import uuid_text
from jobs.wire import metadata_table as t
from jobs.wire.metadata_columns import MetadataColumns, find_batches, read_columns
from jobs.wire.metadata_table import Bytes

RANGE_BYTES = 32 * 1024 * 1024
_LISTS = {
    "isr": t.ISR,
    "replicas": t.REPLICAS,
    "removing": t.REMOVING,
    "adding": t.ADDING,
    "elr": t.ELR,
    "last_known_elr": t.LAST_KNOWN_ELR,
}
# PartitionRecords and PartitionChangeRecords as they stand in the log: null is what a record does not name.
SCHEMA = pa.schema(
    [
        ("offset", pa.int64()),
        ("epoch", pa.int32()),
        ("timestamp_ms", pa.int64()),
        ("is_change", pa.bool_()),
        ("version", pa.int16()),
        ("topic_id", pa.string()),
        ("partition", pa.int32()),
        ("leader", pa.int32()),
        ("recovery_state", pa.int8()),
        *((name, pa.list_(pa.int32())) for name in _LISTS),
    ]
)


@dataclass(frozen=True, slots=True)
class SegmentRange:
    """Bytes of a segment from one batch's begin to another's; `offset` is that of the first record."""

    path: Path
    begin: int
    end: int
    offset: int


def ranges_of(path: Path, base_offset: int, range_bytes: int = RANGE_BYTES) -> list[SegmentRange]:
    """Cut a segment by one pass over the headers of its batches; what is out of the ordinary stays whole."""
    log = _mapped(path)
    batches, ordinary = find_batches(log)
    positions = batches[:, t.POSITION]
    # The first batch behind every multiple of the size.
    wanted = np.arange(0, ordinary, range_bytes)
    first = np.unique(np.searchsorted(positions, wanted))
    first = first[first < len(positions)]
    borders = [*positions[first].tolist(), len(log)]
    offsets = batches[first, t.BASE_OFFSET].tolist()
    if not borders[:-1]:
        return [SegmentRange(path, 0, len(log), base_offset)] if len(log) else []
    offsets[0] = base_offset
    return [
        SegmentRange(path, begin, end, offset)
        for begin, end, offset in zip(borders[:-1], borders[1:], offsets, strict=True)
    ]


def read_range(one: SegmentRange) -> Iterator[MetadataColumns]:
    """Yield the columns of a range."""
    yield from read_columns(
        _mapped(one.path), byte_range=(one.begin, one.end), expected_offset=one.offset
    )


def partition_records(columns: MetadataColumns) -> pa.RecordBatch:
    """Return the partition records of columns in the form of `SCHEMA`."""
    tables = columns.tables
    rows = tables.partitions[t.RECORD]
    is_change = columns.type[rows] == t.PARTITION_CHANGE
    leader, recovery = tables.partitions[t.LEADER], tables.partitions[t.RECOVERY]
    halves = tables.partitions[[t.TOPIC_HIGH, t.TOPIC_LOW]].T
    ids, numbers = np.unique(halves, axis=0, return_inverse=True)
    names = pa.array([uuid_text(*one) for one in ids.tolist()], pa.string())
    arrays = [
        columns.offset[rows],
        columns.epoch[rows],
        columns.timestamp_ms[rows],
        is_change,
        columns.version[rows],
        names.take(pa.array(numbers.reshape(-1))),
        tables.partitions[t.PARTITION],
        pa.array(leader, mask=is_change & (leader == t.SAME_LEADER)),
        pa.array(recovery, mask=is_change & (recovery == t.ABSENT)),
        *(_lists(columns, which) for which in _LISTS.values()),
    ]
    told = [
        (one if isinstance(one, pa.Array) else pa.array(one)).cast(field.type)
        for one, field in zip(arrays, SCHEMA, strict=True)
    ]
    return pa.RecordBatch.from_arrays(told, schema=SCHEMA)


def _lists(columns: MetadataColumns, which: int) -> pa.Array:
    ends = columns.tables.ends[which]
    absent = pa.array(columns.tables.valid[which] == 0)
    values = pa.array(columns.tables.values[which, : int(ends[-1])])
    return pa.ListArray.from_arrays(pa.array(ends), values, mask=absent)


def _mapped(path: Path) -> Bytes:
    if not path.stat().st_size:
        return np.empty(0, np.uint8)
    with path.open("rb") as file:
        return np.frombuffer(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ), np.uint8)
