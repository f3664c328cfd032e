"""Each loss by itself: partitions that are alike are one class, simulated once, counted for all of them.

What a loss does to a partition depends on which of its replicas are lost, not on their ids: classes of which
the same positions are lost are simulated once, too. Where there are standbys, each class is simulated:
which standby is promoted depends on all partitions.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, fields, replace
from functools import cached_property
from operator import attrgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jobs.availability.what_if.model.cluster import ClusterModel, PartitionModel
from jobs.availability.what_if.outcome import (
    Counts,
    PartitionOutcome,
    QuorumOutcome,
    counts_of,
    flags_of,
    quorum_outlook,
)
from jobs.availability.what_if.simulation import simulate, standby_ids
from jobs.availability.what_if.steps import Loss, check_steps, nodes_of, step_name

_OWN = {"topic", "partition", "lag_records"}
_IDS = ("isr", "observers", "elr", "last_known_elr", "lagging", "removing")
_alike = attrgetter(*(one.name for one in fields(PartitionModel) if one.name not in _OWN))
_ids = attrgetter(*_IDS)
_settings = attrgetter(
    *(
        one.name
        for one in fields(PartitionModel)
        if one.name not in {*_OWN, *_IDS, "replicas", "leader", "adding"}
    )
)


@dataclass
class PartitionClasses:
    """A cluster with one partition per class; `units` are the class of each partition, topic by topic."""

    model: ClusterModel
    units: Mapping[str, Sequence[int]]

    @cached_property
    def unit_of(self) -> NDArray[np.intp]:
        """The class of every partition, topic by topic."""
        return np.asarray([one for units in self.units.values() for one in units], dtype=np.intp)

    @cached_property
    def sizes(self) -> NDArray[np.intp]:
        """How many partitions each class has."""
        return np.bincount(self.unit_of, minlength=len(self.model.partitions))

    def per_topic(self, of_units: NDArray[Any]) -> NDArray[Any]:
        """Return the sums of a row per class over the partitions of each topic."""
        if not self.units:
            return of_units[:0]
        lengths = [len(units) for units in self.units.values()]
        starts = np.concatenate(([0], np.cumsum(lengths)[:-1]))
        return np.add.reduceat(of_units[self.unit_of], starts, axis=0)


def alike_partitions(cluster: ClusterModel) -> PartitionClasses:
    """Return a cluster by classes: partitions that differ in nothing but their names are alike."""
    known: dict[Any, int] = {}
    classes: list[PartitionModel] = []
    units: dict[str, list[int]] = {}
    for one in cluster.partitions:
        key = (_alike(one), tuple(sorted(one.lag_records.items())))
        number = known.setdefault(key, len(known))
        if number == len(classes):
            classes.append(one)
        units.setdefault(one.topic, []).append(number)
    return PartitionClasses(replace(cluster, partitions=classes), dict(sorted(units.items())))


def _shape(one: PartitionModel, alive: AbstractSet[int]) -> tuple[Any, ...]:
    """Return a partition with positions in `replicas` in the place of ids; others stay, below 0."""
    at = {id_: number for number, id_ in enumerate(one.replicas)}

    def places(ids: Iterable[int]) -> tuple[int, ...]:
        return tuple(at.get(id_, -1 - id_) for id_ in ids)

    return (
        tuple(id_ in alive for id_ in one.replicas),
        *(places(ids) for ids in _ids(one)),
        None if one.leader is None else places([one.leader]),
        None if one.adding is None else places(one.adding),
        tuple(sorted(zip(places(one.lag_records), one.lag_records.values(), strict=True))),
        *_settings(one),
    )


@dataclass(frozen=True)
class MatrixColumn:
    """The effect of one loss; `harm` compares losses, the worst effect first."""

    loss: Loss
    quorum: QuorumOutcome
    cluster: Counts
    harm: tuple[int, ...]
    _classes: PartitionClasses
    _flags: NDArray[np.int64]

    @property
    def name(self) -> str:
        """The lost nodes as text."""
        return step_name(self.loss)

    @cached_property
    def topics(self) -> Mapping[str, Counts]:
        """The sums of each topic, by name."""
        sums = self._classes.per_topic(self._flags)
        return dict(zip(self._classes.units, map(counts_of, sums), strict=True))

    @property
    def does_harm(self) -> bool:
        """Whether a partition is no longer writable, lost its leader or records, or the majority ended."""
        return any(self.harm[:3])

    @property
    def sentence(self) -> str:
        """The effect as a sentence."""
        sums = self.cluster
        words = (
            (sums.became_unwritable, f"{{:,}} of {sums.partitions:,} partitions refuse writes"),
            (sums.unknown, "{:,} with unknown writability"),
            (sums.lost, "{:,} without a complete replica"),
            (sums.at_risk - sums.lost, "{:,} need a broker to return"),
            (sums.exposed, "{:,} with new records on one replica only"),
        )
        told = [words.format(count) for count, words in words if count]
        if self.harm[2]:
            told.append("the quorum loses its majority")
        if not told:
            told = [f"{sums.leader_changes:,} leader changes, all partitions stay writable"]
        return f"{self.name}: {', '.join(told)}."


@dataclass(frozen=True, slots=True)
class Matrix:
    """A column per loss, in the order asked."""

    columns: tuple[MatrixColumn, ...]
    quorum_before: QuorumOutcome

    @property
    def worst(self) -> MatrixColumn | None:
        """The loss that does most harm; None when none does any.

        Harm is, in this order: partitions that become unwritable or lose records, a quorum that ends,
        partitions without leader, records at risk, partitions with one copy left, leaders that change.
        """
        found = max(self.columns, key=lambda column: column.harm, default=None)
        return found if found is not None and any(found.harm) else None


def matrix(classes: PartitionClasses, losses: Sequence[Loss]) -> Matrix:
    """Return what each loss alone would do to the cluster as it is; raises `UnknownTarget`."""
    check_steps(classes.model, losses)
    baseline = _Baseline(classes)
    return Matrix(tuple(map(baseline.column, losses)), baseline.quorum)


class _Baseline:
    """A cluster without a loss."""

    def __init__(self, classes: PartitionClasses) -> None:
        self._classes, self._model = classes, classes.model
        brokers = self._model.brokers.values()
        self._alive = frozenset(one.broker_id for one in brokers if one.is_alive)
        self._voters = {one.node_id for one in self._model.voters if one.is_alive is not False}
        self.quorum = quorum_outlook(self._model, self._voters)
        self._has_standbys = bool(standby_ids(self._model))
        self._shapes = self._shapes_of(self._model.partitions)
        self._flags = self._after(Loss(), range(len(self._shapes)))

    def column(self, loss: Loss) -> MatrixColumn:
        """Return what a loss does; classes without a lost replica stay as they are without it."""
        nodes, partitions = nodes_of(self._model, loss), self._model.partitions
        quorum = quorum_outlook(self._model, self._voters - nodes)
        flags = self._flags
        if quorum.has_majority and not self._has_standbys:
            hit = [n for n, one in enumerate(partitions) if not nodes.isdisjoint(one.replicas)]
            flags = flags.copy()
            flags[hit] = self._after(loss, hit)
        else:
            flags = self._after(loss, range(len(partitions)))
        *sums, stopped, lost = self._classes.sizes @ flags
        counts = counts_of(sums)
        ended = self.quorum.has_majority and not quorum.has_majority
        harm = (
            int(stopped + lost), counts.lost, int(ended), counts.unknown, counts.offline, counts.at_risk,
            counts.exposed, counts.leader_changes,
        )  # fmt: skip
        return MatrixColumn(loss, quorum, counts, harm, self._classes, flags[:, :-2])

    def _after(self, loss: Loss, classes: Sequence[int]) -> NDArray[np.int64]:
        """Return the flags of outcomes, then who stopped, then who has newly lost records."""
        nodes = nodes_of(self._model, loss)
        rows: dict[tuple[int, tuple[bool, ...]], int] = {}
        first: list[PartitionModel] = []
        found: list[int] = []
        for number in classes:
            one = self._model.partitions[number]
            key = (self._shapes[number], tuple(id_ in nodes for id_ in one.replicas))
            row = rows.setdefault(key, len(rows))
            if row == len(first):
                first.append(one)
            found.append(row)
        (step,) = simulate(replace(self._model, partitions=first), [loss]).steps
        harm = [self._harm(*both) for both in zip(first, step.partitions, strict=True)]
        flags = np.hstack([flags_of(step.partitions), np.asarray(harm, np.int64).reshape(-1, 2)])
        return flags[np.asarray(found, np.intp)]

    def _shapes_of(self, partitions: Sequence[PartitionModel]) -> Sequence[int]:
        """Return a number per class, the same for those that differ in the ids of their brokers only."""
        if self._has_standbys:
            return range(len(partitions))
        known: dict[Any, int] = {}
        return [known.setdefault(_shape(one, self._alive), len(known)) for one in partitions]

    def _harm(self, partition: PartitionModel, outcome: PartitionOutcome) -> tuple[bool, bool]:
        had_records = not self._alive.isdisjoint(partition.replicas)
        return outcome.is_stopped, outcome.is_lost and had_records


def single_failures(cluster: ClusterModel) -> tuple[Loss, ...]:
    """Return the loss of each living broker and voter, and of each rack, each alone."""
    return tuple(_single_failures(cluster))


def _single_failures(cluster: ClusterModel) -> Iterator[Loss]:
    racks = {*cluster.racks.values(), *cluster.voter_racks().values()}
    for rack in sorted(one for one in racks if one is not None):
        yield Loss(racks=frozenset({rack}), name=f"rack {rack}")
    for id_, one in sorted(cluster.brokers.items()):
        if one.is_alive:
            yield Loss(brokers=frozenset({id_}), name=f"broker {id_}")
    for voter in sorted(cluster.voters, key=lambda one: one.node_id):
        same = cluster.brokers.get(voter.node_id)
        if voter.is_alive is not False and (same is None or not same.is_alive):
            yield Loss(controllers=frozenset({voter.node_id}), name=f"controller {voter.node_id}")
