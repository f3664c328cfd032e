"""The plan of a lab's cluster: nodes, racks, ports and settings. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from jobs.cluster.connection import Connection
from jobs.lab.errors import LabError
from jobs.lab.install.releases import KAFKA_VERSION, KafkaRelease, TieredStorageJars

HOST = "127.0.0.1"
MAX_NODES = 20
BLOCK = 100  # ports per cluster: five listeners with room for MAX_NODES nodes each
_ALIAS = re.compile(r"[a-z][a-z0-9-]{0,30}")
_LISTENERS = ("PLAINTEXT", "CONTROLLER", "SASL_PLAINTEXT", "SSL", "SASL_SSL")
_HIGHEST_PORT = 65535
DEFAULT_BASE_PORT = 19092
ALIASES = ("east", "west")  # the clusters of `standard_plans`


@dataclass(frozen=True, slots=True)
class ClusterPlan:
    """One cluster: nodes 1..`nodes` are broker and controller at once, or brokers beside a ZooKeeper.

    `base_port` is the client port of node 1, the next nodes follow. `racks` are given out in turn;
    none means no racks. `overrides` are broker settings that win over the lab's own. `is_secure`
    adds listeners with SASL_PLAINTEXT, SSL and SASL_SSL, two users and ACLs (see `security`).
    `node_overrides` are settings of single nodes by their id, which win over all others.
    `kafka` is the version of all nodes but those in `node_versions`. Before Kafka 3.3 a cluster has a
    ZooKeeper, from 3.3 to 3.9 it has one with `zookeeper`. `tiered`: its topics may have remote storage, a
    folder beside those of the nodes.
    """

    alias: str
    nodes: int
    base_port: int
    racks: tuple[str, ...] = ()
    overrides: Mapping[str, str] = field(default_factory=dict)
    is_secure: bool = False
    node_overrides: Mapping[int, Mapping[str, str]] = field(default_factory=dict)
    kafka: str = KAFKA_VERSION
    zookeeper: bool = False
    node_versions: Mapping[int, str] = field(default_factory=dict)
    tiered: bool = False

    def __post_init__(self) -> None:
        if not _ALIAS.fullmatch(self.alias):
            raise LabError(f"{self.alias!r} is no cluster alias: lower-case letters, digits and -.")
        if not 1 <= self.nodes < MAX_NODES:
            raise LabError(f"A cluster of a lab has 1 to {MAX_NODES - 1} nodes, not {self.nodes}.")
        if not 1024 <= self.base_port <= _HIGHEST_PORT - BLOCK:  # noqa: PLR2004  below: for root only
            raise LabError(
                f"{self.base_port} is no usable base port: 1024 to {_HIGHEST_PORT - BLOCK}."
            )
        named = {*self.node_overrides, *self.node_versions}
        if not named <= set(self.node_ids):
            raise LabError(
                f"{self.alias} has the nodes 1 to {self.nodes}, "
                f"but there are settings for {sorted(named - set(self.node_ids))}."
            )
        for version in self.versions:
            if self.has_zookeeper and not KafkaRelease(version).has_zookeeper:
                raise LabError(
                    f"{self.alias} has a ZooKeeper, which Kafka {version} cannot use: take 3.9 or older."
                )
            if self.tiered:
                TieredStorageJars(version)

    @property
    def versions(self) -> frozenset[str]:
        """The Kafka versions of the cluster's nodes."""
        return frozenset((self.kafka, *self.node_versions.values()))

    @property
    def has_zookeeper(self) -> bool:
        """Whether the cluster keeps its metadata in ZooKeeper."""
        return self.zookeeper or not KafkaRelease(self.kafka).has_kraft

    @property
    def node_ids(self) -> range:
        """The ids of the nodes that the cluster begins with."""
        return range(1, self.nodes + 1)

    @property
    def connection(self) -> Connection:
        """How crosslog reaches the cluster through its plaintext listener."""
        return Connection(alias=self.alias, bootstrap_servers=self.bootstrap_servers())

    @property
    def listeners(self) -> tuple[str, ...]:
        """The names of a broker's listeners."""
        names = _LISTENERS if self.is_secure else _LISTENERS[:2]
        return tuple(n for n in names if n != "CONTROLLER" or not self.has_zookeeper)

    def release(self, node_id: int) -> KafkaRelease:
        """Return the Kafka version of a node."""
        return KafkaRelease(self.node_versions.get(node_id, self.kafka))

    def port(self, listener: str, node_id: int) -> int:
        """Return the port of a listener: each listener has twenty ports of the cluster's block."""
        return self.base_port + MAX_NODES * _LISTENERS.index(listener) + node_id - 1

    def address(self, listener: str, node_id: int) -> str:
        """Return host:port of a listener."""
        return f"{HOST}:{self.port(listener, node_id)}"

    @property
    def zookeeper_address(self) -> str:
        """Where the cluster's ZooKeeper listens, if it has one: at the port of a first controller."""
        return self.address("CONTROLLER", 1)

    def bootstrap_servers(self, listener: str = "PLAINTEXT") -> str:
        """Return the addresses of all brokers on one listener."""
        return ",".join(self.address(listener, node_id) for node_id in self.node_ids)

    def ports(self) -> list[int]:
        """Return every port that the cluster begins with."""
        ports = [self.port(n, node_id) for n in self.listeners for node_id in self.node_ids]
        return [*ports, self.port("CONTROLLER", 1)] if self.has_zookeeper else ports

    def rack(self, node_id: int) -> str | None:
        return self.racks[(node_id - 1) % len(self.racks)] if self.racks else None

    def to_mapping(self) -> dict[str, object]:
        """Return JSON values for `from_mapping`."""
        return asdict(self) | {
            "racks": list(self.racks),
            "overrides": dict(self.overrides),
            "node_overrides": {str(one): dict(own) for one, own in self.node_overrides.items()},
            "node_versions": {str(one): version for one, version in self.node_versions.items()},
        }

    @classmethod
    def from_mapping(cls, values: Mapping[str, Any]) -> ClusterPlan:
        own = {int(node_id): own for node_id, own in values.get("node_overrides", {}).items()}
        versions = {int(one): version for one, version in values.get("node_versions", {}).items()}
        kept = {"racks": tuple(values["racks"]), "node_overrides": own, "node_versions": versions}
        return cls(**{**values, **kept})


def standard_plans(
    base_port: int = DEFAULT_BASE_PORT,
    *,
    west_nodes: int = 1,
    versions: Mapping[str, str] | None = None,
    zookeeper: frozenset[str] = frozenset(),
    tiered: frozenset[str] = frozenset(),
) -> list[ClusterPlan]:
    """Return the lab of the demo: `east` over three data centres and a smaller `west`.

    `versions` are Kafka versions by alias; the clusters in `zookeeper` have one, topics of those in `tiered`
    may have remote storage.
    """
    plans = [
        ClusterPlan("east", 3, base_port, racks=("dc-a", "dc-b", "dc-c")),
        ClusterPlan("west", west_nodes, base_port + BLOCK, racks=("dc-w1", "dc-w2", "dc-w3")),
    ]
    return [
        replace(
            plan,
            kafka=(versions or {}).get(plan.alias, KAFKA_VERSION),
            zookeeper=plan.alias in zookeeper,
            tiered=plan.alias in tiered,
        )
        for plan in plans
    ]
