"""Small answers of MirrorMaker 2 that crosslog gives as well, to compare with and to take over. Pure."""

from __future__ import annotations

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
