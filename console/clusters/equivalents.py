"""The call and the command that answer the same question as a page."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from urllib.parse import urlencode

from console.clusters.models import Cluster


@dataclass(frozen=True, slots=True)
class Equivalents:
    """Ready to copy: an API call and a command of Kafka's own tools."""

    api: str
    cli: str


def of_list() -> Equivalents:
    return Equivalents("GET /api/v1/clusters/", "")


def of_cluster(cluster: Cluster) -> Equivalents:
    """Return the equivalents of a cluster's first page."""
    call = f"GET /api/v1/clusters/{cluster.alias}/"
    return Equivalents(call, tool_of("kafka-cluster.sh cluster-id", cluster, "", config="--config"))


def of_capabilities(cluster: Cluster) -> Equivalents:
    """Return the equivalents of a cluster's version and capabilities."""
    return Equivalents(
        f"GET /api/v1/clusters/{cluster.alias}/capabilities/",
        tool_of("kafka-broker-api-versions.sh", cluster, ""),
    )


def of_brokers(cluster: Cluster) -> Equivalents:
    return Equivalents(
        call_of("brokers", cluster=cluster.alias),
        tool_of("kafka-broker-api-versions.sh", cluster, ""),
    )


def of_topics(cluster: Cluster) -> Equivalents:
    return Equivalents(
        call_of("topics", cluster=cluster.alias), tool_of("kafka-topics.sh", cluster, "--describe")
    )


def of_mirror(cluster: Cluster) -> Equivalents:
    """Return the equivalents of the page of what is mirrored here."""
    return Equivalents(f"GET /api/v1/clusters/{cluster.alias}/mirror/", "")


def of_topic(cluster: Cluster, topic: str) -> Equivalents:
    """Return the equivalents of a topic's page."""
    return Equivalents(
        call_of("partitions", cluster=cluster.alias, topic=topic),
        tool_of("kafka-topics.sh", cluster, f"--describe --topic {shlex.quote(topic)}"),
    )


def of_partitions(cluster: Cluster, counted_as: str) -> Equivalents:
    """Return the equivalents of the partitions' page, narrowed to one of Kafka's counts."""
    if counted_as not in _PARTITION_OPTIONS:
        return Equivalents(call_of("partitions", cluster=cluster.alias), of_topics(cluster).cli)
    return Equivalents(
        call_of("partitions", cluster=cluster.alias, counted_as=counted_as),
        tool_of("kafka-topics.sh", cluster, f"--describe {_PARTITION_OPTIONS[counted_as]}"),
    )


_PARTITION_OPTIONS = {
    "under_replicated": "--under-replicated-partitions",
    "at_min_isr": "--at-min-isr-partitions",
    "under_min_isr": "--under-min-isr-partitions",
    "offline": "--unavailable-partitions",
}


def of_groups(cluster: Cluster) -> Equivalents:
    return Equivalents(
        call_of("groups", cluster=cluster.alias),
        tool_of("kafka-consumer-groups.sh", cluster, "--describe --all-groups"),
    )


def of_group(cluster: Cluster, group_id: str, type_: str = "") -> Equivalents:
    """Return the equivalents of a group's page: each of Kafka's tools describes groups of its own types."""
    tool = _GROUP_TOOLS.get(type_, "kafka-consumer-groups.sh")
    return Equivalents(
        call_of("group-offsets", cluster=cluster.alias, group=group_id),
        tool_of(tool, cluster, f"--describe --group {shlex.quote(group_id)}"),
    )


_GROUP_TOOLS = {"share": "kafka-share-groups.sh", "streams": "kafka-streams-groups.sh"}


def call_of(route: str, **query: str) -> str:
    """Return the call of a list of the API."""
    return f"GET /api/v1/{route}/?{urlencode(query)}"


def tool_of(tool: str, cluster: Cluster, rest: str, config: str = "--command-config") -> str:
    """Return a command; a secured cluster needs a file that only the operator has."""
    is_plain = cluster.security_protocol == "PLAINTEXT"
    settings = "" if is_plain else f"{config} client.properties"
    parts = (tool, "--bootstrap-server", shlex.quote(cluster.bootstrap_servers), settings, rest)
    return " ".join(part for part in parts if part)
