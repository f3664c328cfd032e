"""Where a flow is: MirrorMaker 2's source-offsets format on the target cluster.

Topic `mm2-offsets.<source>.internal`; key `["MirrorSourceConnector",{"cluster","partition","topic"}]`,
value `{"offset":N}` where N is the last copied source offset, so that copying goes on at N + 1.
Kafka Connect looks a key up by its bytes: ours are the bytes that MirrorMaker 2 writes.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from jobs.cluster.client import ClusterClient
from jobs.cluster.descriptions import TopicPartition
from jobs.cluster.errors import TimedOut
from jobs.cluster.records import ClientPartition, Consumer, Message, is_partition_eof
from jobs.cluster.topics import NewTopicSpec, create_topics

CONNECTOR = "MirrorSourceConnector"
# A record header, which Kafka Connect neither reads nor minds: the end of the remote partition at
# the commit. What is there beyond it at the next start was written after the last commit.
REMOTE_END = "crosslog.remote-end"
PARTITIONS = 25
MOST_REPLICAS = 3
READ_BUDGET_S = 60.0


def positions_topic(source_alias: str) -> str:
    """Return the name of the topic; its dots are fixed and no separator changes them."""
    return f"mm2-offsets.{source_alias}.internal"


def encode_key(source_alias: str, where: TopicPartition) -> bytes:
    """Return the key bytes exactly as MirrorMaker 2 writes them."""
    partition = {"cluster": source_alias, "partition": where.partition, "topic": where.topic}
    return json.dumps([CONNECTOR, partition], separators=(",", ":"), ensure_ascii=False).encode()


def decode_key(key: bytes | None) -> tuple[str, TopicPartition] | None:
    """Return source alias and partition; None for a key of another connector or of no known form."""
    value = _json(key)
    if not isinstance(value, list) or len(value) != 2 or value[0] != CONNECTOR:  # noqa: PLR2004
        return None
    match value[1]:
        case {"cluster": str(cluster), "partition": int(partition), "topic": str(topic)}:
            return cluster, TopicPartition(topic, partition)
    return None


def encode_value(position: int) -> bytes:
    """Return the value for the next offset to copy; raises ValueError below 1."""
    if position < 1:
        raise ValueError("nothing was copied yet: there is no last offset to write")
    return b'{"offset":%d}' % (position - 1)


def decode_value(value: bytes | None) -> int | None:
    """Return the next offset to copy; None for a reset (no value) or an unknown form."""
    match _json(value):
        case {"offset": int(offset)}:
            return offset + 1
    return None


@dataclass(frozen=True, slots=True)
class Position:
    """The next offset to copy, and where the remote partition ended then (None: not by crosslog)."""

    offset: int
    remote_end: int | None = None


def written_headers(remote_end: int | None) -> list[tuple[str, bytes]]:
    """Return the headers of a position record."""
    return [] if remote_end is None else [(REMOTE_END, b"%d" % remote_end)]


def read_positions(target: ClusterClient, source_alias: str) -> dict[TopicPartition, Position]:
    """Return the position per source partition; empty when the topic does not exist.

    Reads the whole compacted topic, read_committed. Raises `ClusterFault`.
    """
    topic = positions_topic(source_alias)
    described = target.metadata("Reading positions").topics.get(topic)
    if described is None or not described.partitions:
        return {}
    found: dict[bytes, Message] = {}
    consumer = target.consumer(
        {
            "isolation.level": "read_committed",
            "enable.partition.eof": True,
            "auto.offset.reset": "earliest",
            "queued.max.messages.kbytes": 8192,
        }
    )
    try:
        consumer.assign([ClientPartition(topic, p, 0) for p in described.partitions])
        _read_to_end(consumer, len(described.partitions), found, target)
    finally:
        consumer.close()
    return _positions(found, source_alias)


def ensure_positions_topic(target: ClusterClient, source_alias: str) -> None:
    """Make the topic as Kafka Connect does: compacted, 25 partitions. Raises `ClusterFault`."""
    brokers = len(target.metadata("Counting brokers").brokers)
    spec = NewTopicSpec(PARTITIONS, min(MOST_REPLICAS, brokers), {"cleanup.policy": "compact"})
    for fault in create_topics(target, {positions_topic(source_alias): spec}).values():
        if fault is not None:
            raise fault


def _read_to_end(
    consumer: Consumer, partitions: int, found: dict[bytes, Message], target: ClusterClient
) -> None:
    give_up_at = time.monotonic() + READ_BUDGET_S
    ended: set[int] = set()
    while len(ended) < partitions:
        for message in consumer.consume(1000, timeout=0.2):
            error = message.error()
            if is_partition_eof(error):
                ended.add(message.partition() or 0)
            elif error is not None:
                raise target.fault_of(error, "Reading positions")
            else:
                found[message.key() or b""] = message
        fault = target.fault()
        if time.monotonic() > give_up_at:
            text = f"Reading positions: not at the end after {READ_BUDGET_S:g} s."
            raise fault or TimedOut(text, cluster=target.connection.alias)


def _positions(found: Mapping[bytes, Message], source_alias: str) -> dict[TopicPartition, Position]:
    positions: dict[TopicPartition, Position] = {}
    for key, message in found.items():
        decoded = decode_key(key)
        offset = decode_value(message.value())
        if decoded is not None and decoded[0] == source_alias and offset is not None:
            positions[decoded[1]] = Position(offset, _remote_end(message))
    return positions


def _remote_end(message: Message) -> int | None:
    for name, value in message.headers() or []:
        if name == REMOTE_END and value is not None and value.isdigit():
            return int(value)
    return None


def _json(data: bytes | None) -> Any:
    try:
        return json.loads(data) if data else None
    except (ValueError, UnicodeDecodeError):
        return None
