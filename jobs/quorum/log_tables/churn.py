"""How often brokers left and joined ISRs, from changes of partitions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped] # it has no types
import pyarrow.compute as pc  # type: ignore[import-untyped] # as above

from jobs.wire.metadata.table import Int64s

Batches = Iterator[pa.RecordBatch]
# What a change of an ISR is grouped by, the first text that is there.
_TEXTS = {"topic": ("topic", "topic_id"), "cause": ("cause",)}
_LISTS = ("previous_isr", "isr", "replicas")
_HOUR_MS = 3_600_000
# What `churn` yields.
CHURN = pa.schema([
    ("hour_ms", pa.int64()), ("group", pa.string()), ("broker_id", pa.int32()),
    ("offset", pa.int64()), ("shrinks", pa.int64()), ("expands", pa.int64()),
])  # fmt: skip


def churn_columns(by: str) -> list[str]:
    """Return the columns that `churn` needs."""
    return ["offset", "timestamp_ms", "is_removed", *_LISTS, *_TEXTS.get(by, ())]


def churn(batches: Batches, by: str, since_ms: int, before_ms: int, eras: Int64s) -> Batches:
    """Yield how often brokers left and joined ISRs in a window, by hour and group, once for each batch.

    Columns: `hour_ms`, `group` (null by rack), `broker_id` and `offset` (null unless by rack: the last of the
    offsets `eras` that is not behind the change, -1: none), `shrinks`, `expands`.
    """
    for batch in batches:
        at_ms = batch["timestamp_ms"].fill_null(0).to_numpy()
        wanted = (at_ms >= since_ms) & (at_ms < before_ms) & _known(batch["timestamp_ms"])
        rows, brokers, is_shrink = _moves(batch, wanted)
        group = pa.nulls(len(rows), pa.string())
        who, offset = pa.nulls(len(rows), pa.int32()), pa.nulls(len(rows), pa.int64())
        if by == "rack":
            places = np.searchsorted(eras, batch["offset"].to_numpy()[rows], side="right")
            who, offset = pa.array(brokers, pa.int32()), pa.array(np.append(eras, -1)[places - 1])
        elif by == "broker":
            group = pa.array(brokers, pa.int32()).cast(pa.string())
        else:
            group = pc.coalesce(*(batch[one].take(rows).cast(pa.string()) for one in _TEXTS[by]))
        hour_ms = at_ms[rows] - at_ms[rows] % _HOUR_MS
        found = pa.table([hour_ms, group, who, offset, is_shrink, 1 - is_shrink], CHURN)
        by_group = found.group_by(CHURN.names[:4], use_threads=False)
        yield from by_group.aggregate([("shrinks", "sum"), ("expands", "sum")]).to_batches()


def _moves(batch: pa.RecordBatch, wanted: Any) -> tuple[Int64s, Int64s, Int64s]:
    """Return which brokers moved in the wanted rows: the row, the broker, and 1 where it left (else 0)."""
    # Numba is large: only who counts loads it.
    from jobs.quorum.log_tables.loops import find_moves

    wanted = (
        wanted & _known(batch["previous_isr"]) & ~batch["is_removed"].to_numpy(zero_copy_only=False)
    )
    lists = tuple(one for name in _LISTS for one in _list(batch[name]))
    found = np.empty((len(lists[1]) + len(lists[3]), 3), np.int64)
    count = find_moves(np.flatnonzero(wanted), lists, found)
    return found[:count, 0], found[:count, 1], found[:count, 2]


def _known(column: pa.Array) -> Any:
    return column.is_valid().to_numpy(zero_copy_only=False)


def _list(column: pa.Array) -> tuple[Any, Any]:
    return column.offsets.to_numpy(), column.values.fill_null(-1).to_numpy()
