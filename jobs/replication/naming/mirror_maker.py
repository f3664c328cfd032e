"""Small answers of MirrorMaker 2 that crosslog gives as well, to compare with and to take over. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from jobs.cluster.descriptions import TopicPartition
from jobs.replication.policy import ReplicationPolicy


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


def assign_round_robin(
    partitions: Sequence[TopicPartition], tasks: int
) -> list[list[TopicPartition]]:
    """Return the partitions of each task as MirrorMaker 2 deals them: one after the other.

    Source: MirrorSourceConnector.taskConfigs. crosslog's driver does not deal this way: it balances
    by observed bytes (`jobs.spark.flow_driver.balancing`).
    """
    count = min(tasks, len(partitions))
    return [list(partitions[task::count]) for task in range(count)]
