"""A cluster as arrays: a row per partition, a column per place in its replica list. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from jobs.availability.placements.placement import PromotionPolicy
from jobs.availability.what_if.election import effective_min_isr, wanted_in_sync
from jobs.availability.what_if.model.cluster import ClusterModel, PartitionModel
from jobs.availability.what_if.standbys import is_governed, standby_ids

Flags = NDArray[np.bool_]
Numbers = NDArray[np.int32]
Cell = TypeVar("Cell", bound=np.generic)
NO_POLICY = 0
POLICIES: dict[PromotionPolicy | None, int] = {
    None: NO_POLICY,
    PromotionPolicy.UNDER_MIN_ISR: 1,
    PromotionPolicy.UNDER_REPLICATED: 2,
    PromotionPolicy.LEADER_IS_OBSERVER: 3,
}
_RANKS_INSIDE = 1_000


@dataclass(frozen=True, slots=True)
class States:
    """What stands in the metadata: `leader` and `last_known` are places in the replica list, -1 for none.

    `last_known` is -2 where the model's own list stays. `lost_by`: the place of a leader that was elected
    uncleanly, else -1; `is_last_known` says that it was the last known one.
    """

    leader: Numbers
    isr: Flags
    elr: Flags
    last_known: Numbers
    lagging: Flags
    lost_by: Numbers
    is_last_known: Flags

    def of(self, rows: NDArray[np.intp]) -> States:
        """Return the same of some partitions."""
        return States(
            self.leader[rows], self.isr[rows], self.elr[rows], self.last_known[rows],
            self.lagging[rows], self.lost_by[rows], self.is_last_known[rows],
        )  # fmt: skip

    def replaced(self, rows: NDArray[np.intp], other: States) -> States:
        """Return a copy in which some partitions are as in `other`."""
        return States(
            _patched(self.leader, rows, other.leader),
            _patched(self.isr, rows, other.isr),
            _patched(self.elr, rows, other.elr),
            _patched(self.last_known, rows, other.last_known),
            _patched(self.lagging, rows, other.lagging),
            _patched(self.lost_by, rows, other.lost_by),
            _patched(self.is_last_known, rows, other.is_last_known),
        )


def _patched(part: NDArray[Cell], rows: NDArray[np.intp], other: NDArray[Cell]) -> NDArray[Cell]:
    copy = part.copy()
    copy[rows] = other
    return copy


@dataclass(frozen=True, slots=True)
class Tables:
    """What does not change in a story. Brokers are numbered; the last number is that of unknown ones.

    `is_used`: places with a replica. `added`: those that a reassignment adds. `held_back`: observers that
    brokers keep out of the ISR; `standby`: replicas on standby brokers. `order`: which observer comes first,
    the lowest number. `is_limit_unknown`: takes writes with all in sync, or none: not known.
    """

    numbers: dict[int, int]
    replicas: Numbers
    is_used: Flags
    added: Flags
    held_back: Flags
    standby: Flags
    order: Numbers
    policy: Numbers
    least: Numbers
    is_least_known: Flags
    is_limit_unknown: Flags
    wanted: Numbers
    is_unclean_allowed: Flags
    is_governed: Flags

    @property
    def observers(self) -> Flags:
        """The observers, of whichever kind."""
        return self.held_back | self.standby

    def of(self, rows: NDArray[np.intp]) -> Tables:
        """Return the same of some partitions."""
        return Tables(
            self.numbers, self.replicas[rows], self.is_used[rows], self.added[rows],
            self.held_back[rows], self.standby[rows], self.order[rows], self.policy[rows],
            self.least[rows], self.is_least_known[rows], self.is_limit_unknown[rows],
            self.wanted[rows], self.is_unclean_allowed[rows], self.is_governed[rows],
        )  # fmt: skip

    def flags(self, brokers: Iterable[int]) -> Flags:
        """Return which broker numbers these ids have; ids of nobody are passed by."""
        found = np.zeros(len(self.numbers) + 1, dtype=np.bool_)
        found[[self.numbers[one] for one in brokers if one in self.numbers]] = True
        return found


def tables_of(cluster: ClusterModel) -> Tables:
    """Return the arrays of a cluster."""
    partitions = cluster.partitions
    numbers = {id_: index for index, id_ in enumerate(sorted(cluster.brokers))}
    nobody = len(numbers)
    width = max((len(one.replicas) for one in partitions), default=1) or 1
    replicas = np.full((len(partitions), width), nobody, dtype=np.int32)
    lengths = np.fromiter((len(one.replicas) for one in partitions), np.intp, len(partitions))
    used = np.arange(width) < lengths[:, None]
    replicas[used] = [numbers.get(id_, nobody) for one in partitions for id_ in one.replicas]
    standby = _numbered(cluster, numbers)[replicas]
    held_back = _marked([one.observers for one in partitions], partitions, replicas)
    if not cluster.promotes_itself:
        held_back = np.zeros_like(held_back)
    observers = [cluster.observers_of(one) for one in partitions] if (
        held_back.any() or standby.any()
    ) else [()] * len(partitions)  # fmt: skip
    return Tables(
        numbers=numbers,
        replicas=replicas,
        is_used=used,
        added=_marked([one.added for one in partitions], partitions, replicas),
        held_back=held_back,
        standby=standby,
        order=_order(partitions, held_back | standby),
        policy=_column(POLICIES[one.policy] for one in partitions),
        least=_column(effective_min_isr(one) for one in partitions),
        wanted=_column(map(wanted_in_sync, partitions, observers)),
        is_least_known=_column(one.min_insync_replicas is not None for one in partitions) > 0,
        is_limit_unknown=_column(
            one.limits_min_isr is None and one.asks_for_more for one in partitions
        )
        > 0,
        is_unclean_allowed=_column(bool(one.is_unclean_allowed) for one in partitions).astype(
            np.bool_
        ),
        is_governed=_column(is_governed(one) for one in partitions).astype(np.bool_),
    )


def _numbered(cluster: ClusterModel, numbers: dict[int, int]) -> Flags:
    found = np.zeros(len(numbers) + 1, dtype=np.bool_)
    found[[numbers[one] for one in standby_ids(cluster)]] = True
    return found


def _column(values: Iterable[int]) -> Numbers:
    return np.fromiter(values, np.int32)


def _marked(
    members: Sequence[Sequence[int]], partitions: Sequence[PartitionModel], like: Numbers
) -> Flags:
    """Return at which places of the replica lists the members stand; who is no replica is passed by."""
    rows: list[int] = []
    places: list[int] = []
    for row, (some, one) in enumerate(zip(members, partitions, strict=True)):
        for id_ in some:
            if id_ in one.replicas:
                rows.append(row)
                places.append(one.replicas.index(id_))
    found = np.zeros(like.shape, dtype=np.bool_)
    found[rows, places] = True
    return found


def _order(partitions: Sequence[PartitionModel], observers: Flags) -> Numbers:
    """Return the rank of each observer by lag, of equal ones the last of the list first."""
    width = observers.shape[1]
    order = np.broadcast_to(np.arange(width, 0, -1, dtype=np.int32), observers.shape).copy()
    for row in np.flatnonzero(observers.any(axis=1)):
        one = partitions[int(row)]
        if one.lag_records:
            lags = [(one.lag_records.get(id_, 0), -at) for at, id_ in enumerate(one.replicas)]
            order[row, [-at for _, at in sorted(lags)]] = np.arange(1, len(lags) + 1)
    return order + _RANKS_INSIDE


def first_states(cluster: ClusterModel, tables: Tables, serving: Flags) -> States:
    """Return the states that the partitions are in now."""
    partitions = cluster.partitions
    isr = _marked([one.isr for one in partitions], partitions, tables.replicas)
    elr = _marked([one.elr for one in partitions], partitions, tables.replicas)
    lagging = _marked([one.lagging for one in partitions], partitions, tables.replicas)
    lagging |= serving[tables.replicas] & ~isr & ~tables.observers
    nobody = np.full(len(partitions), -1, dtype=np.int32)
    return States(
        leader=_column(_place(one, one.leader) for one in partitions),
        isr=isr,
        elr=elr,
        last_known=np.full_like(nobody, -2),
        lagging=lagging,
        lost_by=nobody,
        is_last_known=np.zeros(len(partitions), dtype=np.bool_),
    )


def _place(partition: PartitionModel, id_: int | None) -> int:
    return partition.replicas.index(id_) if id_ in partition.replicas else -1


def told_last_known(cluster: ClusterModel) -> Numbers:
    """Return the place of the one last known leader that the model tells; -1: none, -3: more than one."""
    return _column(
        (-1 if not one.last_known_elr else -3)
        if len(one.last_known_elr) != 1 or one.last_known_elr[0] not in one.replicas
        else _place(one, one.last_known_elr[0])
        for one in cluster.partitions
    )
