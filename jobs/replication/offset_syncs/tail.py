"""The newest offset sync of every partition, read on from where the last look ended."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from jobs import limits
from jobs.cluster.admin.offsets import read_offset_ranges
from jobs.cluster.client import ClusterClient
from jobs.cluster.descriptions import TopicPartition
from jobs.cluster.errors import ClusterFault, Refused
from jobs.cluster.topic_reader import TopicRecord, read_topic_from
from jobs.wire.errors import RecordFormatError
from jobs.wire.mirror_records import decode_offset_sync

# What one look reads at most: the topic is compacted, but may not have been for days.
MOST_RECORDS = 200_000
PARTITION = 0


@dataclass(slots=True)
class SyncTail:
    """The newest sync of each source partition; `next_offset` is where the next look goes on.

    `refused` counts records that are no offset syncs. Invariant: all records from the first look's beginning
    to `next_offset` have been taken.
    """

    topic: str
    next_offset: int = 0
    newest: dict[TopicPartition, tuple[int, int]] = field(default_factory=dict)
    refused: int = 0

    def take(self, key: bytes | None, value: bytes | None) -> None:
        """Take the next record of the topic."""
        try:
            sync = decode_offset_sync(key, value)
        except RecordFormatError:
            self.refused += 1
            return
        where = TopicPartition(sync.topic, sync.partition)
        if not limits.may_exist(*where, {}):
            self.refused += 1
            return
        self.newest[where] = sync.upstream_offset, sync.downstream_offset

    def to_mapping(self) -> dict[str, Any]:
        """Return JSON values."""
        return {
            "topic": self.topic,
            "next_offset": self.next_offset,
            "newest": [[*where, *sync] for where, sync in self.newest.items()],
            "refused": self.refused,
        }

    @classmethod
    def from_mapping(cls, values: Mapping[str, Any], topic: str) -> SyncTail:
        """Read what `to_mapping` wrote; of another topic, nothing is known."""
        if values.get("topic") != topic:
            return cls(topic)
        newest = {TopicPartition(t, p): (u, d) for t, p, u, d in values["newest"]}
        return cls(topic, values["next_offset"], newest, values["refused"])


def read_sync_tail(client: ClusterClient, known: SyncTail) -> SyncTail | None:
    """Return the tail after reading on to the end of the topic; None when the topic does not exist.

    A topic that ends before the last look's end was made again: everything known is forgotten. Raises
    `ClusterFault`.
    """
    found = read_offset_ranges(
        client, [where := TopicPartition(known.topic, PARTITION)], with_timestamps=False
    )[where]
    start, end = found.log_start_offset, found.high_watermark
    if start is None or end is None:
        return _read(client, SyncTail(known.topic), 0)
    if end < known.next_offset:
        known = SyncTail(known.topic)
    begin = max(start, known.next_offset, end - MOST_RECORDS)
    return _read(client, known, begin)


def _read(client: ClusterClient, known: SyncTail, begin: int) -> SyncTail | None:
    """Read into a copy: what is known stays as it is when reading fails."""
    tail = SyncTail(known.topic, known.next_offset, dict(known.newest), known.refused)

    def take(record: TopicRecord) -> None:
        tail.take(record.key, record.value)
        if len(tail.newest) > limits.SYNCS:
            raise Refused(
                f"{known.topic} names more than {limits.SYNCS:,} partitions.",
                cluster=client.connection.alias,
                hint="Look who may write to it: only MirrorMaker 2 and crosslog should.",
            )

    ends = read_topic_from(client, known.topic, {PARTITION: begin}, take)
    if ends is None:
        return None
    if PARTITION not in ends:
        problem = f"{known.topic} has no partition {PARTITION}."
        raise ClusterFault(problem, cluster=client.connection.alias)
    tail.next_offset = ends[PARTITION]
    return tail
