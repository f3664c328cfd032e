"""The call and the command that answer the same question as a page of the availability room."""

from __future__ import annotations

import shlex

from console.availability.status.models import PartitionStatus
from console.clusters.equivalents import Equivalents, call_of, tool_of
from console.clusters.models import Cluster


def of_list() -> Equivalents:
    """Return the equivalents of the list of clusters."""
    return Equivalents("GET /api/v1/availability/", "")


def of_cluster(cluster: Cluster) -> Equivalents:
    """Return the equivalents of the overview."""
    command = tool_of("kafka-topics.sh", cluster, "--describe --under-replicated-partitions")
    return Equivalents(f"GET /api/v1/availability/{cluster.alias}/", command)


def of_topics(cluster: Cluster) -> Equivalents:
    """Return the equivalents of the table of topics."""
    return Equivalents(call_of("availability/rollups", cluster=cluster.alias, kind="topic"), "")


def of_racks(cluster: Cluster) -> Equivalents:
    """Return the equivalents of the table of racks."""
    return Equivalents(call_of("availability/rollups", cluster=cluster.alias, kind="rack"), "")


def of_absences(cluster: Cluster) -> Equivalents:
    """Return the equivalents of the replicas that are out of sync."""
    return Equivalents(call_of("availability/out-of-sync", cluster=cluster.alias), "")


def of_events(cluster: Cluster) -> Equivalents:
    """Return the equivalents of what happened lately."""
    return Equivalents(call_of("availability/stretches", cluster=cluster.alias), "")


def of_partitions(cluster: Cluster) -> Equivalents:
    """Return the equivalents of the list of partitions."""
    return Equivalents(
        call_of("availability/partitions", cluster=cluster.alias),
        tool_of("kafka-topics.sh", cluster, "--describe"),
    )


def of_partition(row: PartitionStatus) -> Equivalents:
    """Return the equivalents of a partition's page."""
    call = f"GET /api/v1/availability/partitions/{row.pk}/history/"
    return Equivalents(
        call,
        tool_of("kafka-topics.sh", row.cluster, f"--describe --topic {shlex.quote(row.topic)}"),
    )


def of_brokers(cluster: Cluster) -> Equivalents:
    """Return the equivalents of the page of brokers."""
    return Equivalents(call_of("availability/brokers", cluster=cluster.alias), "")
