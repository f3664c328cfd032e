"""DescribeCluster: who is there and what this principal may do."""

from __future__ import annotations

from typing import Any

from jobs.cluster.client import UNTIL_CLOSED, ClusterClient
from jobs.cluster.descriptions import BrokerDescription, ClusterDescription
from jobs.cluster.errors import ClusterIdChanged


def describe_cluster(client: ClusterClient) -> ClusterDescription:
    """Return the cluster's id, its live brokers, and the operations that are allowed on it.

    Raises `ClusterIdChanged` when the connection names another cluster id: everything that is known
    about the old cluster would be wrong for this one.
    """
    answer = client.ask(
        lambda admin, _: admin.describe_cluster(
            include_authorized_operations=True, request_timeout=UNTIL_CLOSED
        ),
        "Describing the cluster",
    )
    described = ClusterDescription(
        cluster_id=answer.cluster_id or "",
        brokers=tuple(sorted((_broker(node) for node in answer.nodes), key=lambda b: b.broker_id)),
        authorized_operations=_operations(answer.authorized_operations),
    )
    _refuse_another_cluster(client, described.cluster_id)
    return described


def _broker(node: Any) -> BrokerDescription:
    return BrokerDescription(node.id, node.host, node.port, node.rack or None)


def _operations(operations: Any) -> frozenset[str] | None:
    if operations is None:
        return None
    return frozenset(operation.name for operation in operations)


def _refuse_another_cluster(client: ClusterClient, found: str) -> None:
    expected = client.connection.cluster_id
    if expected and found != expected:
        fault = ClusterIdChanged(
            f"Registered as cluster {expected}, but {client.connection.bootstrap_servers} is now "
            f"cluster {found}. Nothing was read from it or written to it.",
            cluster=client.connection.alias,
        )
        fault.found = found
        raise fault
