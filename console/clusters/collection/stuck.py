"""Last stable offsets that stay where they are while the high watermark is ahead of them.

`Partition.open_transaction` holds `offset` and, in ms, since when it was seen there (`seen_ms`); from the
second minute on what `OpenTransaction` has, with `is_cut` for its transactional id, or `error`, and
`is_too_long`. It ends where the offset moves.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from datetime import datetime
from typing import Any

from console.clusters.collection.requests import ClusterRequests
from console.clusters.models import Partition
from jobs import limits
from jobs.cluster.descriptions import OpenTransaction, TopicPartition
from jobs.cluster.errors import ClusterFault
from jobs.cluster.stuck_offsets import GRACE_MS, held_too_long
from jobs.limits import short


def watch_stable_offsets(
    kafka: ClusterRequests,
    stored: Mapping[TopicPartition, Partition],
    seen: Mapping[TopicPartition, dict[str, Any]],
    now: datetime,
) -> None:
    """Add `open_transaction` to the values of a round; leaders are queried only for what does not move."""
    now_ms = int(now.timestamp() * 1000)
    waiting: dict[TopicPartition, int] = {}
    for where, values in seen.items():
        held = _held(stored[where].open_transaction, values, now_ms)
        values["open_transaction"] = held
        if held is not None and not values["error"] and now_ms - held["seen_ms"] > GRACE_MS:
            waiting[where] = held["seen_ms"]
    asked = sorted(waiting, key=lambda where: (waiting[where], where))[: limits.STUCK_PARTITIONS]
    for where, one in _ask(kafka, asked).items():
        told: dict[str, Any] = {"offset": seen[where]["end_offset"], "seen_ms": waiting[where]}
        if isinstance(one, ClusterFault):
            told |= {"error": short(one.message)}
            told["is_too_long"] = held_too_long(None, since_ms=waiting[where], now_ms=now_ms)
        # Else what was there has ended between the questions; a younger one holds an offset further on.
        elif one is not None and one.start_offset <= told["offset"]:
            name = one.transactional_id
            kept = None if name is None else short(name)
            # Transactional ids are of clients.
            told |= asdict(one) | {"transactional_id": kept, "is_cut": kept != name}
            told["is_too_long"] = held_too_long(one, since_ms=waiting[where], now_ms=now_ms)
        seen[where]["open_transaction"] = told


def _held(
    kept: dict[str, Any] | None, values: Mapping[str, Any], now_ms: int
) -> dict[str, Any] | None:
    """Return since when the last stable offset has not moved; None where nothing is ahead of it."""
    end, high = values["end_offset"], values["high_watermark"]
    if values["error"]:
        return kept  # nothing new is known
    if end is None or high is None or high <= end:
        return None
    return kept if kept and kept["offset"] == end else {"offset": end, "seen_ms": now_ms}


def _ask(
    kafka: ClusterRequests, partitions: list[TopicPartition]
) -> Mapping[TopicPartition, OpenTransaction | ClusterFault | None]:
    if not partitions:
        return {}
    try:
        return kafka.read_open_transactions(partitions)
    except ClusterFault as fault:
        return dict.fromkeys(partitions, fault)
