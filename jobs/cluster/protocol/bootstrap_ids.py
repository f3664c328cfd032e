"""Which cluster answers at each bootstrap server: clients take for granted that all are of one cluster."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace

from jobs.cluster.connection import Connection
from jobs.cluster.errors import ClusterFault, SeveralClusters
from jobs.cluster.protocol.cluster import RawCluster
from jobs.cluster.protocol.transport.timing import Timing


async def read_bootstrap_ids(
    connection: Connection, *, client_id: str, within_s: float
) -> dict[str, str | None]:
    """Return the cluster id that each bootstrap server tells; None where it did not answer in time.

    Every server is asked with the same security settings. Raises `SecretMissing` and `TlsFailed` when these
    are not usable.
    """
    servers = connection.bootstrap_servers.split(",")
    timing = Timing(connect_timeout_s=within_s, metadata_timeout_s=within_s)
    asked = [
        _id_at(replace(connection, bootstrap_servers=server, cluster_id=None), client_id, timing)
        for server in servers
    ]
    return dict(zip(servers, await asyncio.gather(*asked), strict=True))


async def _id_at(connection: Connection, client_id: str, timing: Timing) -> str | None:
    async with RawCluster(connection, client_id=client_id, timing=timing) as cluster:
        try:
            return (await cluster.metadata()).cluster_id
        except ClusterFault:
            # A broker may be down: only the answers of the others are compared.
            return None


def refuse_several_clusters(alias: str, ids: Mapping[str, str | None]) -> None:
    """Raise `SeveralClusters` when bootstrap servers tell different cluster ids."""
    told = {server: found for server, found in ids.items() if found}
    number = len(set(told.values()))
    if number > 1:
        named = ", ".join(f"{server} is cluster {found}" for server, found in told.items())
        raise SeveralClusters(
            f"The bootstrap servers belong to {number} clusters: {named}. Nothing was read from them.",
            cluster=alias,
        )
