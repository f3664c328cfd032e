"""Simulates steps on a cluster: once per unit of equal partitions, results per topic and partition."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from console.availability.placements.placements import PlacementRules
from console.availability.promotion.acted_topics import ActedTopics
from console.availability.what_if.cluster_models import (
    NO_AUTOMATION,
    PlacedClasses,
    TopicClasses,
    classes_of,
    classes_of_model,
)
from console.availability.what_if.cluster_snapshots import ClusterSnapshot
from jobs.availability.status.severity import Severity
from jobs.availability.what_if.model.cluster import ClusterModel
from jobs.availability.what_if.outcome import (
    AT_RISK,
    SEVERITIES,
    UNWRITABLE,
    Counts,
    PartitionOutcome,
    QuorumOutcome,
    RiskCode,
    counts_of,
    flags_of,
)
from jobs.availability.what_if.simulation import WhatIf, simulate
from jobs.availability.what_if.steps import Loss, PreferredElection, Step, UncleanElection

Keeps = Callable[[PartitionOutcome], bool]
# What partitions of an answer can be narrowed down to.
KINDS: Mapping[str, Keeps] = {
    "changed": lambda one: one.is_changed,
    "unwritable": lambda one: one.after.is_writable is False,
    "unknown": lambda one: one.after.is_writable is None,
    "offline": lambda one: one.after.leader is None,
    "at_risk": lambda one: one.is_at_risk,
    "exposed": lambda one: one.data_at_risk.code is RiskCode.EXPOSED,
    "unclean": lambda one: one.needs_unclean,
    "all": lambda one: True,
}


@dataclass(frozen=True, slots=True)
class StepResult:
    """The state after one step."""

    step: Step
    name: str
    counts: Counts
    quorum: QuorumOutcome


@dataclass(frozen=True, slots=True)
class TopicResult:
    """A topic from before the first step to after the last; `worst_before` is that of its worst partition."""

    topic: TopicClasses
    counts: Counts
    worst_before: Severity

    @property
    def name(self) -> str:
        return self.topic.name


@dataclass(frozen=True)
class WhatIfResult:
    """The simulated effect of steps on a cluster."""

    units: PlacedClasses
    what_if: WhatIf
    asked: Sequence[Step]

    @cached_property
    def overall(self) -> tuple[PartitionOutcome, ...]:
        """Each unit from before the first step to after the last; without steps as it is now."""
        if self.what_if.steps:
            return self.what_if.overall
        return simulate(self.units.model, [Loss()]).overall

    @cached_property
    def counts(self) -> Counts:
        """The same for the cluster."""
        return self._counts(self.overall)

    @cached_property
    def steps(self) -> list[StepResult]:
        """The state after each step."""
        return [
            StepResult(asked, done.name, self._counts(done.partitions), done.quorum)
            for asked, done in zip(self.asked, self.what_if.steps, strict=True)
        ]

    def _counts(self, outcomes: Sequence[PartitionOutcome]) -> Counts:
        return counts_of(self.units.sizes @ flags_of(outcomes))

    @property
    def quorum_before(self) -> QuorumOutcome:
        """The quorum before the first step."""
        return self.what_if.quorum_before

    @property
    def quorum(self) -> QuorumOutcome:
        """The quorum after the last step."""
        return self.what_if.quorum

    @property
    def topic_count(self) -> int:
        """How many topics there are."""
        return len(self.units.topics)

    @property
    def topics(self) -> Iterator[TopicResult]:
        """Every topic, those that it hits worst first."""
        for index in self._order:
            before = max(np.flatnonzero(self._before_of_topics[index]), default=0)
            topic = self.units.topics[index]
            yield TopicResult(topic, counts_of(self._of_topics[index]), Severity(int(before)))

    def count_partitions(self, keeps: Keeps, topic: str = "") -> int:
        """Return how many partitions are of a kind, of one topic when it is named."""
        if topic:
            return sum(1 for _ in self._places(keeps, topic))
        kept = [keeps(one) for one in self.overall]
        return int(self.units.sizes[np.asarray(kept, dtype=np.bool_)].sum()) if kept else 0

    def partitions(
        self, keeps: Keeps, topic: str = "", *, first: int = 0, most: int | None = None
    ) -> Iterator[PartitionOutcome]:
        """Yield partitions of a kind under their own names, those of the worst topics first."""
        last = None if most is None else first + most
        for where, number, unit in islice(self._places(keeps, topic), first, last):
            yield replace(self.overall[unit], topic=where.name, partition=number)

    def _places(self, keeps: Keeps, topic: str) -> Iterator[tuple[TopicClasses, int, int]]:
        kept = [keeps(one) for one in self.overall]
        order = [int(one) for one in self._order]
        if topic:
            order = [one for one in order if self.units.topics[one].name == topic]
        return self.units.places(kept, order)

    @cached_property
    def _of_topics(self) -> NDArray[np.int64]:
        return self.units.per_topic(flags_of(self.overall))

    @cached_property
    def _before_of_topics(self) -> NDArray[np.int64]:
        before = np.zeros((len(self.overall), len(Severity)), dtype=np.int64)
        for unit, one in enumerate(self.overall):
            before[unit, one.before.severity] = 1
        return self.units.per_topic(before)

    @cached_property
    def _order(self) -> NDArray[np.intp]:
        """The topics in the order of how badly they are hit: severity, unwritable, at risk, name."""
        found = self._of_topics
        if not len(found):
            return np.zeros(0, dtype=np.intp)
        ladder = found[:, SEVERITIES:] > 0
        worst = len(Severity) - 1 - np.argmax(ladder[:, ::-1], axis=1)
        names = np.argsort(np.argsort([topic.name for topic in self.units.topics]))
        return np.lexsort((names, -found[:, AT_RISK], -found[:, UNWRITABLE], -worst))


def simulate_snapshot(
    snapshot: ClusterSnapshot,
    rules: PlacementRules,
    steps: Sequence[Step],
    *,
    acted: ActedTopics = NO_AUTOMATION,
    brokers_promote: bool = False,
) -> WhatIfResult:
    """Return what steps do; raises `UnknownTarget` for what the cluster has not.

    `acted` are the topics for which crosslog promotes. `brokers_promote` asks as if the brokers kept
    observers out of the ISR and promoted them.
    """
    units = classes_of(snapshot, rules, _topics_of(steps), acted)
    if brokers_promote:
        units.model = replace(units.model, promotes_itself=True)
    return simulate_classes(units, steps)


def simulate_model(model: ClusterModel, steps: Sequence[Step]) -> WhatIfResult:
    """Return what steps do to a cluster that somebody describes; raises `UnknownTarget`."""
    return simulate_classes(classes_of_model(model), steps)


def simulate_classes(units: PlacedClasses, steps: Sequence[Step]) -> WhatIfResult:
    """Return what steps do to units; raises `UnknownTarget`."""
    return WhatIfResult(units, simulate(units.model, steps), steps)


def _topics_of(steps: Sequence[Step]) -> frozenset[str]:
    """Return the topics that steps name: each of them may go its own way."""
    elections = [one for one in steps if isinstance(one, UncleanElection | PreferredElection)]
    return frozenset(one.topic for one in elections if one.topic)
