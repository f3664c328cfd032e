"""The newest heartbeats of a flow, read from the ends of the topics that hold them."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from jobs.cluster.admin.offsets import read_offset_ranges
from jobs.cluster.admin.topics import describe_topics
from jobs.cluster.client import ClusterClient
from jobs.cluster.descriptions import PartitionDescription, TopicPartition
from jobs.cluster.topic_reader import TopicRecord, read_topic_from
from jobs.replication.findings.snapshot import HeartbeatsSnapshot
from jobs.replication.flow.selection import policy_of
from jobs.replication.flow.spec import FlowSpec
from jobs.wire.errors import RecordFormatError
from jobs.wire.mirror_records import Heartbeat, decode_heartbeat
from jobs.wire.topics.connect_records import is_json_wrapped, unwrap_json
from jobs.wire.values import utc_time

# Enough for one of each of many flows: every one sends a record a second.
_LAST = 200


class HeartbeatsSeen(NamedTuple):
    """The newest heartbeats, and how many of those read were wrapped in JSON, by topic."""

    snapshot: HeartbeatsSnapshot
    wrapped: dict[str, int]


class _Tail:
    """The newest heartbeats at the end of one topic."""

    def __init__(self) -> None:
        self.wrapped = 0
        self.newest: dict[tuple[str, str], int] = {}

    def take(self, record: TopicRecord) -> None:
        key, value = record.key, record.value
        if is_json_wrapped(key) or is_json_wrapped(value):
            self.wrapped += 1
            key, value = unwrap_json(key) or key, unwrap_json(value) or value
        try:
            beat = decode_heartbeat(key, value)
        except RecordFormatError:
            return
        if utc_time(beat.timestamp_ms) is None:
            return
        of = _aliases(beat)
        self.newest[of] = max(beat.timestamp_ms, self.newest.get(of, 0))

    def at(self, *of: str) -> datetime | None:
        """Return the newest one of an emitter, of any when none is named."""
        times = [t for key, t in self.newest.items() if not of or key == of]
        return utc_time(max(times, default=None))


def read_heartbeats(source: ClusterClient, target: ClusterClient, flow: FlowSpec) -> HeartbeatsSeen:
    """Return the newest heartbeats on both clusters; raises `ClusterFault`."""
    policy = policy_of(flow)
    local = policy.heartbeats_topic()
    copied = policy.format_remote_topic(flow.source.alias, local)
    sent, there, arrived = (
        _read(target, local),
        _read(source, local),
        _read(target, copied),
    )
    snapshot = HeartbeatsSnapshot(
        emitted_at=sent.at(flow.source.alias, flow.target.alias),
        at_source=there.at(),
        arrived_at=arrived.at(),
        arrives_in=copied,
    )
    tails = {local: sent.wrapped + there.wrapped, copied: arrived.wrapped}
    return HeartbeatsSeen(snapshot, tails)


def _aliases(beat: Heartbeat) -> tuple[str, str]:
    return beat.source_cluster_alias, beat.target_cluster_alias


def _read(client: ClusterClient, topic: str) -> _Tail:
    tail = _Tail()
    partitions = [TopicPartition(topic, p.partition) for p in _partitions(client, topic)]
    if not partitions:
        return tail
    ranges = read_offset_ranges(client, partitions, with_timestamps=False)
    starts = {w.partition: max((r.high_watermark or 0) - _LAST, 0) for w, r in ranges.items()}
    read_topic_from(client, topic, starts, tail.take)
    return tail


def _partitions(client: ClusterClient, topic: str) -> tuple[PartitionDescription, ...]:
    return describe_topics(client, [topic])[0].partitions
