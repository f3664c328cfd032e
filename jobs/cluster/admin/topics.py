"""Topics: metadata, settings, creation."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from confluent_kafka import TopicCollection
from confluent_kafka.admin._config import ConfigResource
from confluent_kafka.admin._resource import ResourceType
from confluent_kafka.cimpl import NewTopic

from jobs.cluster.client import ClusterClient
from jobs.cluster.descriptions import PartitionDescription, TopicDescription
from jobs.cluster.errors import ClusterFault, TimedOut, UnknownTopicOrPartition
from jobs.cluster.read_only import refuse_when_read_only

_Item = TypeVar("_Item")

TOPICS_PER_REQUEST = 500
CONFIGS_PER_REQUEST = 200
BROKER_DEFAULT = -1


@dataclass(frozen=True, slots=True)
class NewTopicSpec:
    """A topic to be made; `replication_factor` None leaves it to the broker's default.

    `replicas` names the brokers of each partition, its leader first, fenced ones too; then `partitions`
    is their number and the replication factor is not given.
    """

    partitions: int
    replication_factor: int | None = None
    configs: Mapping[str, str] = field(default_factory=dict)
    replicas: Sequence[Sequence[int]] = ()


def describe_topics(
    client: ClusterClient, names: Collection[str] | None = None
) -> list[TopicDescription]:
    """Return topics by name, all of them when `names` is None, sorted.

    A named topic that could not be described is a description with `error`. A topic that vanished
    while all topics were read is left out. All topics cost up to three budgets.
    """
    wanted = sorted(list_topic_names(client) if names is None else set(names))
    answers = client.ask_all(
        chunks(wanted, TOPICS_PER_REQUEST),
        lambda admin, chunk, left: admin.describe_topics(
            TopicCollection(list(chunk)), request_timeout=left
        ),
        "Describing topics",
        any_broker=True,
    )
    described = [_topic(name, answers.get(name)) for name in wanted]
    if names is None:
        gone = {n for n, a in answers.items() if isinstance(a, UnknownTopicOrPartition)}
        return [topic for topic in described if topic.name not in gone]
    return described


def list_topic_names(client: ClusterClient) -> list[str]:
    """Return the names of all topics that this principal may see, internal ones included."""
    return [str(name) for name in client.metadata("Listing topics").topics]


def read_topic_configs(
    client: ClusterClient, names: Collection[str], keys: Collection[str]
) -> dict[str, dict[str, str]]:
    """Return the effective values of some settings per topic.

    A topic whose settings could not be read is absent; a value that is not set or is secret, too.
    """
    answers = client.ask_all(
        chunks(sorted(set(names)), CONFIGS_PER_REQUEST),
        lambda admin, chunk, left: {
            resource.name: future
            for resource, future in admin.describe_configs(
                [ConfigResource(ResourceType.TOPIC, name) for name in chunk], request_timeout=left
            ).items()
        },
        "Reading topic settings",
        any_broker=True,
    )
    return {
        name: {key: entry.value for key, entry in answer.items() if key in keys and _is_set(entry)}
        for name, answer in answers.items()
        if not isinstance(answer, ClusterFault)
    }


def create_topics(
    client: ClusterClient, wanted: Mapping[str, NewTopicSpec]
) -> dict[str, ClusterFault | None]:
    """Make topics; return why not per topic, None for those that exist now (also if they did before)."""
    refuse_when_read_only(client.connection.alias, "Creating topics")
    answers = client.ask_all(
        chunks(list(wanted.items()), CONFIGS_PER_REQUEST),
        lambda admin, chunk, left: admin.create_topics(
            [_new_topic(name, spec) for name, spec in chunk],
            request_timeout=left,
            operation_timeout=left,
        ),
        "Creating topics",
        any_broker=True,
    )
    return {name: _fault(client, answers, name, "TOPIC_ALREADY_EXISTS") for name in wanted}


def delete_topics(client: ClusterClient, names: Collection[str]) -> dict[str, ClusterFault | None]:
    """Delete topics; return why not per topic, None for those that are gone (also before)."""
    refuse_when_read_only(client.connection.alias, "Deleting topics")
    answers = client.ask_all(
        chunks(sorted(set(names)), CONFIGS_PER_REQUEST),
        lambda admin, chunk, left: admin.delete_topics(
            list(chunk), request_timeout=left, operation_timeout=left
        ),
        "Deleting topics",
        any_broker=True,
    )
    return {name: _fault(client, answers, name, "UNKNOWN_TOPIC_OR_PART") for name in names}


def is_missing(topic: TopicDescription) -> bool:
    """Return whether a named topic could not be described because it does not exist."""
    return topic.error is not None and "UNKNOWN_TOPIC_OR_PART" in topic.error


def chunks(items: Sequence[_Item], size: int) -> Iterable[Sequence[_Item]]:
    """Cut a sequence into pieces that one request can carry."""
    return (items[start : start + size] for start in range(0, len(items), size))


def _topic(name: str, answer: Any) -> TopicDescription:
    if answer is None or isinstance(answer, ClusterFault):
        error = answer.message if answer else "Describing topics: no answer in time."
        return TopicDescription(name, None, is_internal=False, partitions=(), error=error)
    partitions = sorted((_partition(p) for p in answer.partitions), key=lambda p: p.partition)
    topic_id = str(answer.topic_id) if answer.topic_id else None
    return TopicDescription(name, topic_id, bool(answer.is_internal), tuple(partitions))


def _partition(partition: Any) -> PartitionDescription:
    leader = partition.leader.id if partition.leader is not None else -1
    return PartitionDescription(
        partition.id,
        leader if leader >= 0 else None,
        tuple(node.id for node in partition.replicas),
        tuple(node.id for node in partition.isr),
    )


def _is_set(entry: Any) -> bool:
    return entry.value is not None and not entry.is_sensitive


def _new_topic(name: str, spec: NewTopicSpec) -> NewTopic:
    if spec.replicas:
        return NewTopic(
            name,
            num_partitions=len(spec.replicas),
            replica_assignment=[list(brokers) for brokers in spec.replicas],
            config=dict(spec.configs),
        )
    return NewTopic(
        name,
        num_partitions=spec.partitions,
        replication_factor=spec.replication_factor or BROKER_DEFAULT,
        config=dict(spec.configs),
    )


def _fault(
    client: ClusterClient, answers: Mapping[str, Any], name: str, harmless: str
) -> ClusterFault | None:
    """Return the fault of one topic, unless the wanted state was there already."""
    if name not in answers:
        return TimedOut(f"Topic {name}: no time was left.", cluster=client.connection.alias)
    answer = answers[name]
    return answer if isinstance(answer, ClusterFault) and harmless not in answer.message else None
