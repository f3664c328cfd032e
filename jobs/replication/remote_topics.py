"""Remote topics: made on the target like the source's, never deleted, never shrunk."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from jobs.cluster.brokers import describe_cluster
from jobs.cluster.client import ClusterClient
from jobs.cluster.descriptions import TopicDescription
from jobs.cluster.errors import ClusterFault
from jobs.cluster.topics import (
    NewTopicSpec,
    create_topics,
    describe_topics,
    is_missing,
    read_topic_configs,
)
from jobs.replication.flow import FlowSpec
from jobs.replication.selection import policy_of

# What decides whether a copied record is taken and how long it stays. With LogAppendTime or with
# another compression the broker would change records, so these two are set and not copied.
COPIED_CONFIGS = (
    "cleanup.policy",
    "max.message.bytes",
    "message.timestamp.after.max.ms",
    "message.timestamp.before.max.ms",
    "retention.bytes",
    "retention.ms",
)
_OWN_CONFIGS = {"message.timestamp.type": "CreateTime", "compression.type": "producer"}


@dataclass(frozen=True, slots=True)
class RemoteTopic:
    """Where a source topic goes.

    `partitions` is how many the remote topic has, 0 when it does not exist. `problem` is a sentence
    for a person; partitions below `partitions` can be copied in spite of it.
    """

    topic: str
    remote_topic: str
    partitions: int
    problem: str | None = None


def ensure_remote_topics(
    source: ClusterClient,
    target: ClusterClient,
    spec: FlowSpec,
    topics: Sequence[TopicDescription],
) -> list[RemoteTopic]:
    """Make the remote topics that are missing; return all, in the order given.

    What cannot be made is told by its `problem`. Raises `ClusterFault` when a cluster does not
    answer at all.
    """
    policy = policy_of(spec)
    names = {
        t.name: policy.format_remote_topic(spec.source.alias, t.name)
        for t in topics
        if t.partitions
    }
    there = _describe(target, names.values())
    missing = [t for t in topics if t.name in names and is_missing(there[names[t.name]])]
    faults: Mapping[str, ClusterFault | None] = {}
    if missing:
        faults = create_topics(target, _wanted(source, target, spec, missing, names))
        there |= _after_creation(target, missing, names, faults)
    return [_judge(t, names.get(t.name), there, faults) for t in topics]


def _describe(client: ClusterClient, names: Collection[str]) -> dict[str, TopicDescription]:
    return {topic.name: topic for topic in describe_topics(client, set(names))} if names else {}


def _wanted(
    source: ClusterClient,
    target: ClusterClient,
    spec: FlowSpec,
    missing: Sequence[TopicDescription],
    names: Mapping[str, str],
) -> dict[str, NewTopicSpec]:
    brokers = max(len(describe_cluster(target).brokers), 1)
    configs = read_topic_configs(source, [topic.name for topic in missing], COPIED_CONFIGS)
    return {
        names[topic.name]: NewTopicSpec(
            partitions=len(topic.partitions),
            replication_factor=spec.replication_factor or min(_replicas(topic), brokers),
            configs={**configs.get(topic.name, {}), **_OWN_CONFIGS},
        )
        for topic in missing
    }


def _replicas(topic: TopicDescription) -> int:
    return max(len(partition.replicas) for partition in topic.partitions)


def _after_creation(
    target: ClusterClient,
    missing: Sequence[TopicDescription],
    names: Mapping[str, str],
    faults: Mapping[str, ClusterFault | None],
) -> dict[str, TopicDescription]:
    """Describe new topics again: somebody else may have made one of them with other partitions.

    A broker may not know a topic that was made a moment ago; then it is as it was asked for.
    """
    made = {names[t.name]: t for t in missing if faults.get(names[t.name]) is None}
    seen = _describe(target, made.keys())
    return {name: made[name] if is_missing(seen[name]) else seen[name] for name in made}


def _judge(
    topic: TopicDescription,
    name: str | None,
    there: Mapping[str, TopicDescription],
    faults: Mapping[str, ClusterFault | None],
) -> RemoteTopic:
    if name is None:
        said = f" ({topic.error})" if topic.error else ""
        return RemoteTopic(topic.name, "", 0, f"The source does not tell its partitions{said}.")
    fault = faults.get(name)
    if fault is not None:
        problem = f"Target topic {name} could not be made: {fault.message} {fault.hint}"
        return RemoteTopic(topic.name, name, 0, problem)
    remote = there[name]
    if remote.error is not None:
        problem = f"Target topic {name} cannot be described: {remote.error}"
        return RemoteTopic(topic.name, name, 0, problem)
    have, want = len(remote.partitions), len(topic.partitions)
    return RemoteTopic(topic.name, name, have, _too_few(topic.name, name, have, want))


def _too_few(topic: str, name: str, have: int, want: int) -> str | None:
    if have >= want:
        return None
    return (
        f"Target topic {name} has {have} partitions and {topic} has {want}, so the partitions from "
        f"{have} on have no place. Add partitions to the target topic: "
        f"kafka-topics.sh --alter --topic {name} --partitions {want}"
    )
