"""The connection check of a cluster: reachability, cluster id, permitted operations."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from jobs.cluster.admin.brokers import describe_cluster
from jobs.cluster.admin.configs import read_topic_configs
from jobs.cluster.admin.groups import list_groups
from jobs.cluster.admin.topics import describe_topics, list_topic_names
from jobs.cluster.capabilities.reader import findings_of, read_versions
from jobs.cluster.capabilities.verdicts import ClusterVersions
from jobs.cluster.client import ClusterClient
from jobs.cluster.connection import Connection, SecurityProtocol
from jobs.cluster.descriptions import BrokerDescription, ClusterDescription
from jobs.cluster.errors import ClusterFault

_T = TypeVar("_T")

CHECK_TIMEOUT_S = 8.0
NO_TOPIC = "No topic is visible: there is none, or the principal may not DESCRIBE any."


@dataclass(frozen=True, slots=True)
class ConnectionCheck:
    """What a check found; `findings` are sentences about what will not work or is worth knowing."""

    cluster_id: str
    brokers: tuple[BrokerDescription, ...]
    operations: frozenset[str]
    findings: tuple[str, ...]
    versions: ClusterVersions | None = None


def check_connection(
    connection: Connection, *, timeout_s: float = CHECK_TIMEOUT_S
) -> ConnectionCheck:
    """Ask the cluster who it is and try what crosslog needs; raises `ClusterFault` when it cannot."""
    with ClusterClient(connection, timeout_s=timeout_s) as client:
        cluster = describe_cluster(client)
        versions, problem = _try("versions cannot be read", lambda: read_versions(client))
        findings = [
            *(findings_of(versions) if versions else problem),
            *_about_security(connection),
            *_about_brokers(cluster),
            *_about_operations(cluster),
            *_about_topics(client),
            *_about_groups(client),
        ]
    return ConnectionCheck(
        cluster.cluster_id,
        cluster.brokers,
        cluster.authorized_operations or frozenset(),
        tuple(findings),
        versions,
    )


def field_of_fault(fault: ClusterFault) -> str:
    """Return the connection's field to which a fault's message belongs."""
    return fault.field


def _about_security(connection: Connection) -> list[str]:
    if connection.security_protocol is SecurityProtocol.SASL_PLAINTEXT:
        return ["The connection is not encrypted: SASL_SSL protects the credentials on their way."]
    return []


def _about_brokers(cluster: ClusterDescription) -> list[str]:
    without = [b.broker_id for b in cluster.brokers if b.rack is None]
    if not without:
        return []
    if len(without) == len(cluster.brokers):
        return ["No broker has broker.rack set: the effect of a rack failure is unknown."]
    ids = ", ".join(map(str, without))
    return [f"Brokers without broker.rack: {ids}. The effect of a rack failure on them is unknown."]


def _about_operations(cluster: ClusterDescription) -> list[str]:
    operations = cluster.authorized_operations
    if not operations:
        return [
            "The principal has no permission on the cluster itself, or the cluster does not report any."
        ]
    return [text for name, text in _NEEDED.items() if name not in operations]


_NEEDED = {
    "DESCRIBE": "The principal may not DESCRIBE the cluster: groups of others cannot be listed.",
    "DESCRIBE_CONFIGS": (
        "The principal may not DESCRIBE_CONFIGS of the cluster: broker settings cannot be shown."
    ),
    "CREATE": (
        "The principal may not CREATE on the cluster: a flow into this cluster needs its remote topics "
        "to be created beforehand, or CREATE on them."
    ),
}


def _about_topics(client: ClusterClient) -> list[str]:
    names, problem = _try("topics cannot be listed", lambda: list_topic_names(client))
    if not names:
        return problem or [NO_TOPIC]
    sample = [name for name in names if not name.startswith("__")][:3] or names[:1]
    described, problem = _try("topics cannot be described", lambda: describe_topics(client, sample))
    found = problem + [f"Topic {t.name}: {t.error}" for t in described or () if t.error]
    configs, problem = _try(
        "topic settings cannot be read",
        lambda: read_topic_configs(client, sample, ("cleanup.policy",)),
    )
    if configs is not None and len(configs) < len(sample):
        found.append(
            "The principal may not DESCRIBE_CONFIGS of some topics: a flow cannot copy their settings."
        )
    return found + problem


def _about_groups(client: ClusterClient) -> list[str]:
    listing, problem = _try("groups cannot be listed", lambda: list_groups(client))
    return problem + [f"Groups: {error}." for error in (listing.errors if listing else ())]


def _try(what: str, ask: Callable[[], _T]) -> tuple[_T | None, list[str]]:
    try:
        return ask(), []
    except ClusterFault as fault:
        return None, [f"With this principal {what}: {fault.message}"]
