"""The destination's groups as `applying` needs them: the real cluster."""

from __future__ import annotations

from collections.abc import Collection

from jobs.cluster.admin.groups import (
    alter_group_offsets,
    delete_group_offsets,
    describe_groups,
    read_group_offsets,
)
from jobs.cluster.client import ClusterClient
from jobs.cluster.descriptions import GroupDescription, TopicPartition
from jobs.cluster.errors import TimedOut
from jobs.replication.failover.applying import Offsets, Problems


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
