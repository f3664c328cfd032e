"""What a round asks of a cluster about its applications; a fake of it replaces Kafka in tests."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from jobs import limits
from jobs.cluster.client import ClusterClient
from jobs.cluster.connection import Connection
from jobs.cluster.errors import ClusterFault
from jobs.cluster.protocol.cluster import RawCluster
from jobs.streams.collection.applications import find_applications, observe_all
from jobs.streams.observation import Observation

FIND_BUDGET_S, OBSERVE_BUDGET_S = 12.0, 30.0


@dataclass(frozen=True, slots=True)
class SeenApplications:
    """What one cluster answered.

    `group_ids` are all groups of the cluster. `faults` are those of groups that could not be described,
    `cluster_faults` those of brokers that did not list their groups.
    """

    observations: Mapping[str, Observation]
    group_ids: frozenset[str]
    faults: Mapping[str, ClusterFault] = field(default_factory=dict)
    cluster_faults: tuple[ClusterFault, ...] = ()


class StreamsDoor(Protocol):
    """One question to a cluster about all of its applications; raises `ClusterFault`."""

    def __call__(
        self, connection: Connection, known: Collection[str], now_ms: int
    ) -> SeenApplications:
        """Return the applications; `known` are group ids that were applications before."""
        ...


def ask_cluster(connection: Connection, known: Collection[str], now_ms: int) -> SeenApplications:
    """Ask the real cluster."""

    async def ask(cluster: RawCluster) -> SeenApplications:
        found = await find_applications(cluster, known=known, budget_s=FIND_BUDGET_S)
        kept, faults = first_applications(found.groups, known, cluster.alias)
        seen = await observe_all(cluster, found, kept, now_ms=now_ms, budget_s=OBSERVE_BUDGET_S)
        return SeenApplications(
            seen, found.group_ids, {**found.faults, **faults}, found.cluster_faults
        )

    budget_s = FIND_BUDGET_S + OBSERVE_BUDGET_S
    client = ClusterClient(connection, timeout_s=budget_s, client_id="crosslog-streams")
    return client.ask("Reading Kafka Streams applications", ask)


def first_applications(
    ids: Collection[str], known: Collection[str], alias: str
) -> tuple[list[str], dict[str, ClusterFault]]:
    """Return the applications that are kept, those that are known first, and why not the others."""
    ordered = sorted(ids, key=lambda one: (one not in known, one))
    text = f"The cluster has more than {limits.APPLICATIONS:,} applications, and others are kept."
    left_out = ordered[limits.APPLICATIONS :]
    return ordered[: limits.APPLICATIONS], dict.fromkeys(
        left_out, ClusterFault(text, cluster=alias)
    )
