"""Partition history as Arrow tables and Parquet files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped] # it has no types
import pyarrow.parquet as pq  # type: ignore[import-untyped] # as above

from jobs.quorum.replay import table as r
from jobs.quorum.replay.history import NO_TIME, PartitionHistory, uuid_text
from jobs.quorum.replay.table import CAUSE_OF, ELECTION_OF, Int64s
from jobs.wire.metadata import table as t

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


def to_table(history: PartitionHistory) -> pa.Table:
    """Return a history as a table of `SCHEMA`, in its order."""
    rows = history.rows
    new = rows[:, r.HAD_BEFORE] == 0
    state = {name: rows[:, r.STATE + r.LISTS + which] for name, which in _STATE_LISTS.items()}
    lists = _Lists(history)
    found = {
        "offset": rows[:, r.OFFSET],
        "applied_offset": _nullable(rows[:, r.APPLIED], r.NO_OFFSET),
        "epoch": rows[:, r.EPOCH],
        "timestamp_ms": _nullable(rows[:, r.TIMESTAMP], NO_TIME),
        "batch_offset": _nullable(rows[:, r.BATCH_OFFSET], r.NO_OFFSET),
        "topic_id": _coded(rows[:, r.TOPIC], [uuid_text(*one[:2]) for one in history.topics]),
        "topic": _coded(rows[:, r.TOPIC], [one[2] for one in history.topics]),
        "partition": rows[:, r.PARTITION],
        "leader": rows[:, r.STATE + r.LEADER],
        "leader_epoch": rows[:, r.STATE + r.LEADER_EPOCH],
        "partition_epoch": rows[:, r.STATE + r.PARTITION_EPOCH],
        "recovery_state": rows[:, r.STATE + r.RECOVERY],
        **{name: lists.take(numbers) for name, numbers in state.items()},
        "previous_leader": pa.array(rows[:, r.PREVIOUS_LEADER], mask=new),
        "previous_isr": lists.take(rows[:, r.PREVIOUS_ISR], new),
        "cause": _coded(rows[:, r.CAUSE], _words(CAUSE_OF)),
        "cause_broker": _nullable(rows[:, r.CAUSE_BROKER], r.NO_BROKER),
        "election": _coded(rows[:, r.ELECTION], _words(ELECTION_OF), absent=0),
        "leader_was_outside": rows[:, r.WAS_OUTSIDE] != 0,
        "began_recovering": rows[:, r.BEGAN_RECOVERING] != 0,
        "is_removed": rows[:, r.IS_REMOVED] != 0,
    }
    arrays = [_as(found[field.name], field.type) for field in SCHEMA]
    return pa.Table.from_arrays(arrays, schema=SCHEMA)


def write_history(path: Path, histories: Iterable[PartitionHistory]) -> int:
    """Write a history into one Parquet file, row by row in its order; return the number of rows."""
    count = 0
    partial = path.with_suffix(".partial")
    with pq.ParquetWriter(partial, SCHEMA, compression="zstd") as writer:
        for history in histories:
            if len(history):
                writer.write_table(to_table(history))
                count += len(history)
    partial.replace(path)
    return count


class _Lists:
    """All lists of a history as one Arrow array, of which rows take theirs."""

    def __init__(self, history: PartitionHistory) -> None:
        begins, counts = history.lists[:, r.LIST_BEGIN], history.lists[:, r.LIST_COUNT]
        ends = np.append(begins, begins[-1] + counts[-1]).astype(np.int32)
        self._all = pa.ListArray.from_arrays(pa.array(ends), pa.array(history.values[: ends[-1]]))

    def take(self, numbers: Int64s, absent: Int64s | None = None) -> pa.Array:
        return self._all.take(pa.array(numbers, mask=absent))


def _nullable(column: Int64s, absent: int) -> pa.Array:
    return pa.array(column, mask=column == absent)


def _coded(column: Int64s, words: list[str], absent: int | None = None) -> pa.Array:
    mask = None if absent is None else column == absent
    return pa.DictionaryArray.from_arrays(
        pa.array(column.astype(np.int32), mask=mask), pa.array(words, pa.string())
    )


def _words(names: Mapping[int, object]) -> list[str]:
    return [str(names.get(number) or "") for number in range(max(names) + 1)]


def _as(column: object, form: pa.DataType) -> pa.Array:
    found = column if isinstance(column, pa.Array) else pa.array(column)
    return found if found.type == form else found.cast(form)
