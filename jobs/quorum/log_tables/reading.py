"""Reads the tables of a metadata log back."""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq  # type: ignore[import-untyped] # it has no types

from jobs.quorum.history.changes import Cause, Election, PartitionChange

_AT_ONCE = 5_000


def partition_changes(table: Path) -> Iterator[PartitionChange]:
    """Yield the rows of a written table `partition_changes` as values, in the order of offsets.

    Directories, and what was eligible before, stand in no column: they are empty.
    """
    parts = [_rows(path) for path in sorted(table.glob("part-*.parquet"))]
    for row in heapq.merge(*parts, key=lambda row: row["offset"]):
        yield _change(row)


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    with pq.ParquetFile(path) as file:
        for batch in file.iter_batches(_AT_ONCE):
            yield from batch.to_pylist()


def _change(row: dict[str, Any]) -> PartitionChange:
    lists = ("isr", "elr", "last_known_elr", "replicas", "adding", "removing")
    same = (
        "offset",
        "applied_offset",
        "epoch",
        "timestamp_ms",
        "batch_offset",
        "topic_id",
        "topic",
        "partition",
        "leader",
        "leader_epoch",
        "partition_epoch",
        "recovery_state",
        "previous_leader",
        "cause_broker",
        "leader_was_outside",
        "began_recovering",
        "is_removed",
    )
    previous = row["previous_isr"]
    values: dict[str, Any] = {
        **{name: row[name] for name in same},
        **{name: tuple(row[name]) for name in lists},
        "previous_isr": None if previous is None else tuple(previous),
        "cause": Cause(row["cause"]),
        "election": None if row["election"] is None else Election(row["election"]),
    }
    return PartitionChange(**values)
