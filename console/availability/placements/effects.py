"""Comparison of replicas with placements; observers do not count as missing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from console.availability.placements.models import PatternKind, TopicPlacement
from console.availability.placements.placements import Origin, PlacementRules, Resolved, expression
from console.availability.what_if.cluster_models import classes_of
from console.availability.what_if.cluster_snapshots import ClusterSnapshot, Recent
from jobs.availability.placements.compare import Violation, compare_placement
from jobs.availability.placements.placement import Placement
from jobs.availability.status.severity import Moves, Severity, Standing, judge_partition
from jobs.availability.what_if.model.cluster import PartitionModel
from jobs.patterns.matching import Matcher

# A preview names so many topics; it counts all.
MOST_EFFECTS = 100


@dataclass(frozen=True, slots=True)
class ViolationCount:
    """A kind of violation in a topic: in how many partitions, and what one of them says."""

    code: str
    count: int
    sentence: str
    brokers: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class TopicStanding:
    """A topic under its placement.

    `missing` counts partitions that miss a sync replica: an observer outside the ISR is none.
    `worst` is the severity of the worst partition. `reassigned` counts partitions in a reassignment: judged
    by the replicas that it leads to.
    """

    name: str
    partitions: int
    resolved: Resolved
    violations: tuple[ViolationCount, ...]
    missing: int
    worst: Severity
    observers: tuple[int, ...] = ()
    reassigned: int = 0

    @property
    def placement(self) -> Placement | None:
        return self.resolved.placement

    @property
    def violation_count(self) -> int:
        """How many violations its partitions have."""
        return sum(one.count for one in self.violations)

    @property
    def is_wrong(self) -> bool:
        """Whether anything is not as it should be."""
        return bool(self.violations or self.resolved.problem)


@dataclass(frozen=True, slots=True)
class TopicEffect:
    """A topic before and after a placement is saved.

    `shadow` says why another placement counts, empty when this one does.
    """

    before: TopicStanding
    after: TopicStanding
    shadow: str

    @property
    def name(self) -> str:
        return self.after.name

    @property
    def counts(self) -> bool:
        """Whether the previewed placement is the one that counts."""
        return not self.shadow


@dataclass(frozen=True, slots=True)
class Preview:
    """What saving a placement would mean; `effects` are the worst first, at most `MOST_EFFECTS`."""

    fitting: int
    counting: int
    partitions: int
    wrong: int
    missing_before: int
    missing_after: int
    effects: Sequence[TopicEffect]
    warnings: Sequence[str]


def standings_of(picture: ClusterSnapshot, rules: PlacementRules) -> Standings:
    """Return the topics of a picture under their placements; those of a kept one are remembered."""
    key = (picture.digest, rules.key) if picture.digest else None
    return _STANDINGS.get(key, lambda: Standings(picture, rules))


class Standings:
    """The topics of a picture under their placements: sums at hand, single topics on demand."""

    def __init__(self, picture: ClusterSnapshot, rules: PlacementRules) -> None:
        self.units = classes_of(picture, rules)
        self._racks = picture.racks

    def __len__(self) -> int:
        return len(self.units.topics)

    @cached_property
    def placed(self) -> list[int]:
        """The indexes of topics that have a placement (or a config that is none), wrong ones first."""
        found = [
            index
            for index, topic in enumerate(self.units.topics)
            if topic.resolved.origin is not Origin.NONE
        ]
        return sorted(found, key=lambda index: (not self.is_wrong(index), -self.violations[index]))

    def is_wrong(self, index: int) -> bool:
        """Whether anything of a topic is not as it should be."""
        return bool(self.violations[index] or self.units.topics[index].resolved.problem)

    @cached_property
    def violations(self) -> list[int]:
        """How many violations each topic has."""
        counts = [len(found) for found in self._violations]
        return [int(one) for one in self.units.per_topic(np.asarray(counts, dtype=np.intp))]

    @cached_property
    def missing(self) -> list[int]:
        """How many partitions of each topic miss a sync replica."""
        counts = [bool(one.missing) for one in self._standings]
        return [int(one) for one in self.units.per_topic(np.asarray(counts, dtype=np.intp))]

    def count_violations(self, code: str) -> int:
        """Return in how many partitions there is a violation of a kind."""
        sizes = zip(self._violations, self.units.sizes, strict=True)
        return sum(int(n) for found, n in sizes if any(one.code == code for one in found))

    @cached_property
    def observers(self) -> frozenset[int]:
        """The brokers that are an observer of some partition."""
        return frozenset(b for one in self.units.model.partitions for b in one.observers)

    def topic(self, index: int) -> TopicStanding:
        topic = self.units.topics[index]
        sizes = Counter(topic.units)
        of = self.units.model.partitions
        return TopicStanding(
            topic.name,
            len(topic.units),
            topic.resolved,
            _violation_counts({unit: self._violations[unit] for unit in sizes}, sizes),
            self.missing[index],
            max((self._standings[unit].severity for unit in sizes), default=Severity.OK),
            tuple(sorted({broker for unit in sizes for broker in of[unit].observers})),
            sum(n for unit, n in sizes.items() if of[unit].adding or of[unit].removing),
        )

    @cached_property
    def _standings(self) -> list[Standing]:
        return [standing_of(one) for one in self.units.model.partitions]

    @cached_property
    def _violations(self) -> list[tuple[Violation, ...]]:
        """The violations of each unit: a unit's topics share their placement."""
        placements: dict[int, Placement] = {}
        for topic in self.units.topics:
            if topic.resolved.placement is not None:
                placements.update(dict.fromkeys(topic.units, topic.resolved.placement))
        return [
            compare_placement(placements[unit], one, self._racks) if unit in placements else ()
            for unit, one in enumerate(self.units.model.partitions)
        ]


