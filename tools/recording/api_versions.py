"""What brokers of a version answer to ApiVersions, see tests/conformance/api_versions."""

import asyncio
from pathlib import Path
from typing import Any

from jobs.cluster.connection import Connection
from jobs.cluster.protocol.cluster import RawCluster
from jobs.cluster.protocol.transport.apis import BrokerVersions
from jobs.cluster.protocol.transport.connection import BrokerConnection
from jobs.lab.install.releases import KafkaRelease
from tools.recording.case_files import write_json
from tools.recording.one_node import one_node

# Nodes that are not with default settings: version -> name of the file -> how the node differs.
_SPECIAL: dict[str, dict[str, dict[str, Any]]] = {
    "3.6.2": {
        "zookeeper-protocol-2.7": {
            "zookeeper": True,
            "overrides": {"inter.broker.protocol.version": "2.7"},
        }
    },
    "3.9.1": {"metadata-3.3": {"formatted": ["--release-version", "3.3"]}},
    "4.3.1": {"metadata-3.9": {"formatted": ["--release-version", "3.9"]}},
}


def record_api_versions(version: str, folder: Path) -> None:
    """Write `VERSION-NAME.json` for every kind of node of a version; about 10 s each."""
    release = KafkaRelease(version)
    nodes: dict[str, dict[str, Any]] = {}
    if release.has_kraft:
        nodes["kraft"] = {"formatted": []}
    if release.has_zookeeper:
        nodes["zookeeper"] = {"zookeeper": True}
    for name, settings in (nodes | _SPECIAL.get(version, {})).items():
        with one_node(version, **settings) as cluster:
            answer = asyncio.run(_answer(cluster.connection))
        recorded = {
            "finalized": dict(sorted(answer.features.items())),
            "supported": dict(sorted(answer.supported.items())),
            "ranges": {str(key): list(answer.ranges[key]) for key in sorted(answer.ranges)},
        }
        write_json(folder / f"{version}-{name}.json", recorded)


async def _answer(connection: Connection) -> BrokerVersions:
    async def versions(connection: BrokerConnection) -> BrokerVersions:
        return connection.versions

    async with RawCluster(connection, client_id="record") as cluster:
        return await cluster.ask_any(versions)
