"""Partition history as Arrow tables and Parquet files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa  # type: ignore[import-untyped] # it has no types
import pyarrow.parquet as pq  # type: ignore[import-untyped] # as above

from jobs.quorum.replay import table as r
from jobs.quorum.replay.history import NO_TIME, PartitionHistory, uuid_text
from jobs.quorum.replay.table import CAUSE_OF, ELECTION_OF, Int32s, Int64s
from jobs.wire.metadata import table as t

Bools = npt.NDArray[np.bool_]
_TEXT = pa.dictionary(pa.int32(), pa.string())
_LIST = pa.list_(pa.int32())
_STATE_LISTS = {
    "isr": t.ISR,
    "elr": t.ELR,
    "last_known_elr": t.LAST_KNOWN_ELR,
    "replicas": t.REPLICAS,
    "adding": t.ADDING,
    "removing": t.REMOVING,
}
# The columns of a history, in the words of `history.changes.PartitionChange`; absent values are null.
SCHEMA = pa.schema(
    [
        ("offset", pa.int64()),
        ("applied_offset", pa.int64()),
        ("epoch", pa.int32()),
        ("timestamp_ms", pa.int64()),
        ("batch_offset", pa.int64()),
        ("topic_id", _TEXT),
        ("topic", _TEXT),
        ("partition", pa.int32()),
        ("leader", pa.int32()),
        ("leader_epoch", pa.int32()),
        ("partition_epoch", pa.int32()),
        ("recovery_state", pa.int8()),
        *((name, _LIST) for name in _STATE_LISTS),
        ("previous_leader", pa.int32()),
        ("previous_isr", _LIST),
        ("cause", _TEXT),
        ("cause_broker", pa.int32()),
        ("election", _TEXT),
        ("leader_was_outside", pa.bool_()),
        ("began_recovering", pa.bool_()),
        ("is_removed", pa.bool_()),
    ]
)


# The pieces of a replay are joined to row groups of so many rows or more.
_FEWEST_ROWS = 1 << 15
# What nearly always grows from row to row. Only its statistics let readers skip row groups.
_GROWING = ("offset", "timestamp_ms", "batch_offset")
_OPTIONS = {
    "compression": "zstd",
    "use_dictionary": [
        f"{field.name}.list.element" if field.type == _LIST else field.name
        for field in SCHEMA
        if field.name not in _GROWING
    ],
    "column_encoding": dict.fromkeys(_GROWING, "DELTA_BINARY_PACKED"),
    "write_statistics": list(_GROWING),
}


def to_table(history: PartitionHistory) -> pa.Table:
    """Return a history as a table of `SCHEMA`, in its order."""
    from jobs.quorum.replay.lists import put_columns

    rows: Int64s = np.empty((r.HISTORY_FIELDS, len(history)), np.int64)
    put_columns(history.rows, rows)
    new = rows[r.HAD_BEFORE] == 0
    state = {name: rows[r.STATE + r.LISTS + which] for name, which in _STATE_LISTS.items()}
    met = np.bincount(rows[r.TOPIC], minlength=len(history.topics)) > 0
    topics = [history.topics[number] for number in np.flatnonzero(met).tolist()]
    topic = (np.cumsum(met) - 1)[rows[r.TOPIC]]
    found = {
        "offset": rows[r.OFFSET],
        "applied_offset": _nullable(rows[r.APPLIED], r.NO_OFFSET),
        "epoch": rows[r.EPOCH],
        "timestamp_ms": _nullable(rows[r.TIMESTAMP], NO_TIME),
        "batch_offset": _nullable(rows[r.BATCH_OFFSET], r.NO_OFFSET),
        "topic_id": _coded(topic, [uuid_text(*one[:2]) for one in topics]),
        "topic": _coded(topic, [one[2] for one in topics]),
        "partition": rows[r.PARTITION],
        "leader": rows[r.STATE + r.LEADER],
        "leader_epoch": rows[r.STATE + r.LEADER_EPOCH],
        "partition_epoch": rows[r.STATE + r.PARTITION_EPOCH],
        "recovery_state": rows[r.STATE + r.RECOVERY],
        **{name: _lists(numbers, history) for name, numbers in state.items()},
        "previous_leader": pa.array(rows[r.PREVIOUS_LEADER].astype(np.int32), mask=new),
        "previous_isr": _lists(np.where(new, 0, rows[r.PREVIOUS_ISR]), history, new),
        "cause": _coded(rows[r.CAUSE], _words(CAUSE_OF)),
        "cause_broker": _nullable(rows[r.CAUSE_BROKER], r.NO_BROKER, np.int32),
        "election": _coded(rows[r.ELECTION], _words(ELECTION_OF), absent=0),
        "leader_was_outside": rows[r.WAS_OUTSIDE],
        "began_recovering": rows[r.BEGAN_RECOVERING],
        "is_removed": rows[r.IS_REMOVED],
    }
    arrays = [_as(found[field.name], field.type) for field in SCHEMA]
    return pa.Table.from_arrays(arrays, schema=SCHEMA)


def write_history(path: Path, histories: Iterable[PartitionHistory]) -> int:
    """Write the history of one replay into a Parquet file, in its order; return the number of rows."""
    count = 0
    partial = path.with_suffix(".partial")
    with pq.ParquetWriter(partial, SCHEMA, **_OPTIONS) as writer:
        for history in _joined(histories):
            writer.write_table(to_table(history))
            count += len(history)
    partial.replace(path)
    return count


def _joined(pieces: Iterable[PartitionHistory]) -> Iterator[PartitionHistory]:
    """Yield the rows in larger pieces; the numbers of a piece mean the same in each later one."""
    rows: list[Int64s] = []
    piece = None
    for piece in pieces:
        rows.append(piece.rows)
        if sum(map(len, rows)) >= _FEWEST_ROWS:
            joined, rows = replace(piece, rows=np.concatenate(rows)), []
            yield joined
    if piece is not None and any(map(len, rows)):
        yield replace(piece, rows=np.concatenate(rows))


def _lists(numbers: Int64s, history: PartitionHistory, absent: Bools | None = None) -> pa.Array:
    from jobs.quorum.replay.lists import put_lists

    ends = np.append(0, history.lists[numbers, r.LIST_COUNT].cumsum()).astype(np.int32)
    found: Int32s = np.empty(ends[-1], np.int32)
    put_lists(numbers, history.lists, history.values, found)
    mask = None if absent is None else pa.array(absent)
    return pa.ListArray.from_arrays(pa.array(ends), pa.array(found), mask=mask)


def _nullable(column: Int64s, absent: int, form: type = np.int64) -> pa.Array:
    return pa.array(column.astype(form, copy=False), mask=column == absent)


def _coded(column: Int64s, words: list[str], absent: int | None = None) -> pa.Array:
    mask = None if absent is None else column == absent
    return pa.DictionaryArray.from_arrays(
        pa.array(column.astype(np.int32), mask=mask), pa.array(words, pa.string())
    )


def _words(names: Mapping[int, object]) -> list[str]:
    return [str(names.get(number) or "") for number in range(max(names) + 1)]


def _as(column: Int64s | pa.Array, form: pa.DataType) -> pa.Array:
    if isinstance(column, pa.Array):
        return column
    return pa.array(column.astype(form.to_pandas_dtype(), copy=False))
