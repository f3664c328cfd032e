"""Topics: described, created, deleted, and given more partitions (Metadata, CreateTopics, KIP-195)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from kio.schema.create_partitions.v2.request import CreatePartitionsRequest, CreatePartitionsTopic
from kio.schema.create_topics.v5.request import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from kio.schema.delete_topics.v5.request import DeleteTopicsRequest
from kio.schema.metadata.v12.response import (
    MetadataResponse,
    MetadataResponsePartition,
    MetadataResponseTopic,
)

from jobs.cluster.client import ClusterClient
from jobs.cluster.descriptions import PartitionDescription, TopicDescription
from jobs.cluster.errors import ClusterFault
from jobs.cluster.protocol.cluster import RawCluster
from jobs.cluster.protocol.errors import AnswerFault, TopicUnknown, Where, answer_fault
from jobs.cluster.protocol.metadata import metadata_request
from jobs.cluster.protocol.pieces import Pieces
from jobs.cluster.protocol.transport.apis import (
    CREATE_PARTITIONS,
    CREATE_TOPICS,
    DELETE_TOPICS,
    METADATA,
)
from jobs.cluster.protocol.transport.connection import BrokerConnection
from jobs.cluster.protocol.transport.frames import CORRELATION_ID_BYTES, Call
from jobs.cluster.protocol.transport.primitives import (
    broker_number,
    duration,
    int16,
    int32,
    topic_name,
)
from jobs.cluster.read_only import refuse_when_read_only
from jobs.wire.values import id_text

TOPICS_PER_REQUEST = 500
CHANGES_PER_REQUEST = 200
BROKER_DEFAULT = -1
_DESCRIBING = "Describing topics"
# So long the controller may take; below the share of one broker in a question of ten seconds.
_CHANGE_MS = 3_500
# Answers about all topics by their bytes, least used first: most of them say what the one before said.
_READ: dict[tuple[int, bytes], tuple[list[TopicDescription], int]] = {}
_MOST_READ = 64


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

    All topics are those of one moment. A named topic that could not be described is a description with
    `error`.
    """

    async def ask(cluster: RawCluster) -> list[TopicDescription]:
        if names is None:
            return await cluster.ask_any(_describe_all)
        pieces: Pieces[str, TopicDescription] = Pieces(_DESCRIBING, _describe, TOPICS_PER_REQUEST)
        found = await pieces.ask(cluster, names, client.timeout_s)
        return [
            _unknown(name, one) if isinstance(one, ClusterFault) else one
            for name, one in found.items()
        ]

    return sorted(client.ask(_DESCRIBING, ask), key=lambda topic: topic.name)


def list_topic_names(client: ClusterClient) -> list[str]:
    """Return the names of all topics that this principal may see, internal ones included, sorted."""
    return [topic.name for topic in describe_topics(client)]


def create_topics(
    client: ClusterClient, wanted: Mapping[str, NewTopicSpec]
) -> dict[str, ClusterFault | None]:
    """Make topics; return why not per topic, None for those that exist now (also if they did before)."""
    refuse_when_read_only(client.connection.alias, "Creating topics")

    async def send(
        connection: BrokerConnection, names: Sequence[str]
    ) -> dict[str, ClusterFault | None]:
        topics = tuple(_new_topic(name, wanted[name]) for name in names)
        request = CreateTopicsRequest(topics=topics, timeout=duration(_CHANGE_MS))
        answer = await connection.request(CREATE_TOPICS, request)
        doing = partial(_fault, connection, "Creating topic")
        return {
            topic.name: doing(
                topic.name, topic.error_code, topic.error_message, "TOPIC_ALREADY_EXISTS"
            )
            for topic in answer.topics
        }

    return _change(client, "Creating topics", wanted, send)


def delete_topics(client: ClusterClient, names: Collection[str]) -> dict[str, ClusterFault | None]:
    """Delete topics; return why not per topic, None for those that are gone (also before)."""
    refuse_when_read_only(client.connection.alias, "Deleting topics")

    async def send(
        connection: BrokerConnection, names: Sequence[str]
    ) -> dict[str, ClusterFault | None]:
        request = DeleteTopicsRequest(
            topic_names=tuple(map(topic_name, names)), timeout=duration(_CHANGE_MS)
        )
        answer = await connection.request(DELETE_TOPICS, request)
        doing = partial(_fault, connection, "Deleting topic")
        return {
            topic.name: doing(
                topic.name, topic.error_code, topic.error_message, "UNKNOWN_TOPIC_OR_PARTITION"
            )
            for topic in answer.responses
        }

    return _change(client, "Deleting topics", names, send)