_STANDINGS: Recent[Standings] = Recent(4)


def _violation_counts(
    found: Mapping[int, Sequence[Violation]], sizes: Mapping[int, int]
) -> tuple[ViolationCount, ...]:
    counts: Counter[str] = Counter()
    first: dict[str, Violation] = {}
    for unit, violations in found.items():
        for one in violations:
            counts[one.code.value] += sizes[unit]
            first.setdefault(one.code.value, one)
    return tuple(
        ViolationCount(code, count, first[code].sentence, first[code].brokers)
        for code, count in counts.most_common()
    )


def standing_of(one: PartitionModel) -> Standing:
    """Return the state of a partition whose observers are not expected in the ISR."""
    return judge_partition(
        leader=one.leader,
        replicas=one.replicas,
        isr=one.isr,
        min_insync_replicas=one.min_insync_replicas,
        observers=one.observers,
        moves=Moves(one.adding, one.removing),
    )


def preview_placement(
    picture: ClusterSnapshot, rows: Iterable[TopicPlacement], draft: TopicPlacement
) -> Preview:
    """Return the effect of saving a placement on the topics that it matches.

    `rows` are the placements as they are, `draft` the new one, or the changed one with its primary key.
    """
    now = list(rows)
    others = [row for row in now if row.pk != draft.pk]
    fits = Matcher([expression(draft.kind, draft.pattern)]).matches
    mine = [facts for facts in picture.topics if fits(facts.name)]
    part = _only(picture, mine)
    before = Standings(part, PlacementRules(now))
    after = Standings(part, PlacementRules([*others, draft]))
    told = [(before.topic(index), after.topic(index)) for index in range(len(after))]
    effects = [TopicEffect(old, new, shadow_of(new.resolved, draft)) for old, new in told]
    counting = [one for one in effects if one.counts]
    return Preview(
        len(effects),
        len(counting),
        sum(one.after.partitions for one in counting),
        sum(one.after.is_wrong for one in counting),
        sum(one.before.missing for one in counting),
        sum(one.after.missing for one in counting),
        sorted(effects, key=_worst_first)[:MOST_EFFECTS],
        tuple(_warnings(picture, draft, effects)),
    )


def shadow_of(resolved: Resolved, draft: TopicPlacement) -> str:
    """Return why another placement applies to a topic; empty when the draft does."""
    if resolved.rule is draft:
        return ""
    if resolved.origin is Origin.TOPIC_CONFIG:
        return "Its topic config takes precedence."
    row = resolved.rule
    if row is None:
        return "Another placement takes precedence."
    why = "an exact name" if row.kind == PatternKind.EXACT else f"priority {row.priority}"
    return f"{row.pattern} ({why}) takes precedence."


def _only(picture: ClusterSnapshot, topics: Sequence[Any]) -> ClusterSnapshot:
    return replace(picture, topics=topics, digest="")


def _worst_first(one: TopicEffect) -> tuple[Any, ...]:
    return not one.counts, not one.after.is_wrong, -one.after.violation_count, one.name


def _warnings(
    picture: ClusterSnapshot, draft: TopicPlacement, effects: Sequence[TopicEffect]
) -> Iterable[str]:
    if not effects:
        yield "No topic matches now. The placement applies to topics that are created later."
    elif not any(one.counts for one in effects):
        yield "The placement applies to no topic: other placements take precedence."
    if picture.promotes_itself:
        yield (
            "The brokers of this cluster support placements as topic configs; a placement assigned here is "
            "not visible to them."
        )
