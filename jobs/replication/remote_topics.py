"""Remote topics: made with as many partitions as their source, never changed or deleted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from jobs.cluster.client import ClusterClient
from jobs.cluster.descriptions import TopicDescription
from jobs.cluster.errors import ClusterFault
from jobs.cluster.topics import (
    NewTopicSpec,
    create_topics,
    describe_topics,
    list_topic_names,
    read_topic_configs,
)
from jobs.replication.flow import FlowSpec
from jobs.replication.selection import policy_of

COPIED_CONFIGS = ("cleanup.policy", "max.message.bytes", "retention.ms", "retention.bytes")
# Batches stay as their producer compressed them.
FIXED_CONFIGS = {"message.timestamp.type": "CreateTime", "compression.type": "producer"}


@dataclass(frozen=True, slots=True)
class RemoteTopic:
    """A source topic's place on the target; `problem` says why nothing can be written there."""

    topic: str
    remote_topic: str
    partitions: int
    problem: str | None = None


def ensure_remote_topics(
    source: ClusterClient, target: ClusterClient, spec: FlowSpec, topics: Sequence[TopicDescription]
) -> list[RemoteTopic]:
    """Make the remote topics that are missing; raises `ClusterFault` when a cluster does not answer."""
    policy = policy_of(spec)
    names = {t.name: policy.format_remote_topic(spec.source.alias, t.name) for t in topics}
    existing = set(list_topic_names(target))
    missing = [t for t in topics if names[t.name] not in existing]
    faults = _create(source, target, spec, {names[t.name]: t for t in missing}) if missing else {}
    described = {t.name: t for t in describe_topics(target, list(names.values()))}
    return [
        _place(t, names[t.name], described.get(names[t.name]), faults.get(names[t.name]))
        for t in topics
    ]


def _create(
    source: ClusterClient,
    target: ClusterClient,
    spec: FlowSpec,
    missing: Mapping[str, TopicDescription],
) -> dict[str, ClusterFault | None]:
    brokers = len(target.metadata("Counting brokers").brokers)
    configs = read_topic_configs(source, [t.name for t in missing.values()], COPIED_CONFIGS)
    wanted = {
        remote: NewTopicSpec(
            len(topic.partitions),
            spec.replication_factor or min(_replicas(topic), brokers),
            {**configs.get(topic.name, {}), **FIXED_CONFIGS},
        )
        for remote, topic in missing.items()
    }
    return create_topics(target, wanted)


def _replicas(topic: TopicDescription) -> int:
    return max((len(p.replicas) for p in topic.partitions), default=1)


def _place(
    topic: TopicDescription,
    remote: str,
    described: TopicDescription | None,
    fault: ClusterFault | None,
) -> RemoteTopic:
    if fault is not None:
        problem = f"Target topic {remote} could not be made: {fault.message} {fault.hint}"
        return RemoteTopic(topic.name, remote, 0, problem)
    if described is None or not described.partitions:
        return RemoteTopic(topic.name, remote, 0, f"Target topic {remote} is not visible yet.")
    return RemoteTopic(topic.name, remote, len(described.partitions))
