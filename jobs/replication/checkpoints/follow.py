"""Incremental reader of a checkpoints topic.

MirrorMaker 2 writes a checkpoint of every active group each minute, and the topic's last segment is never
compacted: reading it whole each time would cost more with every day.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from jobs.cluster.admin.topics import describe_topics
from jobs.cluster.client import ClusterClient
from jobs.cluster.topic_reader import TopicRecord, read_topic_from
from jobs.replication.checkpoints.lag import SeenCheckpoint
from jobs.replication.checkpoints.topic import (
    PARTITION,
    CheckpointTopic,
    GroupPartition,
    KeptCheckpoint,
    refuse_too_many,
)
from jobs.wire.mirror_records import Checkpoint


@dataclass(slots=True)
class CheckpointsRead:
    """What was read of a topic of checkpoints up to an offset.

    `topic_id` tells whether it is still the same topic; `read_to` None: nothing was read yet. `exists` is
    False while there is no such topic. `findings` are sentences about records that are no checkpoints.
    """

    checkpoints: dict[GroupPartition, SeenCheckpoint] = field(default_factory=dict)
    read_to: int | None = None
    topic_id: str = ""
    exists: bool = True
    findings: tuple[str, ...] = ()


def follow_checkpoints(
    client: ClusterClient, topic: str, before: CheckpointsRead
) -> CheckpointsRead:
    """Return the checkpoints as they stand now, having read what came after `before`.

    Another topic of that name is read from its beginning, and what was known before is forgotten. Raises
    `ClusterFault`: then `before` still holds.
    """
    topic_id = describe_topics(client, [topic])[0].topic_id or ""
    is_same = before.read_to is not None and topic_id == before.topic_id
    start = (before.read_to or 0) if is_same else 0
    # What is known already is there from the start, because a deletion may be about it.
    known = {key: _kept(key, one) for key, one in before.checkpoints.items()} if is_same else {}
    found = CheckpointTopic(topic, known, read_to=start)

    def take(record: TopicRecord) -> None:
        found.take(record.key, record.value, record.timestamp_ms, record.offset)
        refuse_too_many(found, client)

    ends = read_topic_from(client, topic, {PARTITION: start}, take)
    if ends is None:
        return CheckpointsRead(read_to=0, topic_id=topic_id, exists=False)
    return CheckpointsRead(
        {key: _seen(one) for key, one in found.checkpoints.items()},
        max(ends.get(PARTITION, start), start),
        topic_id,
        findings=tuple(found.findings()),
    )


def _kept(key: GroupPartition, one: SeenCheckpoint) -> KeptCheckpoint:
    place = Checkpoint(
        key.group, key.where.topic, key.where.partition, one.upstream, one.downstream, ""
    )
    return KeptCheckpoint(place, one.at_ms, -1)


def _seen(one: KeptCheckpoint) -> SeenCheckpoint:
    place = one.checkpoint
    return SeenCheckpoint(place.upstream_offset, place.downstream_offset, one.timestamp_ms)
