"""Groups with their members as brokers describe them: bytes of classic members, tasks of streams members.

Source: DescribeGroups (API 15) and StreamsGroupDescribe (API 89, KIP-1071, KIP-1331) of Kafka 4.4.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum


@dataclass(frozen=True, slots=True)
class ListedGroup:
    """A group of ListGroups; `state` and `type` (classic, consumer, share, streams) are Kafka's words."""

    group_id: str
    protocol_type: str
    state: str
    type: str


@dataclass(frozen=True, slots=True)
class ClassicMember:
    """A member of a classic group; `metadata` and `assignment` are what members wrote, untrusted."""

    member_id: str
    instance_id: str | None
    client_id: str
    client_host: str
    metadata: bytes
    assignment: bytes


@dataclass(frozen=True, slots=True)
class ClassicGroup:
    """A group of the classic protocol, as the broker `coordinator` tells it.

    `protocol` is the name of the assignor, empty while the group is not Stable. `members` then have no
    metadata, and the assignment from before.
    """

    group_id: str
    state: str
    protocol_type: str
    protocol: str
    members: tuple[ClassicMember, ...]
    coordinator: int | None = None


# Partitions by subtopology.
Tasks = Mapping[str, tuple[int, ...]]


@dataclass(frozen=True, slots=True)
class StreamsTasks:
    """The tasks of one member by role."""

    active: Tasks
    standby: Tasks
    warm_up: Tasks


@dataclass(frozen=True, slots=True)
class StreamsMember:
    """A member of a streams group, which is one thread of an instance.

    `endpoint` is `host:port`, None without `application.server`. `offsets` and `end_offsets` are of
    changelogs, by subtopology and partition; brokers before 4.4 leave them empty.
    """

    member_id: str
    member_epoch: int
    instance_id: str | None
    rack: str | None
    client_id: str
    client_host: str
    topology_epoch: int
    process_id: str
    endpoint: str | None
    tags: Mapping[str, str]
    assignment: StreamsTasks
    target: StreamsTasks
    offsets: Mapping[tuple[str, int], int]
    end_offsets: Mapping[tuple[str, int], int]
    is_classic: bool


@dataclass(frozen=True, slots=True)
class StreamsSubtopology:
    """A subtopology as the members registered it; topics with their full names."""

    subtopology: str
    source_topics: tuple[str, ...]
    repartition_source_topics: tuple[str, ...]
    repartition_sink_topics: tuple[str, ...]
    changelog_topics: tuple[str, ...]


class DescriptionStatus(IntEnum):
    """Whether the broker has the description of a topology; brokers before 4.4 were not asked."""

    NOT_REQUESTED = 0
    NOT_STORED = 1
    ERROR = 2
    AVAILABLE = 3


@dataclass(frozen=True, slots=True)
class StreamsNode:
    """A node of a topology; `kind` is 1 for a source, 2 for a processor, 3 for a sink.

    A source by pattern has no `topics`, nor has a sink that chooses the topic of each record.
    """

    name: str
    kind: int
    topics: tuple[str, ...] = ()
    stores: tuple[str, ...] = ()
    successors: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class StreamsDescription:
    """What the application told the broker of its topology, untrusted; global stores have two nodes each."""

    subtopologies: tuple[tuple[str, tuple[StreamsNode, ...]], ...]
    global_stores: tuple[tuple[StreamsNode, StreamsNode], ...] = ()


@dataclass(frozen=True, slots=True)
class StreamsGroup:
    """A group of the streams protocol; `subtopologies` is None while its topology is not ready.

    `description_status` is Kafka's number (`DescriptionStatus`); `description` comes with AVAILABLE.
    """

    group_id: str
    state: str
    group_epoch: int
    assignment_epoch: int
    topology_epoch: int | None
    subtopologies: tuple[StreamsSubtopology, ...] | None
    members: tuple[StreamsMember, ...]
    description_status: int = DescriptionStatus.NOT_REQUESTED
    description: StreamsDescription | None = None
