"""Offsets of groups between rows and values: lists of [topic, partition, offset (null), metadata]."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from jobs.cluster.descriptions import CommittedOffset, TopicPartition
from jobs.replication.failover.applying import ItemOutcome


def listed(
    offsets: Mapping[TopicPartition, CommittedOffset],
) -> list[list[Any]]:
    """Return offsets as JSON values."""
    return [[w.topic, w.partition, one.offset, one.metadata] for w, one in sorted(offsets.items())]


def offsets_of(rows: Iterable[Any] | None) -> dict[TopicPartition, CommittedOffset]:
    """Return the inverse of `listed`; nothing for null."""
    return {
        TopicPartition(topic, partition): CommittedOffset(offset, metadata)
        for topic, partition, offset, metadata in rows or ()
    }


def items_of(document: Mapping[str, Any]) -> tuple[ItemOutcome, ...]:
    """Return the partitions of an outcome that was stored."""
    return tuple(
        ItemOutcome(
            TopicPartition(one["topic"], one["partition"]),
            one["before"],
            one["wanted"],
            one["after"],
            one["error"],
        )
        for one in document.get("items", ())
    )
