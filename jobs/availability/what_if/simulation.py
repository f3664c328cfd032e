"""What becomes of a cluster when brokers, racks or controllers are lost, step by step.

The losses of a step are settled when everything that follows by itself has happened: fencing, elections,
catching up, promotions, demotions. How long that takes is not said here (session timeouts, 9 s by default).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from jobs.availability.what_if.matrix.matrix import (
    Matrix,
    WorstFailure,
    matrix,
    single_failures,
    worst_single_failure,
)
from jobs.availability.what_if.model.cluster import ClusterModel
from jobs.availability.what_if.outcome import (
    PartitionOutcome,
    QuorumOutcome,
    StepOutcome,
    count_outcomes,
)
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
    "Matrix",
    "PreferredElection",
    "Return",
    "Step",
    "UncleanElection",
    "UnknownTarget",
    "WhatIf",
    "WorstFailure",
    "matrix",
    "simulate",
    "single_failures",
    "worst_single_failure",
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
        return ended or any(one.is_harmed for one in self.overall)

    def to_json(self) -> dict[str, Any]:
        """Return the document of `crosslog what-if --json` and of REST."""
        from jobs.availability.what_if.answer_json import what_if_document

        return what_if_document(self)


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
    return WhatIf(tuple(_step(state, one, index) for index, one in enumerate(steps)), before)


def _step(state: SimulationState, step: Step, index: int) -> StepOutcome:
    outcomes = state.apply(step)
    by_topic: dict[str, list[PartitionOutcome]] = defaultdict(list)
    for one in outcomes:
        by_topic[one.topic].append(one)
    return StepOutcome(
        name=step_name(step) or f"step {index + 1}",
        partitions=outcomes,
        topics={name: count_outcomes(found) for name, found in sorted(by_topic.items())},
        cluster=count_outcomes(outcomes),
        quorum=state.quorum,
    )
