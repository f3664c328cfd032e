"""Live state of some partitions: ISR, epochs, log end offsets, replica lag.

The evidence of an advice, checked again before acting. Only requested data cost
requests: a description of the topics always, the ends of logs only for partitions where something is
missing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace

from jobs.availability.acting.partition_facts import PartitionFacts, read_partitions
from jobs.availability.promotion.advice import Evidence, ReplicaStanding
from jobs.cluster.admin.brokers import list_brokers
from jobs.cluster.admin.partitions import PartitionReplicas, describe_partitions
from jobs.cluster.admin.quorum import read_quorum
from jobs.cluster.connection import Connection
from jobs.cluster.descriptions import TopicPartition
from jobs.cluster.errors import ClusterFault
from jobs.cluster.protocol.cluster import RawCluster

Place = tuple[str, int]
# Of more partitions the log end offsets are not queried: the others miss the same brokers.
MOST_LOOKED = 500
_ANSWER_S = 2.0


@dataclass(frozen=True, slots=True)
class LivePartition:
    """A partition just now; None where the cluster did not say.

    `log_end_offset` and `size_bytes` are the leader's, `standings` how far each other replica that
    answered is behind it, by broker.
    """

    leader: int | None
    isr: tuple[int, ...]
    replicas: tuple[int, ...]
    elr: tuple[int, ...] = ()
    leader_epoch: int | None = None
    partition_epoch: int | None = None
    high_watermark: int | None = None
    log_end_offset: int | None = None
    standings: Mapping[int, ReplicaStanding] = field(default_factory=dict)
    size_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class LiveState:
    """What a cluster said at `at_ms` (Unix time); empty: it was not asked.

    `alive` are the brokers that are unfenced or that answered for a replica, None: not queried.
    """

    at_ms: int
    partitions: Mapping[Place, LivePartition] = field(default_factory=dict)
    alive: frozenset[int] | None = None
    has_quorum: bool | None = None

    def evidence(self, place: Place, observer: int | None = None) -> Evidence | None:
        """Return what is known of a partition as evidence; None: it was not looked at."""
        look = self.partitions.get(place)
        if look is None:
            return None
        standing = look.standings.get(observer) if observer is not None else None
        return Evidence(
            self.at_ms,
            look.leader,
            look.leader_epoch,
            look.partition_epoch,
            look.high_watermark,
            look.log_end_offset,
            look.isr,
            standing.lag_records if standing else None,
        )


Interest = Callable[[PartitionReplicas], bool]


def read_live_state(
    connection: Connection,
    topics: Collection[str],
    clock: Callable[[], float],
    is_interesting: Interest = lambda one: len(one.isr) < len(one.replicas),
) -> LiveState:
    """Ask a cluster for the partitions of these topics, and closely for those that are interesting.

    `clock` returns Unix seconds. Topics that are gone are left out. Raises `ClusterFault`.
    """
    return asyncio.run(_look(connection, topics, clock, is_interesting))


async def _look(
    connection: Connection,
    topics: Collection[str],
    clock: Callable[[], float],
    is_interesting: Interest,
) -> LiveState:
    async with RawCluster(connection, client_id="promotion") as cluster:
        partitions = await _described(cluster, topics)
        found = {_place(where): _far(one) for where, one in partitions.items()}
        wanted = [where for where, one in partitions.items() if is_interesting(one)]
        if not wanted:
            return LiveState(int(clock() * 1000), found)
        near, brokers, quorum = await asyncio.gather(
            read_partitions(cluster, wanted[:MOST_LOOKED]),
            list_brokers(cluster),
            _has_quorum(cluster),
        )
        found |= {_place(where): _near(facts) for where, facts in near.items()}
        answered = {broker for facts in near.values() for broker in facts.ends}
        alive = answered | {number for number, one in brokers.items() if not one.is_fenced}
        return LiveState(int(clock() * 1000), found, frozenset(alive), quorum)


async def _described(
    cluster: RawCluster, topics: Collection[str]
) -> dict[TopicPartition, PartitionReplicas]:
    """Describe topics, each by itself when one of them is gone."""
    try:
        return await describe_partitions(cluster, topics)
    except ClusterFault as fault:
        if len(topics) <= 1 or fault.retriable:
            if fault.code == "unknown_topic_or_partition":
                return {}
            raise
    found: dict[TopicPartition, PartitionReplicas] = {}
    for topic in topics:
        found |= await _described(cluster, [topic])
    return found


async def _has_quorum(cluster: RawCluster) -> bool | None:
    """Say whether the controllers have a leader; None: unknown."""
    try:
        return (await read_quorum(cluster, budget_s=_ANSWER_S)).leader_id is not None
    except ClusterFault:
        return None


def _far(one: PartitionReplicas) -> LivePartition:
    return LivePartition(one.leader, one.isr, one.replicas, one.elr, one.leader_epoch)


def _near(facts: PartitionFacts) -> LivePartition:
    one = facts.known
    standings = {
        broker: ReplicaStanding(facts.lag(broker))
        for broker in one.replicas
        if broker != one.leader and broker in facts.ends
    }
    return replace(
        _far(one),
        high_watermark=facts.high_watermark,
        log_end_offset=facts.leader_end,
        standings=standings,
        size_bytes=facts.leader_size,
    )


def _place(where: TopicPartition) -> Place:
    return where.topic, where.partition
