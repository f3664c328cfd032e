"""A cluster as the rules of availability take it: from what was collected, or as it was in the past.

Partitions that are alike are one unit: 50,000 of them cost little to simulate.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

from numpy.typing import NDArray

from console.availability.placements.models import WhatIfPicture
from console.availability.placements.placements import (
    PlacementRules,
    Proposed,
    Resolved,
    rules_of,
)
from console.availability.promotion.acted_topics import Acted, ActedTopics, acted_topics_of
from console.availability.what_if.cluster_snapshots import (
    ClusterSnapshot,
    PartitionClass,
    Recent,
    TopicFacts,
    unpack,
)
from console.availability.what_if.snapshot_reader import read_now, read_then
from console.clusters.models import Cluster
from jobs.availability.placements.placement import Placement, observers_of
from jobs.availability.what_if.matrix import PartitionClasses
from jobs.availability.what_if.model.cluster import ClusterModel, PartitionModel

_PICTURES: Recent[ClusterSnapshot | None] = Recent(4)
# A snapshot that is older than this although rounds succeeded is no longer updated: it is read from rows.
OLDEST_PICTURE = timedelta(seconds=60)
NO_AUTOMATION = ActedTopics()


@dataclass(frozen=True, slots=True)
class SeenCluster:
    """A cluster and its missing data.

    `gaps` are sentences for users; `seen_at` is the time of the data (None: never collected), or the
    requested time in the past.
    """

    model: ClusterModel
    gaps: tuple[str, ...]
    seen_at: datetime | None


def cluster_model(
    cluster: Cluster, at: datetime | None = None, proposed: Sequence[Proposed] = ()
) -> ClusterModel:
    """Return a cluster now, or as the metadata log says that it was; a fixed number of queries.

    Raises `UnknownMoment` for a time before the history.
    """
    return seen_cluster(cluster, at, proposed).model


def seen_cluster(
    cluster: Cluster, at: datetime | None = None, proposed: Sequence[Proposed] = ()
) -> SeenCluster:
    """Return the same with what could not be known; it is read from the rows, not from a snapshot."""
    snapshot = read_now(cluster) if at is None else read_then(cluster, at)
    model = whole_model(snapshot, rules_of(cluster, proposed), acted_topics_of(cluster))
    return SeenCluster(model, tuple(snapshot.gaps), snapshot.seen_at)


def snapshot_of(cluster: Cluster, at: datetime | None = None) -> ClusterSnapshot:
    """Return the snapshot of a cluster: the one that is kept while it is kept up, else made now.

    Raises `UnknownMoment` for a time before the history.
    """
    if at is not None:
        return read_then(cluster, at)
    row = WhatIfPicture.objects.filter(cluster=cluster).first()
    if row is not None and _is_kept_up(cluster, row):
        kept = _PICTURES.get(row.digest, lambda: unpack(bytes(row.packed), (), None))
        if kept is not None:
            return replace(kept, gaps=tuple(row.gaps), seen_at=row.seen_at, digest=row.digest)
    return read_now(cluster)


def _is_kept_up(cluster: Cluster, row: WhatIfPicture) -> bool:
    rounds = cluster.rounds.filter(noun__in=["brokers", "topics"])
    newest = [at for at in rounds.values_list("succeeded_at", flat=True) if at is not None]
    return not newest or max(newest) - row.made_at <= OLDEST_PICTURE


@dataclass(frozen=True, slots=True)
class TopicClasses:
    """A topic, its placement, and the unit of each partition in the order of `facts.numbers`."""

    facts: TopicFacts
    resolved: Resolved
    units: Sequence[int]

    @property
    def name(self) -> str:
        return self.facts.name


@dataclass
class PlacedClasses(PartitionClasses):
    """A cluster with one partition per unit, and which topics have which units."""

    topics: Sequence[TopicClasses]

    def places(
        self, keeps: Sequence[bool] | NDArray[Any], order: Iterable[int] | None = None
    ) -> Iterator[tuple[TopicClasses, int, int]]:
        """Yield topic, partition and unit of the partitions whose unit is kept, topics in their `order`."""
        numbers = range(len(self.topics)) if order is None else order
        for index in numbers:
            topic = self.topics[index]
            for number, unit in zip(topic.facts.numbers, topic.units, strict=True):
                if keeps[unit]:
                    yield topic, number, unit


@dataclass(slots=True)
class _Builder:
    snapshot: ClusterSnapshot
    rules: PlacementRules
    apart: frozenset[str]
    acted: ActedTopics
    racks: Mapping[int, str | None]
    standbys: frozenset[int]
    partitions: list[PartitionModel] = field(default_factory=list)
    known: dict[Any, int] = field(default_factory=dict)
    profiles: dict[Any, dict[int, int]] = field(default_factory=dict)

    def topic(self, facts: TopicFacts) -> TopicClasses:
        resolved = self.rules.of(facts.name, facts.config)
        proposed = self.rules.proposed_for(facts.name)
        if proposed is not None and proposed.placement is not None:
            return TopicClasses(facts, resolved, self._as_proposed(facts, resolved, proposed))
        least = facts.min_insync_replicas
        known = self.profiles.setdefault(self._profile(facts, resolved, least), {})
        units = [known.get(number, -1) for number in facts.classes]
        if -1 in units:
            for number in set(facts.classes) - known.keys():
                found = self.snapshot.classes[number]
                known[number] = self._add(facts, number, found, resolved, least)
            units = [known[number] for number in facts.classes]
        return TopicClasses(facts, resolved, units)

    def _profile(self, facts: TopicFacts, resolved: Resolved, least: int | None) -> Any:
        """What topics share whose partitions of one class are one unit."""
        apart = facts.name if facts.name in self.apart else ""
        acted = self._acted(facts, resolved)
        return least, facts.is_unclean_allowed, resolved.placement, apart, acted

    def _acted(self, facts: TopicFacts, resolved: Resolved) -> Acted | None:
        placed = resolved.placement.policy if resolved.placement is not None else None
        return self.acted.of(facts.name, placed)

    def _as_proposed(self, facts: TopicFacts, resolved: Resolved, proposed: Proposed) -> list[int]:
        placement = proposed.placement
        if placement is None:
            return []
        least = proposed.min_insync_replicas or facts.min_insync_replicas
        profile = self._profile(facts, resolved, least)
        units = []
        for number, class_number in zip(facts.numbers, facts.classes, strict=True):
            found = as_placed(placement, self.snapshot.classes[class_number], self.snapshot, number)
            key = (found, profile)
            if key not in self.known:
                self.known[key] = self._add(facts, number, found, resolved, least)
            units.append(self.known[key])
        return units

    def _add(
        self,
        facts: TopicFacts,
        number: int,
        found: PartitionClass,
        resolved: Resolved,
        least: int | None,
    ) -> int:
        moves = found.adding or (), found.removing
        observers = observers_of(resolved.placement, found.replicas, self.racks, *moves)
        model = partition_model(facts, number, found, resolved.placement, least, observers)
        model = replace(model, limits_min_isr=self.snapshot.limits_min_isr)
        self.partitions.append(as_acted(model, self._acted(facts, resolved), self.standbys))
        return len(self.partitions) - 1


def classes_of(
    snapshot: ClusterSnapshot,
    rules: PlacementRules,
    apart: frozenset[str] = frozenset(),
    acted: ActedTopics = NO_AUTOMATION,
) -> PlacedClasses:
    """Return the units of a snapshot under the placements that count; topics of `apart` share no unit.

    `acted` are the topics for which crosslog promotes.
    """
    standbys = frozenset(one.broker_id for one in snapshot.brokers if one.is_standby)
    builder = _Builder(snapshot, rules, apart, acted, snapshot.racks, standbys)
    topics = [builder.topic(facts) for facts in snapshot.topics]
    return _placed(_model(snapshot, builder.partitions), topics)


def classes_of_model(model: ClusterModel) -> PlacedClasses:
    """Return a cluster that somebody describes: each partition is a unit."""
    by_topic: dict[str, list[int]] = {}
    for unit, one in enumerate(model.partitions):
        by_topic.setdefault(one.topic, []).append(unit)
    topics = []
    for name, units in by_topic.items():
        first = model.partitions[units[0]]
        numbers = [model.partitions[unit].partition for unit in units]
        least, unclean = first.min_insync_replicas, first.is_unclean_allowed
        facts = TopicFacts(name, least, unclean, "", numbers, units)
        topics.append(TopicClasses(facts, Resolved(), units))
    return _placed(model, topics)


def _placed(model: ClusterModel, topics: Sequence[TopicClasses]) -> PlacedClasses:
    return PlacedClasses(model, {topic.name: topic.units for topic in topics}, topics)


def whole_model(
    snapshot: ClusterSnapshot, rules: PlacementRules, acted: ActedTopics = NO_AUTOMATION
) -> ClusterModel:
    """Return the cluster with every partition under its own name."""
    found = classes_of(snapshot, rules, acted=acted)
    partitions = []
    for topic in found.topics:
        for number, unit in zip(topic.facts.numbers, topic.units, strict=True):
            one = found.model.partitions[unit]
            partitions.append(renamed(one, topic.name, number))
    return _model(snapshot, partitions)


def renamed(one: PartitionModel, topic: str, number: int) -> PartitionModel:
    """Return the same partition under another name."""
    return replace(one, topic=topic, partition=number)


def partition_model(
    facts: TopicFacts,
    number: int,
    found: PartitionClass,
    placement: Placement | None,
    least: int | None,
    observers: tuple[int, ...] = (),
) -> PartitionModel:
    return PartitionModel(
        topic=facts.name,
        partition=number,
        replicas=found.replicas,
        isr=found.isr,
        leader=found.leader,
        observers=observers,
        elr=found.elr,
        last_known_elr=found.last_known_elr,
        min_insync_replicas=least,
        policy=placement.policy if placement is not None else None,
        is_unclean_allowed=facts.is_unclean_allowed,
        sync_count=placement.sync_count if placement is not None else None,
        adding=found.adding,
        removing=found.removing,
    )


def as_acted(one: PartitionModel, acted: Acted | None, standbys: frozenset[int]) -> PartitionModel:
    """Return a partition for which crosslog promotes, where it may touch a standby with a replica."""
    if acted is None or not acted.brokers & standbys & {*one.replicas}:
        return one
    return replace(one, is_acted_on=True, policy=acted.trigger)


def as_placed(
    placement: Placement, found: PartitionClass, snapshot: ClusterSnapshot, number: int
) -> PartitionClass:
    """Return a partition as a reassignment would leave it: caught up, led by its first replica.

    In each rack replicas that are there stay, then brokers take turns by the partition's number. A rack
    with too few brokers gives what it has.
    """
    taken: list[int] = []
    sync = [b for rack in placement.replicas for b in _pick(rack, found, snapshot, number, taken)]
    watching = [
        b for rack in placement.observers for b in _pick(rack, found, snapshot, number, taken)
    ]
    dead = {one.broker_id for one in snapshot.brokers if not one.is_alive}
    turn = number % len(sync) if sync else 0
    ordered = sync[turn:] + sync[:turn]
    isr = tuple(one for one in ordered if one not in dead)
    return PartitionClass((*ordered, *watching), isr, isr[0] if isr else None)


def _pick(
    rack: Any, found: PartitionClass, snapshot: ClusterSnapshot, number: int, taken: list[int]
) -> list[int]:
    there = [
        one for one in snapshot.brokers if one.rack == rack.rack and one.broker_id not in taken
    ]
    alive = [one.broker_id for one in there if one.is_alive] or [one.broker_id for one in there]
    kept = [one for one in found.replicas if one in alive][: rack.count]
    turn = number % len(alive) if alive else 0
    rest = [one for one in alive[turn:] + alive[:turn] if one not in kept]
    chosen = [*kept, *rest][: rack.count]
    taken.extend(chosen)
    return chosen


def _model(snapshot: ClusterSnapshot, partitions: Sequence[PartitionModel]) -> ClusterModel:
    return ClusterModel(
        brokers={one.broker_id: one for one in snapshot.brokers},
        partitions=partitions,
        voters=snapshot.voters,
        has_elr=snapshot.has_elr,
        promotes_itself=snapshot.promotes_itself,
    )
