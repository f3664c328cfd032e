"""What brokers of a version answer to ApiVersions, see tests/conformance/api_versions."""

from pathlib import Path
from typing import Any

from jobs.cluster.capabilities.reader import read_versions
from jobs.cluster.client import ClusterClient
from jobs.lab.install.releases import KafkaRelease
from tools.recording.case_files import write_json
from tools.recording.one_node import one_node

_PROTOCOL = {"inter.broker.protocol.version": "2.7"}
# Nodes without default settings: version -> name of the file, and what is different.
_SPECIAL: dict[str, dict[str, dict[str, Any]]] = {
    "3.6.2": {"zookeeper-protocol-2.7": {"zookeeper": True, "overrides": _PROTOCOL}},
    "3.9.1": {"metadata-3.3": {"formatted": ["--release-version", "3.3"]}},
    "4.3.1": {"metadata-3.9": {"formatted": ["--release-version", "3.9"]}},
}


def record_api_versions(version: str, folder: Path) -> None:
    """Write `VERSION-NAME.json` for every kind of node of a version; about 5 s each."""
    release = KafkaRelease(version)
    nodes = dict(_SPECIAL.get(version, {}))
    if release.has_kraft:
        nodes["kraft"] = {"formatted": []}
    if release.has_zookeeper:
        nodes["zookeeper"] = {"zookeeper": True}
    for name, settings in nodes.items():
        with one_node(version, **settings) as cluster, ClusterClient(cluster.connection) as client:
            answer = read_versions(client).brokers[1]
        recorded = {
            "finalized": dict(sorted(answer.features.items())),
            "supported": dict(sorted(answer.supported.items())),
            "ranges": {str(key): list(answer.ranges[key]) for key in sorted(answer.ranges)},
        }
        write_json(folder / f"{version}-{name}.json", recorded)
