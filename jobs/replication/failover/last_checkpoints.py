"""Where groups of a source that is gone stood, as far as their last checkpoints on the target say."""

from __future__ import annotations

from jobs.cluster.client import ClusterClient
from jobs.cluster.descriptions import CommittedOffset, TopicPartition
from jobs.replication.checkpoints.topic import read_checkpoint_topic
from jobs.replication.failover.read_evidence import Known
from jobs.replication.flow.selection import policy_of
from jobs.replication.flow.spec import FlowSpec

SOURCE = "the last checkpoints on the target"


def read_last_checkpoints(flow: FlowSpec, *, timeout_s: float = 10.0) -> Known:
    """Return the source offsets of all groups that have checkpoints; raises `ClusterFault`.

    `at_ms` is when the newest of them was written. A checkpoint is never ahead of its group, so going on from
    there skips nothing.
    """
    policy = policy_of(flow)
    with ClusterClient(flow.target, timeout_s=timeout_s) as client:
        found = read_checkpoint_topic(client, policy.checkpoints_topic(flow.source.alias))
    committed: dict[str, dict[TopicPartition, CommittedOffset]] = {}
    newest_ms = 0
    for (group, where), kept in found.checkpoints.items():
        topic = policy.upstream_topic(where.topic)
        if topic is not None:
            offset = CommittedOffset(kept.checkpoint.upstream_offset, kept.checkpoint.metadata)
            committed.setdefault(group, {})[TopicPartition(topic, where.partition)] = offset
            newest_ms = max(newest_ms, kept.timestamp_ms or 0)
    return Known(committed, newest_ms, SOURCE)
