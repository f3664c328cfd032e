"""Leaders for partitions that have none: who could lead, what may be lost, and the election itself."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any

from jobs.cluster.admin.brokers import list_brokers
from jobs.cluster.admin.elections import ElectionType, elect_leaders
from jobs.cluster.admin.partitions import PartitionReplicas, describe_partitions
from jobs.cluster.descriptions import TopicPartition
from jobs.cluster.protocol.cluster import RawCluster


@dataclass(frozen=True, slots=True)
class Election:
    """What an election would do, or did.

    `partitions` have no leader; `able` are their live replicas that may lead. `faults` say why one was not
    elected; `is_held` False is a dry run.
    """

    kind: ElectionType
    is_held: bool
    partitions: tuple[PartitionReplicas, ...]
    able: dict[TopicPartition, tuple[int, ...]] = field(default_factory=dict)
    faults: dict[TopicPartition, str] = field(default_factory=dict)

    @property
    def is_well(self) -> bool:
        """Whether every partition got, or can get, a leader."""
        if self.is_held:
            return not self.faults
        return all(self.able.get(one.where) for one in self.partitions)

    @property
    def sentence(self) -> str:
        total, able = len(self.partitions), sum(bool(one) for one in self.able.values())
        if not self.is_held:
            lost = ""
            if self.kind is ElectionType.UNCLEAN:
                lost = " What the elected replica lacks is lost."
            return f"{total} partitions have no leader, {able} could get one with --yes.{lost}"
        done = total - len(self.faults)
        rest = "".join(f" {where}: {why}" for where, why in list(self.faults.items())[:3])
        return f"{done} of {total} partitions have a leader now.{rest}"

    def to_mapping(self) -> dict[str, Any]:
        """Return JSON values."""
        return {
            "kind": self.kind.name,
            "is_held": self.is_held,
            "is_well": self.is_well,
            "partitions": [
                {"partition": str(one.where), "able": list(self.able.get(one.where, ()))}
                for one in self.partitions
            ],
            "faults": {str(where): why for where, why in self.faults.items()},
        }


async def plan_election(
    cluster: RawCluster, kind: ElectionType, topics: Collection[str] | None = None
) -> Election:
    """Return which partitions have no leader, and which live replicas could lead; raises `ClusterFault`."""
    known = await describe_partitions(cluster, topics)
    brokers = await list_brokers(cluster)
    alive = {number for number, one in brokers.items() if not one.is_fenced}
    leaderless = tuple(one for one in known.values() if one.leader is None)
    able = {one.where: _able(kind, one, alive) for one in leaderless}
    return Election(kind, is_held=False, partitions=leaderless, able=able)


async def hold_election(
    cluster: RawCluster, kind: ElectionType, topics: Collection[str] | None = None
) -> Election:
    """Elect leaders for all partitions without one; raises `ClusterFault`, `ReadOnly`."""
    planned = await plan_election(cluster, kind, topics)
    wanted = [one.where for one in planned.partitions]
    if not wanted:
        return planned
    answers = await elect_leaders(cluster, kind, wanted)
    faults = {where: one.fault.message for where, one in answers.items() if one.fault is not None}
    return Election(
        kind, partitions=planned.partitions, is_held=True, able=planned.able, faults=faults
    )


def _able(kind: ElectionType, one: PartitionReplicas, alive: Collection[int]) -> tuple[int, ...]:
    """Return the live replicas that may lead, as the controller takes them."""
    if kind is ElectionType.UNCLEAN:
        return tuple(broker for broker in one.replicas if broker in alive)
    first = one.replicas[:1]
    return tuple(broker for broker in first if broker in alive and broker in one.isr)
