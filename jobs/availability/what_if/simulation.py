"""What becomes of a cluster when brokers, racks or controllers are lost, step by step.

The losses of a step are settled when everything that follows by itself has happened: fencing, elections,
catching up, promotions, demotions. How long that takes is not said here (session timeouts, 9 s by default).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from jobs.availability.what_if.model.cluster import ClusterModel
from jobs.availability.what_if.outcome import PartitionOutcome, QuorumOutcome, StepOutcome
from jobs.availability.what_if.simulation_state import SimulationState
from jobs.availability.what_if.steps import (
    Loss,
    PreferredElection,
    Return,
    Step,
    UncleanElection,
    UnknownTarget,
    check_steps,
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
    """Return what the steps do, one after the other; raises `UnknownTarget` for what is not there."""
    check_steps(cluster, steps)
    state = SimulationState(cluster)
    before = state.quorum
    outcomes = (
        StepOutcome(step_name(step) or f"step {number}", state.apply(step), state.quorum)
        for number, step in enumerate(steps, start=1)
    )
    return WhatIf(tuple(outcomes), before)
