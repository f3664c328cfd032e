"""A cluster in the middle of a story: who is alive, what is registered, and what a step makes of it."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from dataclasses import replace

from jobs.availability.what_if.election import (
    PartitionContext,
    SimulatedPartition,
    elect_preferred,
    first_lagging,
    first_state,
    settle,
)
from jobs.availability.what_if.model.cluster import ClusterModel, PartitionModel
from jobs.availability.what_if.outcome import (
    IsrState,
    PartitionOutcome,
    Promoter,
    QuorumOutcome,
)
from jobs.availability.what_if.partition_risk import BrokerLiveness, outcome_of, state_of
from jobs.availability.what_if.quorum_outlook import quorum_outlook
from jobs.availability.what_if.standbys import (
    electable_standbys,
    governed_standbys,
    promoter_of,
    standby_ids,
    wanted_standbys,
)
from jobs.availability.what_if.steps import (
    Loss,
    PreferredElection,
    Return,
    Step,
    UncleanElection,
    nodes_of,
)


class SimulationState:
    """The cluster now.

    `alive`: brokers whose process is there; `serving`: those that also got through to a quorum.
    `unfenced`: standby brokers that are promoted. `back`: came back since a quorum last saw to everything;
    `restarted`: those of them that had crashed.
    """

    def __init__(self, cluster: ClusterModel) -> None:
        self.cluster = cluster
        self.alive = {one.broker_id for one in cluster.brokers.values() if one.is_alive}
        self.serving = frozenset(self.alive)
        self.voters = {one.node_id for one in cluster.voters if one.is_alive is not False}
        self.returned: set[int] = set()
        self.observers = [cluster.observers_of(one) for one in cluster.partitions]
        self.standbys = standby_ids(cluster)
        self.back: set[int] = set()
        self.restarted: set[int] = set()
        self._states = [
            replace(first_state(one), lagging=first_lagging(one, observers, self.serving))
            for one, observers in zip(cluster.partitions, self.observers, strict=True)
        ]
        self.unfenced = self.standbys & {id_ for one in self._states for id_ in one.isr}
        self._governed = governed_standbys(cluster, self.standbys)
        self._shown = [self._state(index) for index in range(len(self._states))]

    @property
    def quorum(self) -> QuorumOutcome:
        """The quorum now."""
        return quorum_outlook(self.cluster, self.voters, self.returned)

    def promoter(self, index: int) -> Promoter:
        """Return who would promote an observer of a partition."""
        return promoter_of(self.cluster, self.cluster.partitions[index], self.observers[index])

    def apply(self, step: Step) -> tuple[PartitionOutcome, ...]:
        """Do one step; returns every partition before and after it."""
        before, states, serving = self._shown, self._states, self.serving
        if isinstance(step, Loss | Return):
            self._move(step)
        has_majority = self.quorum.has_majority
        if has_majority:
            self.serving = frozenset(self.alive)
            self._settle_all(step)
            self.back.clear()
            self.restarted.clear()
        self._shown = self._shown_after(before, states, serving ^ self.serving)
        fenced = self.standbys - self.unfenced
        moment = BrokerLiveness(self.serving, has_majority, fenced, self.cluster.has_elr)
        return tuple(
            outcome_of(one, was, now, self._states[index], moment, self.promoter(index))
            for index, (one, was, now) in enumerate(
                zip(self.cluster.partitions, before, self._shown, strict=True)
            )
        )

    def _shown_after(
        self, before: list[IsrState], states: list[SimulatedPartition], moved: AbstractSet[int]
    ) -> list[IsrState]:
        """Return how all are shown now; what did not change on brokers that did not move is as before."""
        rows = enumerate(zip(self.cluster.partitions, before, states, strict=True))
        return [
            was
            if then is self._states[index] and moved.isdisjoint(one.replicas)
            else self._state(index)
            for index, (one, was, then) in rows
        ]

    def _state(self, index: int) -> IsrState:
        return state_of(
            self.cluster.partitions[index], self._states[index], self.serving, self.observers[index]
        )

    def _move(self, step: Loss | Return) -> None:
        """Take nodes away or bring them back; who comes back waits for a quorum before it serves."""
        nodes = nodes_of(self.cluster, step)
        voters = nodes & {one.node_id for one in self.cluster.voters}
        if isinstance(step, Loss):
            self.alive -= nodes
            self.serving -= nodes
            self.unfenced -= nodes
            self.voters -= voters
            self.returned -= voters
            self.back -= nodes
            self.restarted -= nodes
            return
        came = nodes.intersection(self.cluster.brokers) - self.alive
        self.alive |= came
        self.back |= came
        self.voters |= voters
        self.returned |= voters
        if not step.is_clean:
            self.restarted |= came

    def _settle_all(self, step: Step) -> None:
        """Let everything happen that follows by itself; standbys are promoted by who governs them."""
        first = self._settled(step, self.unfenced)
        unfenced = self.unfenced
        if self._governed:
            unfenced = wanted_standbys(self, first) | self._asked_standbys(step, first)
        self._states = (
            first if unfenced == self.unfenced else self._settled(step, frozenset(unfenced))
        )
        self.unfenced = frozenset(unfenced)

    def _asked_standbys(self, step: Step, states: list[SimulatedPartition]) -> frozenset[int]:
        """Return the standbys that crosslog promotes, so that an unclean election finds somebody."""
        if not isinstance(step, UncleanElection):
            return frozenset()
        return electable_standbys(self, states, step.topic)

    def _settled(self, step: Step, unfenced: AbstractSet[int]) -> list[SimulatedPartition]:
        acceptable = self.serving - (self.standbys - unfenced)
        return [self._settle_one(step, index, acceptable) for index in range(len(self._states))]

    def _settle_one(self, step: Step, index: int, acceptable: frozenset[int]) -> SimulatedPartition:
        partition, now = self.cluster.partitions[index], self._states[index]
        is_named = isinstance(step, UncleanElection | PreferredElection) and step.topic in {
            None,
            partition.topic,
        }
        context = PartitionContext(
            acceptable=acceptable,
            has_elr=self.cluster.has_elr,
            restarted=self.restarted,
            observers=self.observers[index] if self.cluster.promotes_itself else (),
            is_unclean_asked=is_named and isinstance(step, UncleanElection),
        )
        if is_named and isinstance(step, PreferredElection):
            now = elect_preferred(partition, now, context)
        return settle(partition, self._returned(partition, now), context)

    def _returned(self, partition: PartitionModel, now: SimulatedPartition) -> SimulatedPartition:
        """Return a partition whose replicas that are back may catch up."""
        back = self.back.intersection(now.lagging)
        return replace(now, lagging=now.lagging - back) if back else now
