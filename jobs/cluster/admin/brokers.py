"""DescribeCluster: who is there and what this principal may do."""

from __future__ import annotations

from jobs.cluster.client import ClusterClient
from jobs.cluster.descriptions import ClusterDescription
from jobs.cluster.errors import ClusterIdChanged


def describe_cluster(client: ClusterClient) -> ClusterDescription:
    """Return the cluster's id, its live brokers, and the operations that are allowed on it.

    Raises `ClusterIdChanged` when the connection names another cluster id: everything that is known
    about the old cluster would be wrong for this one.
    """
    described = client.describe()
    _refuse_another_cluster(client, described.cluster_id)
    return described


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
