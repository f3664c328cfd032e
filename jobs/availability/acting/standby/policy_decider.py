"""Decides by a policy what a standby loop promotes and demotes, without the console.

The rules are those of `jobs.availability.promotion.advisor`; here the cluster is asked, and what is advised
has to hold twice, one look after the other, with the same leader epoch and a high watermark that did not go
back.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field

from jobs.availability.acting.cluster_connections import ClusterConnections
from jobs.availability.acting.partition_facts import PartitionFacts, read_partitions
from jobs.availability.acting.relaxed_min_isr import MIN_ISR
from jobs.availability.acting.standby.decisions import BrokerView
from jobs.availability.acting.standby.loop import PromotionRequest
from jobs.availability.acting.standby.promotions import HeldPromotion, Phase, StoreState
from jobs.availability.promotion.advice import (
    Advice,
    AdviceAction,
    PromotionFacts,
    ReplicaStanding,
    TopicPolicy,
)
from jobs.availability.promotion.advisor import advise
from jobs.availability.promotion.broker_advice import BrokerAdvice, by_broker
from jobs.availability.promotion.promotion_history import PromotionHistory, update_history
from jobs.availability.what_if.model.cluster import PartitionModel
from jobs.cluster.admin.brokers import list_brokers
from jobs.cluster.admin.configs import Resource, ResourceType, read_configs
from jobs.cluster.admin.partitions import describe_partitions
from jobs.cluster.descriptions import TopicPartition
from jobs.cluster.protocol.cluster import RawCluster

ASKED_BY = "policy"


@dataclass(frozen=True, slots=True)
class ActingRules:
    """What a person allowed: these topics by their names, these standby brokers, this policy.

    For `cooldown_ms` after a demotion the broker is not promoted again.
    """

    topics: frozenset[str]
    brokers: frozenset[int]
    policy: TopicPolicy = field(default_factory=TopicPolicy)
    cooldown_ms: int = 60_000


@dataclass(frozen=True, slots=True)
class Look:
    """What the cluster said at one moment: partitions, and min.insync.replicas of each topic."""

    at_ms: int
    partitions: Mapping[TopicPartition, PartitionFacts]
    min_isr: Mapping[str, int]
    racks: Mapping[int, str | None] = field(default_factory=dict)


@dataclass(slots=True)
class _Kept:
    """What is remembered between two looks."""

    tracked: dict[TopicPartition, PromotionHistory] = field(default_factory=dict)
    before: dict[int, BrokerAdvice] = field(default_factory=dict)
    demoted_at_ms: dict[int, int] = field(default_factory=dict)


class PolicyDecider:
    """A `Decider` by a policy; see `ActingRules`. `now_ms` is the wall clock."""

    def __init__(
        self, connections: ClusterConnections, rules: ActingRules, now_ms: Callable[[], int]
    ) -> None:
        self._connections = connections
        self._rules = rules
        self._now_ms = now_ms
        self._kept = _Kept()

    async def wishes(
        self, state: StoreState, brokers: Mapping[int, BrokerView]
    ) -> Sequence[PromotionRequest]:
        """See `Decider.wishes`; raises `ClusterFault`."""
        async with self._connections.cluster() as cluster:
            look = await _look(cluster, self._rules, self._now_ms)
        return self.judge(look, state, brokers)

    def judge(
        self, look: Look, state: StoreState, brokers: Mapping[int, BrokerView]
    ) -> list[PromotionRequest]:
        """Return what follows from a look; pure but for what is remembered of the looks before."""
        alive = {number for number, one in brokers.items() if one.is_alive or not one.is_fenced}
        advices = [self._advice(where, look, alive) for where in look.partitions]
        now = {one.broker_id: one for one in by_broker(advices)}
        before, self._kept.before = self._kept.before, now
        held = {one.broker_id: one for one in state.promotions}
        wishes = [
            wish
            for number, one in now.items()
            if number in self._rules.brokers and _holds_twice(before.get(number), one)
            for wish in self._wish(one, held.get(number), look.at_ms)
        ]
        # One action at a time: what it does is seen before the next one is decided.
        return [] if _is_changing(state) else wishes[:1]

    def _advice(self, where: TopicPartition, look: Look, alive: Collection[int]) -> Advice:
        facts = look.partitions[where]
        model = self._model(where, look)
        policy = self._rules.policy
        tracked = update_history(self._kept.tracked.get(where), model, policy.policy, look.at_ms)
        self._kept.tracked[where] = tracked
        known = PromotionFacts(
            at_ms=look.at_ms,
            racks=look.racks,
            alive=frozenset(alive),
            standbys=self._rules.brokers,
            standings={one: ReplicaStanding(facts.lag(one)) for one in model.observers},
            leader_epoch=facts.known.leader_epoch,
            high_watermark=facts.high_watermark,
            log_end_offset=facts.leader_end,
            promoted_since_ms=tracked.promoted_since_ms,
            recovered_since_ms=tracked.recovered_since_ms,
        )
        return advise(model, known, policy, look.at_ms)

    def _model(self, where: TopicPartition, look: Look) -> PartitionModel:
        known = look.partitions[where].known
        return PartitionModel(
            topic=where.topic,
            partition=where.partition,
            replicas=known.replicas,
            isr=known.isr,
            leader=known.leader,
            observers=tuple(one for one in known.replicas if one in self._rules.brokers),
            elr=known.elr,
            last_known_elr=known.last_known_elr,
            min_insync_replicas=look.min_isr.get(where.topic, 1),
            policy=self._rules.policy.policy,
            is_acted_on=True,
        )

    def _wish(
        self, advice: BrokerAdvice, held: HeldPromotion | None, at_ms: int
    ) -> list[PromotionRequest]:
        if advice.action is AdviceAction.PROMOTE and held is None:
            since = self._kept.demoted_at_ms.get(advice.broker_id)
            if since is not None and 0 <= at_ms - since < self._rules.cooldown_ms:
                return []
            return [PromotionRequest(begin=_promotion(advice, at_ms))]
        is_ours = held is not None and held.asked_by == ASKED_BY and held.phase is Phase.HELD
        if advice.action is AdviceAction.DEMOTE and held is not None and is_ours:
            self._kept.demoted_at_ms[advice.broker_id] = at_ms
            return [PromotionRequest(demote=held.promotion_id, why=advice.why)]
        return []


def _promotion(advice: BrokerAdvice, at_ms: int) -> HeldPromotion:
    return HeldPromotion(
        promotion_id=uuid.uuid4().hex,
        broker_id=advice.broker_id,
        topics=tuple(sorted({one.topic for one in advice.because})),
        asked_by=ASKED_BY,
        why=advice.why,
        begun_at_ms=at_ms,
        changed_at_ms=at_ms,
    )


def _is_changing(state: StoreState) -> bool:
    return any(one.phase is Phase.DEMOTING for one in state.promotions)


def _holds_twice(before: BrokerAdvice | None, now: BrokerAdvice) -> bool:
    """Say whether an advice is the same as at the look before, on the same leaders, and no log was cut."""
    if before is None or before.action is not now.action:
        return False
    earlier = {one.place: one for one in before.because}
    return any(_is_same(earlier.get(one.place), one) for one in now.because)


def _is_same(before: Advice | None, now: Advice) -> bool:
    if before is None or before.evidence.leader_epoch != now.evidence.leader_epoch:
        return False
    marks = before.evidence.high_watermark, now.evidence.high_watermark
    if None in marks:
        return False
    return before.evidence.leader == now.evidence.leader and (marks[0] or 0) <= (marks[1] or 0)


async def _look(cluster: RawCluster, rules: ActingRules, now_ms: Callable[[], int]) -> Look:
    topics = rules.topics
    known = await describe_partitions(cluster, topics)
    brokers = await list_brokers(cluster)
    # The ends of logs matter only where a sync replica is missing, or a standby is in the ISR.
    loud = [
        where for where, one in known.items() if set(one.isr) != set(one.replicas) - rules.brokers
    ]
    facts = {where: PartitionFacts(one) for where, one in known.items()}
    facts |= await read_partitions(cluster, loud)
    min_isr = {}
    for topic in topics:
        found = await read_configs(cluster, Resource(ResourceType.TOPIC, topic), (MIN_ISR,))
        min_isr[topic] = int(found[MIN_ISR].value or 1)
    racks = {number: one.rack for number, one in brokers.items()}
    return Look(now_ms(), facts, min_isr, racks)
