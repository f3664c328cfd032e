"""What a cluster answered, as plain values: the vocabulary between the door and everybody else."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple


class TopicPartition(NamedTuple):
    """A topic's name and a partition number."""

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


@dataclass(frozen=True, slots=True)
class BrokerDescription:
    """A live broker; `rack` is None when the broker has no `broker.rack`."""

    broker_id: int
    host: str
    port: int
    rack: str | None = None


@dataclass(frozen=True, slots=True)
class ClusterDescription:
    """The answer of DescribeCluster.

    `authorized_operations` are Kafka's names (`DESCRIBE`, `CREATE` ...) of what this principal may
    do on the cluster resource; None when the cluster did not say.
    """

    cluster_id: str
    brokers: tuple[BrokerDescription, ...]
    authorized_operations: frozenset[str] | None = None


@dataclass(frozen=True, slots=True)
class PartitionDescription:
    """A partition as the metadata shows it; `leader` is None while it has none (offline)."""

    partition: int
    leader: int | None
    replicas: tuple[int, ...]
    isr: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class TopicDescription:
    """A topic; `topic_id` is None before Kafka 2.8, `error` the reason of a partial answer."""

    name: str
    topic_id: str | None
    is_internal: bool
    partitions: tuple[PartitionDescription, ...]
    error: str | None = None


@dataclass(frozen=True, slots=True)
class OffsetRange:
    """Offsets of one partition.

    `end_offset` is ListOffsets(latest) with read_committed, so the last stable offset: what a
    reader of committed data can reach now. `high_watermark` is the same with read_uncommitted.
    `max_timestamp_ms` is the largest timestamp in the log (None: empty, or not asked); on a topic
    with transactions it may be that of a marker, which carries the time of the commit.
    `error` is set instead of offsets when this partition could not be read.
    """

    log_start_offset: int | None = None
    end_offset: int | None = None
    high_watermark: int | None = None
    max_timestamp_ms: int | None = None
    error: str | None = None


@dataclass(frozen=True, slots=True)
class GroupDescription:
    """A group; `state`, `type` and `protocol` are Kafka's words (Stable ... / classic, share ... / consumer).

    `assigned` are the partitions that live members hold now. `protocol` comes from lists only.
    """

    group_id: str
    state: str
    type: str
    member_count: int | None = None
    coordinator: int | None = None
    assignor: str | None = None
    assigned: frozenset[TopicPartition] = frozenset()
    error: str | None = None
    protocol: str = ""


@dataclass(frozen=True, slots=True)
class CommittedOffset:
    """A group's committed offset; `offset` is None when the group has none for this partition."""

    offset: int | None
    metadata: str = ""
    error: str | None = None


@dataclass(frozen=True, slots=True)
class ShareOffset:
    """From where a share group may still deliver a partition, and how many records are left to it.

    `start_offset` is None before its first record, `lag` also where the broker does not know it.
    """

    start_offset: int | None
    lag: int | None
    error: str | None = None


@dataclass(frozen=True, slots=True)
class OpenTransaction:
    """The oldest open transaction of a partition, as its leader and the coordinators tell it.

    `transactional_id` is None where no coordinator lists the producer; `is_known`: its coordinator has a
    transaction of it with this partition, `started_ms` and `timeout_ms` are of that one.
    """

    producer_id: int
    producer_epoch: int
    coordinator_epoch: int
    start_offset: int
    transactional_id: str | None = None
    state: str = ""
    is_known: bool = False
    started_ms: int | None = None
    timeout_ms: int | None = None
