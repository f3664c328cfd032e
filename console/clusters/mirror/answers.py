"""What Kafka's MirrorClient answers about a cluster: source clusters, and translated offsets of their groups.

Names come from the database; only the offsets of one group are read from the cluster, within a budget.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from console.clusters import queries
from console.clusters.models import Cluster
from console.frame.errors import ActionRefused
from jobs.cluster.client import ClusterClient
from jobs.cluster.connection import Connection
from jobs.cluster.descriptions import CommittedOffset, TopicPartition
from jobs.cluster.errors import ClusterFault
from jobs.replication.naming import topology
from jobs.replication.naming.mirror_client import MirrorClient
from jobs.replication.policy import (
    DefaultReplicationPolicy,
    IdentityReplicationPolicy,
    ReplicationPolicy,
)

BUDGET_S = 10.0
DEFAULT, IDENTITY = "default", "identity"
ReadOffsets = Callable[
    [Connection, ReplicationPolicy, str, str], Mapping[TopicPartition, CommittedOffset]
]


@dataclass(frozen=True, slots=True)
class Upstream:
    """A cluster whose heartbeats or topics arrive here.

    `replication_hops` -1: no heartbeats of it do. `remote_topics` came directly from it.
    """

    alias: str
    replication_hops: int
    remote_topics: list[str]
    checkpoints_topic: str
    has_checkpoints: bool


@dataclass(frozen=True, slots=True)
class Mirrored:
    """The answers that names of topics give."""

    upstream_clusters: list[Upstream]
    heartbeat_topics: list[str]
    checkpoint_topics: list[str]


@dataclass(frozen=True, slots=True)
class RemoteOffset:
    """Translated offset of a group in a partition of this cluster."""

    topic: str
    partition: int
    offset: int
    metadata: str


def policy_from(asked: Mapping[str, Any]) -> ReplicationPolicy:
    """Return the naming policy of a question; `source` is the alias that an identity policy needs."""
    separator = asked.get("separator") or "."
    inside = asked.get("internal_separator", True)
    if asked.get("policy") == IDENTITY:
        return IdentityReplicationPolicy(
            asked.get("source") or None, separator, internal_topic_separator_enabled=inside
        )
    return DefaultReplicationPolicy(separator, internal_topic_separator_enabled=inside)


def mirrored(cluster: Cluster, policy: ReplicationPolicy) -> Mirrored:
    """Return what the names of the cluster's topics tell; one query."""
    topics = list(queries.list_topics(cluster).order_by("name").values_list("name", flat=True))
    checkpoints = topology.checkpoint_topics(policy, topics)
    by_source: dict[str, list[str]] = {a: [] for a in topology.upstream_clusters(policy, topics)}
    for topic in topology.remote_topics(policy, topics):
        by_source.setdefault(policy.topic_source(topic) or "", []).append(topic)
    return Mirrored(
        [
            Upstream(
                alias,
                topology.replication_hops(policy, topics, alias),
                names,
                policy.checkpoints_topic(alias),
                has_checkpoints=policy.checkpoints_topic(alias) in checkpoints,
            )
            for alias, names in sorted(by_source.items())
        ],
        topology.heartbeat_topics(policy, topics),
        checkpoints,
    )


def read_from_kafka(
    connection: Connection, policy: ReplicationPolicy, group: str, source: str
) -> Mapping[TopicPartition, CommittedOffset]:
    """Read the topic of checkpoints to its end; raises `ClusterFault`."""
    with ClusterClient(connection, timeout_s=BUDGET_S) as client:
        return MirrorClient(client, policy).remote_consumer_offsets(group, source)


def consumer_offsets(
    cluster: Cluster,
    policy: ReplicationPolicy,
    group: str,
    source: str,
    read: ReadOffsets = read_from_kafka,
) -> list[RemoteOffset]:
    """Read the translated offsets of a group of a source cluster; raises `ActionRefused`."""
    try:
        found = read(cluster.connection(), policy, group, source)
    except ClusterFault as fault:
        raise ActionRefused(fault.code, f"{fault.message} {fault.hint}") from None
    return [
        RemoteOffset(where.topic, where.partition, one.offset or 0, one.metadata)
        for where, one in sorted(found.items())
    ]
