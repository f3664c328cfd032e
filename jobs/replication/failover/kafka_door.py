"""What a failover reads and writes in the real clusters: committed offsets, groups, last checkpoints."""

from __future__ import annotations

from collections.abc import Collection

from jobs.cluster.admin.groups import (
    alter_group_offsets,
    delete_group_offsets,
    describe_groups,
    read_group_offsets,
)
from jobs.cluster.client import ClusterClient
from jobs.cluster.descriptions import CommittedOffset, GroupDescription, TopicPartition
from jobs.cluster.errors import TimedOut
from jobs.replication.checkpoints.topic import read_checkpoint_topic
from jobs.replication.failover.applying import Offsets, Problems
from jobs.replication.failover.read_evidence import Known
from jobs.replication.flow.selection import policy_of
from jobs.replication.flow.spec import FlowSpec


class KafkaOffsetsDoor:
    """An `OffsetsDoor` over one client, which belongs to the caller."""

    def __init__(self, client: ClusterClient) -> None:
        self._client = client

    def describe(self, group: str) -> GroupDescription:
        """Ask the group's coordinator."""
        return describe_groups(self._client, [group])[group]

    def committed(self, group: str) -> Offsets:
        """Ask the group's coordinator."""
        found = read_group_offsets(self._client, [group])
        if group not in found.committed:
            raise TimedOut(
                f"The offsets of group {group} could not be read: {found.errors.get(group, '')}",
                cluster=self._client.connection.alias,
            )
        return {w: one for w, one in found.committed[group].items() if one.offset is not None}

    def alter(self, group: str, offsets: Offsets) -> Problems:
        return alter_group_offsets(self._client, group, offsets)

    def delete(self, group: str, partitions: Collection[TopicPartition]) -> Problems:
        """Take offsets away."""
        return delete_group_offsets(self._client, group, partitions)


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
