"""A plan cut into parts, each of which is one transaction, and what of it is left after a stop."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from jobs.cluster.descriptions import TopicPartition

Row = Mapping[str, Any]


def in_order(rows: Iterable[Row]) -> list[Row]:
    """Return rows of a plan in the order in which they are applied: by place of their dead letters."""
    return sorted(rows, key=lambda row: (row["topic"], row["partition"], row["offset"]))


def left_of(rows: Iterable[Row], committed: Mapping[TopicPartition, int]) -> list[Row]:
    """Return the rows at or after the committed offset of their partition."""
    return [
        row
        for row in rows
        if row["offset"] >= committed.get(TopicPartition(row["topic"], row["partition"]), 0)
    ]


def positions_after(rows: Iterable[Row]) -> dict[TopicPartition, int]:
    """Return the offset after the last row of each partition, to be committed with them."""
    return {TopicPartition(row["topic"], row["partition"]): row["offset"] + 1 for row in rows}


def parts_of(rows: Sequence[Row], most: int, most_bytes: int) -> Iterator[list[Row]]:
    """Yield consecutive rows of at most so many bytes together; one that is larger is alone."""
    part: list[Row] = []
    size = 0
    for row in rows:
        if part and (len(part) >= most or size + row["bytes"] > most_bytes):
            yield part
            part, size = [], 0
        part.append(row)
        size += row["bytes"]
    if part:
        yield part
