"""Simulates losses and returns of brokers, racks and controllers, step by step.

The losses of a step are settled when everything that follows by itself has happened: fencing, elections,
catching up, promotions, demotions. How long that takes is not said here (session timeouts, 9 s by default).
"""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace

from jobs.availability.what_if.election import (
    PartitionContext,
    SimulatedPartition,
    elect_preferred,
    first_lagging,
    first_state,
    settle,
    wanted_observers,
)
from jobs.availability.what_if.model.cluster import ClusterModel, PartitionModel
from jobs.availability.what_if.outcome import (
    IsrState,
    PartitionOutcome,
    Promoter,
    QuorumOutcome,
    StepOutcome,
    quorum_outlook,
)
from jobs.availability.what_if.partition_risk import BrokerLiveness, outcome_of, state_of
from jobs.availability.what_if.steps import (
    Loss,
    PreferredElection,
    Return,
    Step,
    UncleanElection,
    UnknownTarget,
    check_steps,
    nodes_of,
    step_name,
)

__all__ = [
    "Loss",
    "PreferredElection",
    "Return",
    "Step",
    "UncleanElection",
    "UnknownTarget",
    "WhatIf",
    "simulate",
]


@dataclass(frozen=True, slots=True)
class WhatIf:
    """The answer: one `StepOutcome` per step; each begins where the one before ended."""

    steps: tuple[StepOutcome, ...]
    quorum_before: QuorumOutcome

    @property
    def overall(self) -> tuple[PartitionOutcome, ...]:
        """Each partition from before the first step to after the last; empty without steps."""
        if not self.steps:
            return ()
        columns = zip(*(one.partitions for one in self.steps), strict=True)
        return tuple(_from_first_to_last(column) for column in columns)

    @property
    def quorum(self) -> QuorumOutcome:
        """The quorum after the last step."""
        return self.steps[-1].quorum if self.steps else self.quorum_before

    @property
    def does_harm(self) -> bool:
        """Whether a partition is no longer writable, lost its leader or records, or the majority ended."""
        ended = self.quorum_before.has_majority and not self.quorum.has_majority
        return ended or any(one.is_stopped or one.is_lost for one in self.overall)


def _from_first_to_last(outcomes: Sequence[PartitionOutcome]) -> PartitionOutcome:
    first, last = outcomes[0], outcomes[-1]
    before, inside = first.before, last.after.observers_in_isr
    left = {one for step in outcomes for one in step.demoted if one in before.isr}
    return replace(
        last,
        before=before,
        promoted=tuple(one for one in inside if one not in before.isr),
        demoted=tuple(sorted(left - set(inside))),
    )


def simulate(cluster: ClusterModel, steps: Sequence[Step]) -> WhatIf:
    """Return the effect of the steps in sequence; raises `UnknownTarget` for unknown nodes and topics."""
    check_steps(cluster, steps)
    state = _SimulationState(cluster)
    before = state.quorum
    outcomes = (
        StepOutcome(step_name(step) or f"step {number}", state.apply(step), state.quorum)
        for number, step in enumerate(steps, start=1)
    )
    return WhatIf(tuple(outcomes), before)


class _SimulationState:
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
        """Apply losses and returns; a returned node waits for a quorum before it serves."""
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
            unfenced = self._wanted_standbys(first) | self._asked_standbys(step, first)
        self._states = (
            first if unfenced == self.unfenced else self._settled(step, frozenset(unfenced))
        )
        self.unfenced = frozenset(unfenced)

    def _wanted_standbys(self, states: Sequence[SimulatedPartition]) -> frozenset[int]:
        """Return the standbys that are to be unfenced, by the states with those that are unfenced now.

        One stays as long as a policy wants it, or as it is the only one left in the ISR of any partition.
        """
        wanted = set(self.unfenced - self._governed)
        wanted.update(
            one.isr[0] for one in states if len(one.isr) == 1 and one.isr[0] in self.unfenced
        )
        able = self.standbys & self.serving
        for now, partition, observers in zip(
            states, self.cluster.partitions, self.observers, strict=True
        ):
            if is_governed(partition) and now.leader is not None:
                wanted.update(wanted_observers(partition, now, frozenset(now.isr), observers, able))
        return frozenset(wanted)

    def _asked_standbys(self, step: Step, states: Sequence[SimulatedPartition]) -> frozenset[int]:
        """Return the standbys that crosslog promotes, so that an unclean election finds somebody.

        That is one for each partition without leader that has no other living replica.
        """
        if not isinstance(step, UncleanElection):
            return frozenset()
        found: set[int] = set()
        for now, partition in zip(states, self.cluster.partitions, strict=True):
            if not is_governed(partition) or step.topic not in {None, partition.topic}:
                continue
            living = [one for one in partition.replicas if one in self.serving]
            if now.leader is None and all(one in self.standbys for one in living):
                found.update(_best(partition, living))
        return frozenset(found)

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


def standby_ids(cluster: ClusterModel) -> frozenset[int]:
    """Return the standby brokers; brokers that promote by themselves need none."""
    if cluster.promotes_itself:
        return frozenset()
    return frozenset(one.broker_id for one in cluster.brokers.values() if one.is_standby)


def promoter_of(
    cluster: ClusterModel, partition: PartitionModel, observers: Sequence[int]
) -> Promoter:
    """Return who promotes an observer: the brokers, crosslog by an automatic policy, or none."""
    if not observers or partition.policy is None:
        return Promoter.NONE
    if cluster.promotes_itself:
        return Promoter.BROKER
    return Promoter.CROSSLOG if partition.is_acted_on else Promoter.NONE


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


def _best(partition: PartitionModel, living: Sequence[int]) -> Sequence[int]:
    by_lag = [(partition.lag_records.get(one, 0), -at, one) for at, one in enumerate(living)]
    return [min(by_lag)[-1]] if by_lag else []
