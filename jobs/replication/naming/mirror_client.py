"""Kafka's MirrorClient and RemoteClusterUtils: the same answers without their defects.

Source: MirrorClient of org.apache.kafka.connect.mirror. Unlike there, only committed records count, and
what could not be read to its end is an error and never a part of the answer.
"""

from __future__ import annotations

from jobs.cluster.admin.topics import list_topic_names
from jobs.cluster.client import ClusterClient
from jobs.cluster.descriptions import CommittedOffset, TopicPartition
from jobs.cluster.errors import UnknownTopicOrPartition
from jobs.replication.checkpoints.topic import read_checkpoint_topic
from jobs.replication.naming import topology
from jobs.replication.policy import ReplicationPolicy


class MirrorClient:
    """Asks one cluster, a flow's target; every question may raise `ClusterFault`."""

    def __init__(self, client: ClusterClient, policy: ReplicationPolicy) -> None:
        self.replication_policy = policy
        self._client = client

    def replication_hops(self, upstream_alias: str) -> int:
        """Return over how many flows records of a cluster come here, by heartbeats; -1 when none do."""
        return topology.replication_hops(self.replication_policy, self._topics(), upstream_alias)

    def heartbeat_topics(self) -> set[str]:
        """Return the topics of heartbeats, the local one included."""
        return set(topology.heartbeat_topics(self.replication_policy, self._topics()))

    def checkpoint_topics(self) -> set[str]:
        return set(topology.checkpoint_topics(self.replication_policy, self._topics()))

    def upstream_clusters(self) -> set[str]:
        """Return the aliases of all clusters whose heartbeats arrive here, over any number of hops."""
        return topology.upstream_clusters(self.replication_policy, self._topics())

    def remote_topics(self, source: str | None = None) -> set[str]:
        """Return the topics that came from another cluster; with `source`, directly from that one.

        Empty for an identity policy that does not know the alias of its source.
        """
        return set(topology.remote_topics(self.replication_policy, self._topics(), source))

    def count_hops(self, topic: str, source: str) -> int:
        """Return over how many flows a topic of this name came from a cluster; -1 when it did not."""
        return topology.count_hops(self.replication_policy, topic, source)

    def remote_consumer_offsets(
        self, group: str, remote_alias: str
    ) -> dict[TopicPartition, CommittedOffset]:
        """Return where a group of another cluster resumes here, by its last checkpoints.

        Empty when the group has none. Raises `UnknownTopicOrPartition` when there are no checkpoints of that
        cluster at all; `ClusterFault` also when the topic could not be read to its end.
        """
        topic = self.replication_policy.checkpoints_topic(remote_alias)
        found = read_checkpoint_topic(self._client, topic, wants=lambda name: name == group)
        if not found.exists:
            raise UnknownTopicOrPartition(
                f"There is no topic {topic}, so there are no checkpoints of groups of {remote_alias}.",
                cluster=self._client.connection.alias,
                hint="Check the alias and the naming policy, and that a flow from there writes checkpoints.",
            )
        return {
            where: CommittedOffset(kept.checkpoint.downstream_offset, kept.checkpoint.metadata)
            for where, kept in found.of_group(group).items()
        }

    def _topics(self) -> list[str]:
        return list_topic_names(self._client)


def rename_topic(
    policy: ReplicationPolicy, topic: str, *, source_alias: str, target_alias: str
) -> str:
    """Return what a source topic that a group reads is called on the target.

    A topic that came from the target goes by its original name there. Source:
    MirrorCheckpointTask.renameTopicPartition, which keeps the partition's number. It drops all hops
    at once, so its answer for `target.other.t` is `t`, although the target calls that `other.t`.
    """
    if policy.topic_source(topic) == target_alias:
        return policy.original_topic(topic)
    return policy.format_remote_topic(source_alias, topic)
