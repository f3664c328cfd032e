"""Evaluates the promotion rules of a cluster: rows in, advice, events and findings out. Pure.

Only partitions with observers or a policy are evaluated; of these only those with a replica out of sync or
a promoted observer. So 50,000 healthy partitions cost next to nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from console.availability.promotion.models import PromotionPolicy
from console.availability.promotion.policies import PolicyLookup
from jobs.availability.placements.placement import PromotionPolicy as Trigger
from jobs.availability.promotion.actors.kinds import ActorKind
from jobs.availability.promotion.advice import Advice, Mode, PromotionFacts, TopicPolicy
from jobs.availability.promotion.advisor import BrokerAdvice, advise, by_broker
from jobs.availability.promotion.live_state import LivePartition, LiveState, Place
from jobs.availability.promotion.observer_findings import (
    ObserverEvent,
    ObserverFinding,
    ObserverLimits,
    PromotionHistory,
    events,
    findings,
    update_history,
)
from jobs.availability.what_if.model.cluster import ClusterModel, PartitionModel


@dataclass(frozen=True, slots=True)
class Remembered:
    """What a round keeps for the next one: by partition since when, and how it was then."""

    tracked: Mapping[Place, PromotionHistory] = field(default_factory=dict)
    partitions: Mapping[Place, PartitionModel] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Standing:
    """Changes by crosslog that are not reverted yet.

    `added` are brokers that an actor made a replica of a partition: from then on they count as its observers.
    `relaxed` is min.insync.replicas of a topic before it was lowered.
    """

    added: Mapping[Place, tuple[int, ...]] = field(default_factory=dict)
    relaxed: Mapping[str, int] = field(default_factory=dict)

    def concerns(self, place: Place) -> bool:
        """Whether something of it is about a partition."""
        return place in self.added or place[0] in self.relaxed


NOTHING = Standing()


@dataclass(frozen=True, slots=True)
class Evaluation:
    """What the rules say; `policies` are those that hold for each place, None where no row does."""

    advices: tuple[Advice, ...]
    brokers: tuple[BrokerAdvice, ...]
    events: tuple[ObserverEvent, ...]
    findings: tuple[ObserverFinding, ...]
    remembered: Remembered
    policies: Mapping[Place, PromotionPolicy | None]
    partitions: Mapping[Place, PartitionModel]
    considered_count: int
    observers_in_isr: int


def concerned(
    model: ClusterModel, policies: Sequence[PromotionPolicy], standing: Standing = NOTHING
) -> list[PartitionModel]:
    """Return the partitions with observers or with a policy of their own, with their observers named.

    Observers are those of the placement; where it names none, the replicas on standby brokers: those that are
    seen as such, and those that a policy names for this topic.
    """
    seen, by_topic = _standbys(model), {}
    lookup, found = PolicyLookup(policies), []
    for partition in model.partitions:
        topic = partition.topic
        if topic not in by_topic:
            row = lookup.of(topic)
            by_topic[topic] = row, seen | _named(row)
        row, standbys = by_topic[topic]
        added = standing.added.get(_place(partition), ())
        observers = partition.observers or tuple(b for b in partition.replicas if b in standbys)
        observers += tuple(b for b in added if b not in observers)
        if observers or row is not None:
            found.append(replace(partition, observers=observers))
    return found


def _named(row: PromotionPolicy | None) -> frozenset[int]:
    """Return the brokers that a policy names as its standbys."""
    is_standby = row is not None and row.actor == ActorKind.FENCED_STANDBY.value
    return frozenset(row.allowed_brokers) if is_standby and row is not None else frozenset()


def is_quiet(partition: PartitionModel) -> bool:
    """Return whether all sync replicas are in the ISR and no observer is."""
    isr, observers = {*partition.isr}, {*partition.observers}
    wanted = {*partition.replicas} - observers - {*(partition.adding or ())}
    is_whole = wanted <= isr and partition.leader is not None
    return is_whole and not isr & observers and partition.leader not in observers


def evaluate(
    model: ClusterModel,
    policies: Sequence[PromotionPolicy],
    looked: LiveState,
    remembered: Remembered,
    now_ms: int,
    standing: Standing = NOTHING,
) -> Evaluation:
    """Apply the rules to every partition that matters; `looked` counts before the model."""
    every = [_as_looked(one, looked.partitions) for one in concerned(model, policies, standing)]
    loud = [one for one in every if _is_loud(one, remembered, standing)]
    judging = _Judging(model, policies, looked, now_ms, standing)
    for partition in loud:
        judging.take(partition, remembered)
    return judging.told(len(every))


def _is_loud(partition: PartitionModel, remembered: Remembered, standing: Standing) -> bool:
    place = _place(partition)
    return not is_quiet(partition) or place in remembered.tracked or standing.concerns(place)


class _Judging:
    """Judges one partition after another."""

    def __init__(
        self,
        model: ClusterModel,
        policies: Sequence[PromotionPolicy],
        looked: LiveState,
        now_ms: int,
        standing: Standing,
    ) -> None:
        self._model, self._policies = model, PolicyLookup(policies)
        self._looked, self._now_ms = looked, now_ms
        self._standing = standing
        self._racks = {b: one.rack for b, one in model.brokers.items()}
        self._standbys = _standbys(model)
        self._alive = _alive(model, looked)
        self._advices: list[Advice] = []
        self._events: list[ObserverEvent] = []
        self._findings: list[ObserverFinding] = []
        self._tracked: dict[Place, PromotionHistory] = {}
        self._chosen: dict[Place, PromotionPolicy | None] = {}
        self._partitions: dict[Place, PartitionModel] = {}
        self._promoted = 0

    def take(self, partition: PartitionModel, remembered: Remembered) -> None:
        place, row = _place(partition), self._policies.of(partition.topic)
        policy = topic_policy(row, partition)
        earlier = remembered.tracked.get(place)
        relaxed_from = self._standing.relaxed.get(partition.topic)
        tracked = update_history(earlier, partition, policy.policy, self._now_ms, relaxed_from)
        self._partitions[place] = partition
        self._chosen[place] = row
        self._promoted += len({*partition.isr} & {*partition.observers})
        facts = self._facts(partition, tracked)
        self._advices.append(advise(partition, facts, policy, self._now_ms))
        before = remembered.partitions.get(place)
        if before is not None:
            self._events += events(before, partition, self._now_ms, earlier)
        self._findings += findings(
            partition, tracked, facts.standings, self._alive, _limits(policy), self._now_ms
        )
        if not is_quiet(partition) or self._standing.concerns(place):
            self._tracked[place] = tracked

    def told(self, considered: int) -> Evaluation:
        advices = tuple(self._advices)
        standby = tuple(one for one in advices if one.actor is ActorKind.FENCED_STANDBY)
        kept = {place: self._partitions[place] for place in self._tracked}
        return Evaluation(
            advices,
            by_broker(standby),
            tuple(self._events),
            tuple(self._findings),
            Remembered(self._tracked, kept),
            self._chosen,
            self._partitions,
            considered,
            self._promoted,
        )

    def _facts(self, partition: PartitionModel, tracked: PromotionHistory) -> PromotionFacts:
        look = self._looked.partitions.get(_place(partition))
        standbys = self._standbys | _named(self._chosen[_place(partition)])
        spares = sorted(self._alive - standbys - {*partition.replicas})
        return PromotionFacts(
            at_ms=self._looked.at_ms,
            racks=self._racks,
            alive=self._alive,
            standbys=standbys,
            standings=look.standings if look else {},
            spares=tuple(spares),
            has_quorum=self._looked.has_quorum,
            leader_epoch=look.leader_epoch if look else None,
            partition_epoch=look.partition_epoch if look else None,
            high_watermark=look.high_watermark if look else None,
            log_end_offset=look.log_end_offset if look else None,
            promoted_since_ms=tracked.promoted_since_ms,
            recovered_since_ms=tracked.recovered_since_ms,
            partition_bytes=look.size_bytes if look else None,
            relaxed_from=self._standing.relaxed.get(partition.topic),
            promotes_itself=self._model.promotes_itself,
        )


def topic_policy(row: PromotionPolicy | None, partition: PartitionModel) -> TopicPolicy:
    """Return the policy of a topic: that of its row, else advice by what its placement says."""
    trigger = Trigger(row.policy) if row is not None and row.policy else partition.policy
    trigger = trigger or Trigger.UNDER_MIN_ISR
    if row is None:
        return TopicPolicy(trigger)
    mode = Mode.ACT if row.acts else Mode.ADVISE
    return TopicPolicy(trigger, mode, ActorKind(row.actor), row.hold_s * 1000)


def remembered_of(document: Mapping[str, Any]) -> Remembered:
    """Return what `to_document` wrote; what cannot be read is forgotten."""
    tracked, partitions = {}, {}
    for row in document.get("partitions") or ():
        try:
            place = (str(row["topic"]), int(row["partition"]))
            tracked[place] = PromotionHistory(
                {int(b): int(ms) for b, ms in row["promoted_since_ms"].items()},
                row["recovered_since_ms"],
                row["short_since_ms"],
            )
            partitions[place] = PartitionModel(
                *place,
                replicas=tuple(row["replicas"]),
                isr=tuple(row["isr"]),
                leader=row["leader"],
                observers=tuple(row["observers"]),
                min_insync_replicas=row["min_insync_replicas"],
            )
        except (KeyError, TypeError, ValueError, AttributeError):
            continue
    return Remembered(tracked, partitions)


def to_document(remembered: Remembered) -> dict[str, Any]:
    """Return JSON values for the next round."""
    return {"partitions": [_row(place, remembered) for place in remembered.tracked]}


def _row(place: Place, remembered: Remembered) -> dict[str, Any]:
    tracked, partition = remembered.tracked[place], remembered.partitions[place]
    return {
        "topic": place[0],
        "partition": place[1],
        "promoted_since_ms": {str(b): ms for b, ms in tracked.promoted_since_ms.items()},
        "recovered_since_ms": tracked.recovered_since_ms,
        "short_since_ms": tracked.short_since_ms,
        "replicas": [*partition.replicas],
        "isr": [*partition.isr],
        "leader": partition.leader,
        "observers": [*partition.observers],
        "min_insync_replicas": partition.min_insync_replicas,
    }


def _as_looked(partition: PartitionModel, looks: Mapping[Place, LivePartition]) -> PartitionModel:
    look = looks.get(_place(partition))
    if look is None:
        return partition
    now = replace(partition, leader=look.leader, isr=look.isr, replicas=look.replicas)
    # Other replicas are another reassignment, or the end of one: not known until the next round.
    is_same = {*look.replicas} == {*partition.replicas}
    return now if is_same else replace(now, adding=None, removing=())


def _place(partition: PartitionModel) -> Place:
    return partition.topic, partition.partition


def _standbys(model: ClusterModel) -> frozenset[int]:
    return frozenset(b for b, one in model.brokers.items() if one.is_standby)


def _alive(model: ClusterModel, looked: LiveState) -> frozenset[int]:
    """Return who is alive; a broker that did not answer just now is not, whatever was collected before."""
    if looked.alive is not None:
        return looked.alive
    return frozenset(b for b, one in model.brokers.items() if one.is_alive)


def _limits(policy: TopicPolicy) -> ObserverLimits:
    return ObserverLimits(longest_promoted_ms=policy.longest_promoted_ms)
