"""Many losses at once over many partitions: the same answers as `simulate`, with arrays."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jobs.availability.what_if.election import SimulatedPartition, first_state
from jobs.availability.what_if.matrix.counts import PartitionStates, counts_of, states_after
from jobs.availability.what_if.matrix.rules import ElectionContext, settle_all
from jobs.availability.what_if.matrix.standbys import unfenced_after
from jobs.availability.what_if.matrix.tables import (
    Flags,
    States,
    first_states,
    tables_of,
    told_last_known,
)
from jobs.availability.what_if.model.cluster import ClusterModel
from jobs.availability.what_if.outcome import Counts, PartitionOutcome, QuorumOutcome
from jobs.availability.what_if.partition_risk import BrokerLiveness, outcome_of, state_of
from jobs.availability.what_if.quorum_outlook import quorum_outlook
from jobs.availability.what_if.standbys import governed_standbys, promoter_of, standby_ids
from jobs.availability.what_if.steps import Loss, check_steps, nodes_of, step_name


class MatrixColumn:
    """What one loss does: sums at hand, single partitions on demand."""

    def __init__(self, loss: Loss, scene: _Baseline, after: _After) -> None:
        self.loss = loss
        self.quorum: QuorumOutcome = after.quorum
        self._scene = scene
        self._after = after
        self.shown: PartitionStates = after.shown

    @property
    def name(self) -> str:
        """What is lost, in words."""
        return step_name(self.loss)

    @cached_property
    def cluster(self) -> Counts:
        """The sums over all partitions."""
        return self._counts(self._scene.before, self.shown)

    @cached_property
    def topics(self) -> Mapping[str, Counts]:
        """The sums of each topic, by name."""
        rows = self._scene.rows_by_topic
        before, after = self._scene.before, self.shown
        return {name: self._counts(before.of(some), after.of(some)) for name, some in rows.items()}

    def _counts(self, before: PartitionStates, after: PartitionStates) -> Counts:
        return counts_of(before, after, has_majority=self.quorum.has_majority)

    def outcome(self, index: int) -> PartitionOutcome:
        """Return the partition of that index of `cluster.partitions`, equal to what `simulate` says."""
        return self._scene.outcome(index, self._after)

    def indexes(
        self,
        *,
        changed: bool = False,
        unwritable: bool = False,
        offline: bool = False,
        lost: bool = False,
    ) -> Sequence[int]:
        """Return the indexes of partitions for which all that is asked holds, ascending."""
        found = np.ones(len(self.shown.leader), dtype=np.bool_)
        if changed:
            found &= self.shown.differs_from(self._scene.before)
        if unwritable:
            found &= self.shown.is_unwritable
        if offline:
            found &= self.shown.leader < 0
        if lost:
            found &= self.shown.is_lost
        return [int(one) for one in np.flatnonzero(found)]

    @property
    def does_harm(self) -> bool:
        """Whether a partition is no longer writable, lost its leader or records, or the majority ended."""
        return bool(self.harm[0] or self.harm[1] or self.harm[2])

    @property
    def harm(self) -> tuple[int, ...]:
        """How bad it is, to compare losses: the worst thing first."""
        sums = self.cluster
        ended = self._scene.quorum.has_majority and not self.quorum.has_majority
        return (
            self._newly_stopped + self._newly_lost, sums.lost, int(ended), sums.unknown, sums.offline,
            sums.at_risk, sums.exposed, sums.leader_changes,
        )  # fmt: skip

    @property
    def _newly_stopped(self) -> int:
        """How many are no longer writable, or lost their leader."""
        before, after = self._scene.before, self.shown
        stopped = ~before.is_unwritable & after.is_unwritable
        return int((stopped | (before.leader >= 0) & (after.leader < 0)).sum())

    @property
    def _newly_lost(self) -> int:
        return int((self.shown.is_lost & ~self._scene.before.is_lost).sum())


@dataclass(frozen=True, slots=True)
class Matrix:
    """A column per loss, in the order asked."""

    columns: tuple[MatrixColumn, ...]
    quorum_before: QuorumOutcome

    def to_json(self) -> dict[str, Any]:
        """Return the losses with their sums, per topic and for the cluster."""
        from jobs.availability.what_if.answer_json import matrix_document

        return matrix_document(self)


@dataclass(frozen=True, slots=True)
class WorstFailure:
    """The single failure that does most harm, with the sentence that says what."""

    loss: Loss
    column: MatrixColumn
    sentence: str


@dataclass(frozen=True, slots=True)
class _After:
    """The cluster after one loss."""

    states: States
    serving: frozenset[int]
    fenced: frozenset[int]
    quorum: QuorumOutcome
    shown: PartitionStates


class _Baseline:
    """A cluster as arrays, with everything that does not depend on the loss."""

    def __init__(self, cluster: ClusterModel) -> None:
        self.cluster = cluster
        self.tables = tables_of(cluster)
        self.told = told_last_known(cluster)
        self.alive = frozenset(one.broker_id for one in cluster.brokers.values() if one.is_alive)
        self.voters = frozenset(one.node_id for one in cluster.voters if one.is_alive is not False)
        self.standbys = standby_ids(cluster)
        self.governed = governed_standbys(cluster, self.standbys)
        serving = self.tables.flags(self.alive)
        self.first = first_states(cluster, self.tables, serving)
        self.quorum = quorum_outlook(cluster, self.voters)
        self.before = states_after(self.tables, self.first, serving)
        inside = self.tables.replicas[self.first.isr & self.tables.standby]
        names = sorted(cluster.brokers)
        self.unfenced = frozenset(names[one] for one in np.unique(inside))
        self._settled: States | None = None

    @cached_property
    def rows_by_topic(self) -> dict[str, NDArray[np.intp]]:
        """The rows of each topic."""
        found: dict[str, list[int]] = {}
        for row, one in enumerate(self.cluster.partitions):
            found.setdefault(one.topic, []).append(row)
        return {name: np.asarray(found[name]) for name in sorted(found)}

    def after(self, loss: Loss) -> _After:
        """Return the cluster after a loss."""
        nodes = nodes_of(self.cluster, loss)
        serving = self.alive - nodes
        quorum = quorum_outlook(self.cluster, self.voters - nodes)
        unfenced = self.unfenced - nodes
        states = self.first
        if quorum.has_majority:
            unfenced = self._unfenced(serving, unfenced)
            states = self._states(serving, unfenced, self.alive & nodes)
        flags = self.tables.flags(serving)
        seen = states_after(self.tables, states, flags)
        fenced = self.standbys - unfenced
        return _After(states, serving, fenced, quorum, seen)

    def _unfenced(self, serving: frozenset[int], unfenced: frozenset[int]) -> frozenset[int]:
        if not self.governed:
            return unfenced
        first = self._settle(serving, unfenced)
        return unfenced_after(
            self.tables, first, unfenced, able=self.standbys & serving, governed=self.governed
        )

    def _states(
        self, serving: frozenset[int], unfenced: frozenset[int], lost: frozenset[int]
    ) -> States:
        """Return the states after a loss; partitions without a lost replica are settled only once."""
        if self.standbys:
            return self._settle(serving, unfenced)
        if self._settled is None:
            self._settled = self._settle(self.alive, unfenced)
        gone = self.tables.flags(lost)[self.tables.replicas].any(axis=1)
        rows = np.flatnonzero(gone)
        if not rows.size:
            return self._settled
        return self._settled.replaced(rows, self._settle(serving, unfenced, rows))

    def _settle(
        self,
        serving: frozenset[int],
        unfenced: frozenset[int],
        rows: NDArray[np.intp] | None = None,
    ) -> States:
        acceptable = self.tables.flags(serving - (self.standbys - unfenced))
        elr = self.cluster.has_elr
        if rows is None:
            return settle_all(self.tables, self.first, ElectionContext(acceptable, self.told, elr))
        context = ElectionContext(acceptable, self.told[rows], elr)
        return settle_all(self.tables.of(rows), self.first.of(rows), context)

    def outcome(self, index: int, after: _After) -> PartitionOutcome:
        """Return one partition in full."""
        partition = self.cluster.partitions[index]
        observers = self.cluster.observers_of(partition)
        now = self._registered(index, after.states)
        return outcome_of(
            partition,
            state_of(partition, first_state(partition), self.alive, observers),
            state_of(partition, now, after.serving, observers),
            now,
            BrokerLiveness(
                after.serving, after.quorum.has_majority, after.fenced, self.cluster.has_elr
            ),
            promoter_of(self.cluster, partition, observers),
        )

    def _registered(self, index: int, states: States) -> SimulatedPartition:
        partition = self.cluster.partitions[index]
        ids = partition.replicas
        last = int(states.last_known[index])
        told = {-2: partition.last_known_elr, -1: ()}
        return SimulatedPartition(
            leader=_id(ids, int(states.leader[index])),
            isr=_ids(ids, states.isr[index]),
            elr=_ids(ids, states.elr[index]),
            last_known_elr=told[last] if last < 0 else (ids[last],),
            lost_by=_id(ids, int(states.lost_by[index])),
            is_last_known=bool(states.is_last_known[index]),
        )


def _id(ids: tuple[int, ...], place: int) -> int | None:
    return None if place < 0 else ids[place]


def _ids(ids: tuple[int, ...], places: Flags) -> tuple[int, ...]:
    return tuple(one for one, is_in in zip(ids, places, strict=False) if is_in)


def matrix(cluster: ClusterModel, losses: Sequence[Loss]) -> Matrix:
    """Return what each loss alone would do to the cluster as it is; raises `UnknownTarget`."""
    check_steps(cluster, losses)
    scene = _Baseline(cluster)
    columns = tuple(MatrixColumn(one, scene, scene.after(one)) for one in losses)
    return Matrix(columns, scene.quorum)


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


def worst_single_failure(
    cluster: ClusterModel, losses: Sequence[Loss] | None = None
) -> WorstFailure | None:
    """Return the worst of all single failures (or of the losses given); None when none does harm.

    Harm is, in this order: partitions that become unwritable or lose records, a quorum that ends, partitions
    without leader, records at risk, partitions with one copy left, leaders that change.
    """
    scene = _Baseline(cluster)
    worst: MatrixColumn | None = None
    for one in single_failures(cluster) if losses is None else losses:
        column = MatrixColumn(one, scene, scene.after(one))
        if worst is None or column.harm > worst.harm:
            worst = column
    if worst is None or not any(worst.harm):
        return None
    return WorstFailure(worst.loss, worst, _sentence(worst, ended=bool(worst.harm[2])))


def _sentence(column: MatrixColumn, *, ended: bool) -> str:
    sums = column.cluster
    words: list[tuple[int, Callable[[int], str]]] = [
        (
            sums.became_unwritable,
            lambda n: f"{n:,} of {sums.partitions:,} partitions take no writes",
        ),
        (sums.unknown, lambda n: f"of {n:,} it is not known whether they take writes"),
        (sums.lost, lambda n: f"{n:,} have no complete copy left"),
        (sums.at_risk - sums.lost, lambda n: f"{n:,} wait for a broker to come back"),
        (sums.exposed, lambda n: f"{n:,} have one copy of new records"),
    ]
    told = [say(count) for count, say in words if count]
    if ended:
        told.append("the quorum loses its majority")
    if not told:
        told = [f"{sums.leader_changes:,} leaders change, nothing stops"]
    return f"{column.name}: {', '.join(told)}."
