"""The round for offsets: from where to where every partition reaches."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from django.db import transaction

from console.clusters.collection.door import ClusterDoor
from console.clusters.collection.outcome import Outcome, sentence_about
from console.clusters.collection.rows import update, write_seen
from console.clusters.collection.stuck import watch_stable_offsets
from console.clusters.models import Cluster, Partition, Topic
from jobs.cluster.descriptions import OffsetRange, TopicPartition

NO_LEADER = "no leader, so nobody can tell its offsets"


def collect_offsets(cluster: Cluster, door: ClusterDoor, now: datetime) -> Outcome:
    """Ask for the offsets of the partitions of the last topics round, write what changed."""
    stored = {TopicPartition(p.topic.name, p.partition): p for p in _partitions_of(cluster)}
    # A partition without a leader would hold the answer for all others until the time is up.
    asked = [where for where, row in stored.items() if row.leader is not None]
    ranges = door.read_offset_ranges(asked) if asked else {}
    seen = {where: _values(row, ranges.get(where)) for where, row in stored.items()}
    watch_stable_offsets(door, stored, seen, now)
    with transaction.atomic():
        written = write_seen(Partition, stored, seen, _never, now)
        _save_record_counts(stored, {where.topic for where in written}, now)
    errors = {str(where): values["error"] for where, values in seen.items() if values["error"]}
    return Outcome(len(seen), sentence_about("partitions without offsets", errors, len(seen)))


def _partitions_of(cluster: Cluster) -> Iterable[Partition]:
    return Partition.objects.filter(cluster=cluster).select_related("topic")


def _values(row: Partition, answer: OffsetRange | None) -> dict[str, Any]:
    """Return the offsets of a partition; the last known ones, and why, when there is no answer."""
    if answer is None or answer.error:
        why = answer.error if answer else None
        source: Partition | OffsetRange = row
        error = why or (NO_LEADER if row.leader is None else "no answer")
    else:
        source, error = answer, ""
    return {
        "log_start_offset": source.log_start_offset,
        "end_offset": source.end_offset,
        "high_watermark": source.high_watermark,
        "max_timestamp_ms": source.max_timestamp_ms,
        "error": error,
    }


def _save_record_counts(
    stored: Mapping[TopicPartition, Partition], names: set[str], now: datetime
) -> None:
    counts: dict[str, int | None] = {}
    topics: dict[str, Topic] = {}
    for where, row in stored.items():
        if where.topic not in names:
            continue
        topics[where.topic] = row.topic
        before = counts.get(where.topic, 0)
        known = None if before is None or row.record_count is None else before + row.record_count
        counts[where.topic] = known
    for name, topic in topics.items():
        topic.record_count, topic.changed_at = counts[name], now
    if topics:
        update(Topic, list(topics.values()), ["record_count", "changed_at"])


def _never(where: TopicPartition) -> Partition:
    raise KeyError(where)  # only stored partitions are asked for
