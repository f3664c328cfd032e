"""Fenced standby brokers of plain Kafka: who promotes them, and which a cluster needs now. Pure.

A standby is promoted as a whole: unfenced, it joins the ISR of every partition that it holds.
"""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from typing import Protocol

from jobs.availability.what_if.election import SimulatedPartition, wanted_observers
from jobs.availability.what_if.model.cluster import ClusterModel, PartitionModel
from jobs.availability.what_if.outcome import Promoter


class StandbyContext(Protocol):
    """What must be known of a cluster in the middle of a story."""

    cluster: ClusterModel
    serving: frozenset[int]
    observers: list[tuple[int, ...]]
    standbys: frozenset[int]
    unfenced: frozenset[int]


def standby_ids(cluster: ClusterModel) -> frozenset[int]:
    """Return the standby brokers; brokers that promote by themselves need none."""
    if cluster.promotes_itself:
        return frozenset()
    return frozenset(one.broker_id for one in cluster.brokers.values() if one.is_standby)


def promoter_of(
    cluster: ClusterModel, partition: PartitionModel, observers: Sequence[int]
) -> Promoter:
    """Return who would promote an observer: brokers by themselves, crosslog where asked to, or nobody."""
    if not observers or partition.policy is None:
        return Promoter.NOBODY
    if cluster.promotes_itself:
        return Promoter.BROKER
    return Promoter.CROSSLOG if partition.is_acted_on else Promoter.NOBODY


def governed_standbys(cluster: ClusterModel, standbys: AbstractSet[int]) -> frozenset[int]:
    """Return the standbys that crosslog promotes and demotes: those with a partition it acts on."""
    return frozenset(
        id_
        for one in cluster.partitions
        if is_governed(one)
        for id_ in one.replicas
        if id_ in standbys
    )


def is_governed(partition: PartitionModel) -> bool:
    """Return whether crosslog acts for a partition."""
    return partition.is_acted_on and partition.policy is not None


def wanted_standbys(
    context: StandbyContext, states: Sequence[SimulatedPartition]
) -> frozenset[int]:
    """Return the standbys that are to be unfenced, by the states with those that are unfenced now.

    One stays as long as a policy wants it, or as it is the only one left in the ISR of any partition.
    """
    governed = governed_standbys(context.cluster, context.standbys)
    wanted = set(context.unfenced - governed)
    wanted.update(
        one.isr[0] for one in states if len(one.isr) == 1 and one.isr[0] in context.unfenced
    )
    able = context.standbys & context.serving
    for index, partition in enumerate(context.cluster.partitions):
        now = states[index]
        if is_governed(partition) and now.leader is not None:
            observers = context.observers[index]
            wanted.update(wanted_observers(partition, now, frozenset(now.isr), observers, able))
    return frozenset(wanted)


def electable_standbys(
    context: StandbyContext, states: Sequence[SimulatedPartition], topic: str | None
) -> frozenset[int]:
    """Return one standby for each partition without leader that has no other living replica."""
    found: set[int] = set()
    for index, partition in enumerate(context.cluster.partitions):
        if not is_governed(partition) or topic not in {None, partition.topic}:
            continue
        living = [one for one in partition.replicas if one in context.serving]
        if states[index].leader is None and all(one in context.standbys for one in living):
            found.update(_best(partition, living))
    return frozenset(found)


def _best(partition: PartitionModel, living: Sequence[int]) -> Sequence[int]:
    by_lag = [(partition.lag_records.get(one, 0), -at, one) for at, one in enumerate(living)]
    return [min(by_lag)[-1]] if by_lag else []