def create_partitions(
    client: ClusterClient, wanted: Mapping[str, int]
) -> dict[str, ClusterFault | None]:
    """Grow topics to a total number of partitions; return why not per topic, None for those that grew.

    Kafka never takes partitions away: a topic that has as many already is a fault
    (INVALID_PARTITIONS), also when somebody else has just grown it.
    """
    refuse_when_read_only(client.connection.alias, "Adding partitions")

    async def send(
        connection: BrokerConnection, names: Sequence[str]
    ) -> dict[str, ClusterFault | None]:
        topics = tuple(
            CreatePartitionsTopic(
                name=topic_name(name), count=int32(wanted[name]), assignments=None
            )
            for name in names
        )
        request = CreatePartitionsRequest(
            topics=topics, timeout=duration(_CHANGE_MS), validate_only=False
        )
        answer = await connection.request(CREATE_PARTITIONS, request)
        doing = partial(_fault, connection, "Adding partitions to topic")
        return {
            topic.name: doing(topic.name, topic.error_code, topic.error_message)
            for topic in answer.results
        }

    return _change(client, "Adding partitions", wanted, send)


def is_missing(topic: TopicDescription) -> bool:
    """Return whether a named topic could not be described because it does not exist."""
    return topic.error is not None and "UNKNOWN_TOPIC_OR_PART" in topic.error


def _change(
    client: ClusterClient,
    doing: str,
    names: Collection[str],
    send: Callable[[BrokerConnection, Sequence[str]], Awaitable[dict[str, ClusterFault | None]]],
) -> dict[str, ClusterFault | None]:
    pieces: Pieces[str, None] = Pieces(doing, send, CHANGES_PER_REQUEST, is_change=True)
    return client.ask(doing, lambda cluster: pieces.ask(cluster, names, client.timeout_s))


async def _describe_all(connection: BrokerConnection) -> list[TopicDescription]:
    version = connection.version(METADATA.speaks)
    call = METADATA.call(metadata_request(None), version)

    def read(frame: memoryview, at: int) -> tuple[list[TopicDescription], int]:
        key = version, bytes(frame[CORRELATION_ID_BYTES:])
        known = _READ.pop(key, None)
        if known is None:
            answer, end = call.decode(frame, at)
            known = _all_of(answer, connection.cluster), end
        if not any(topic.error for topic in known[0]):  # an error names the cluster
            _READ[key] = known
        for old in list(_READ)[:-_MOST_READ]:
            del _READ[old]
        return known

    about_all: Call[list[TopicDescription]] = Call(
        call.name, call.key, version, call.is_flexible, call.body, read
    )
    found = await connection.ask(about_all)
    return list(found)


def _all_of(answer: MetadataResponse, cluster: str) -> list[TopicDescription]:
    found = [(topic.name or "", _topic(topic, cluster)) for topic in answer.topics]
    # One that is just being deleted is not one of all topics.
    return [
        _unknown(name, one) if isinstance(one, ClusterFault) else one
        for name, one in found
        if not isinstance(one, TopicUnknown)
    ]


async def _describe(
    connection: BrokerConnection, names: Sequence[str]
) -> dict[str, TopicDescription | ClusterFault]:
    answer = await connection.request(METADATA, metadata_request(names))
    return {topic.name or "": _topic(topic, connection.cluster) for topic in answer.topics}


def _topic(topic: MetadataResponseTopic, cluster: str) -> TopicDescription | ClusterFault:
    name = topic.name or ""
    fault = answer_fault(topic.error_code, Where(cluster, None, f"Describing topic {name}"))
    if fault is not None:
        return fault
    # Before Kafka 2.8 topics have no ids.
    text = id_text(getattr(topic, "topic_id", None))
    partitions = sorted(map(_partition, topic.partitions), key=lambda one: one.partition)
    return TopicDescription(name, text, topic.is_internal, tuple(partitions))


def _partition(partition: MetadataResponsePartition) -> PartitionDescription:
    leader = partition.leader_id
    return PartitionDescription(
        partition.partition_index,
        leader if leader >= 0 else None,
        tuple(partition.replica_nodes),
        tuple(partition.isr_nodes),
    )


def _unknown(name: str, fault: ClusterFault) -> TopicDescription:
    return TopicDescription(name, None, is_internal=False, partitions=(), error=fault.message)


def _new_topic(name: str, spec: NewTopicSpec) -> CreatableTopic:
    assignments = tuple(
        CreatableReplicaAssignment(
            partition_index=int32(number), broker_ids=tuple(map(broker_number, brokers))
        )
        for number, brokers in enumerate(spec.replicas)
    )
    return CreatableTopic(
        name=topic_name(name),
        num_partitions=int32(BROKER_DEFAULT if assignments else spec.partitions),
        replication_factor=int16(
            BROKER_DEFAULT if assignments else spec.replication_factor or BROKER_DEFAULT
        ),
        assignments=assignments,
        configs=tuple(
            CreatableTopicConfig(name=key, value=value) for key, value in spec.configs.items()
        ),
    )


def _fault(
    connection: BrokerConnection,
    doing: str,
    topic: str,
    error: int,
    said: str | None,
    harmless: str = "",
) -> AnswerFault | None:
    """Return the fault of one topic, unless the wanted state was there already."""
    fault = answer_fault(error, Where(connection.cluster, None, f"{doing} {topic}"), said)
    return None if fault is None or fault.error == harmless else fault
