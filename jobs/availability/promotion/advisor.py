"""Which observer to promote or to demote, and why: advice about one partition. Pure, the clock is passed in.

Promotion needs a live member of the ISR: where all sync replicas died at once the partition is leaderless,
and only an unclean election by an operator restores it. Source: Confluent's observer promotion
policies, and what Kafka 4.3.1 does with fenced standby brokers.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from jobs.availability.placements.placement import PromotionPolicy
from jobs.availability.promotion.actors.kinds import ActorKind
from jobs.availability.promotion.advice import (
    Advice,
    AdviceAction,
    AdviceCode,
    Candidate,
    DataAtRisk,
    Evidence,
    PromotionFacts,
    TopicPolicy,
)
from jobs.availability.promotion.candidates import candidates, how_far
from jobs.availability.promotion.demotion import how_to_demote, settled
from jobs.availability.promotion.expected_times import act_span
from jobs.availability.promotion.leaderless import advise_leaderless
from jobs.availability.promotion.required_isr import RequiredIsr, required_isr_of
from jobs.availability.what_if.model.cluster import PartitionModel

_SHORT_CODES = {
    PromotionPolicy.UNDER_MIN_ISR: AdviceCode.UNDER_MIN_ISR,
    PromotionPolicy.UNDER_REPLICATED: AdviceCode.UNDER_REPLICATED,
    PromotionPolicy.LEADER_IS_OBSERVER: AdviceCode.LEADER_IS_OBSERVER,
}


def check_policy(policy: TopicPolicy) -> dict[str, str]:
    """Return what is wrong with a policy: field -> sentence; empty when it can be used."""
    problems = {}
    if (
        policy.actor is ActorKind.RELAX_MIN_ISR
        and policy.policy is not PromotionPolicy.UNDER_MIN_ISR
    ):
        problems["actor"] = (
            "Lowering min.insync.replicas adds no replica, so this method works only with under-min-isr, not "
            f"with {policy.policy}."
        )
    for name in ("hold_ms", "longest_promoted_ms", "most_lag_records", "most_caught_up_age_ms"):
        if getattr(policy, name) < 0:
            problems[name] = "It must not be negative."
    return problems


def advise(
    partition: PartitionModel, facts: PromotionFacts, policy: TopicPolicy, now_ms: int
) -> Advice:
    """Return what to do with the observers of one partition now, and why.

    In this order: without a leader only an unclean election by a person may help; brokers that promote by
    themselves are left to it; a missing in-sync replica asks for an observer; sync replicas that are back for
    `hold_ms` ask for a demotion. Anything that is to be changed needs a quorum.
    """
    need = required_isr_of(partition, policy.policy, facts.relaxed_from)
    start = Advice(
        topic=partition.topic,
        partition=partition.partition,
        action=AdviceAction.NONE,
        code=AdviceCode.IN_SYNC,
        why="",
        evidence=_evidence(partition, facts),
        actor=policy.actor,
        in_isr=need.observers_in_isr,
    )
    found = _advise(start, partition, facts, policy, need, now_ms)
    changes = found.action in {AdviceAction.PROMOTE, AdviceAction.DEMOTE}
    if changes and facts.has_quorum is False:
        return _no_quorum(found)
    return found


def _advise(
    start: Advice,
    partition: PartitionModel,
    facts: PromotionFacts,
    policy: TopicPolicy,
    need: RequiredIsr,
    now_ms: int,
) -> Advice:
    if partition.leader is None:
        return advise_leaderless(start, partition, facts, policy)
    if facts.promotes_itself:
        return replace(
            start,
            code=AdviceCode.PROMOTES_ITSELF,
            actor=None,
            why="The brokers promote and demote observers; crosslog monitors them.",
        )
    if need.short:
        return _short(start, partition, facts, policy, need)
    return settled(start, partition, facts, policy, need, now_ms)


def _evidence(partition: PartitionModel, facts: PromotionFacts) -> Evidence:
    return Evidence(
        at_ms=facts.at_ms,
        leader=partition.leader,
        leader_epoch=facts.leader_epoch,
        partition_epoch=facts.partition_epoch,
        high_watermark=facts.high_watermark,
        log_end_offset=facts.log_end_offset,
        isr=partition.isr,
    )


def _short(
    start: Advice,
    partition: PartitionModel,
    facts: PromotionFacts,
    policy: TopicPolicy,
    need: RequiredIsr,
) -> Advice:
    """The ISR is too small: which observer to promote, or why none can be."""
    have = len(partition.isr)
    missing = f"The ISR has {have} of the {need.threshold} members that {policy.policy} requires"
    start = replace(start, code=_SHORT_CODES[policy.policy], still_missing=need.short)
    if policy.actor is ActorKind.RELAX_MIN_ISR:
        return _relax(start, partition, policy, missing)
    ranked = candidates(partition, facts, policy)
    able = [one for one in ranked if not one.why_not]
    if not able:
        return _blocked(start, ranked, policy, facts, missing)
    best = able[0]
    span = act_span(policy.actor, facts.partition_bytes, facts.bytes_per_s)
    evidence = replace(start.evidence, observer_lag_records=best.standing.lag_records)
    return replace(
        start,
        action=AdviceAction.PROMOTE,
        observer=best.broker_id,
        evidence=evidence,
        why=f"{missing}. Broker {best.broker_id} is the best candidate: {best.why}.",
        todo=f"Promote broker {best.broker_id}.",
        expected_ms=None if span is None else span.most_ms,
        data_at_risk=DataAtRisk(
            0,
            f"No acknowledged record is at risk: broker {best.broker_id} joins the ISR only when it has all "
            "of them.",
        ),
        how_to_demote=how_to_demote(policy.actor, best.broker_id, partition),
        still_missing=need.short - 1,
        candidates=ranked,
    )


def _relax(start: Advice, partition: PartitionModel, policy: TopicPolicy, missing: str) -> Advice:
    """Lower min.insync.replicas to the size of the ISR; nothing is copied, acks need fewer replicas."""
    if policy.policy is not PromotionPolicy.UNDER_MIN_ISR:
        return replace(
            start,
            action=AdviceAction.BLOCKED,
            code=AdviceCode.WRONG_POLICY,
            why=f"{missing}. {check_policy(policy)['actor']}",
            todo="Choose another method for this topic, or the trigger under-min-isr.",
        )
    have = len(partition.isr)
    copies = "one replica" if have == 1 else f"{have} replicas"
    span = act_span(policy.actor)
    return replace(
        start,
        action=AdviceAction.PROMOTE,
        why=f"{missing}. With min.insync.replicas {have} it accepts writes.",
        todo=f"Set min.insync.replicas of {partition.topic} to {have}, then end the stall of pending "
        "writes with one record from a second connection.",
        expected_ms=None if span is None else span.most_ms,
        data_at_risk=DataAtRisk(
            None,
            f"Records acknowledged while it is lowered are on {copies} only: losing "
            f"{'it' if have == 1 else 'them'} loses those records. Earlier records are not at risk.",
        ),
        how_to_demote=how_to_demote(policy.actor, None, partition),
        still_missing=0,
    )


def _blocked(
    start: Advice,
    ranked: Sequence[Candidate],
    policy: TopicPolicy,
    facts: PromotionFacts,
    missing: str,
) -> Advice:
    """Return why no observer can be promoted: there is none, none is alive, none has caught up."""
    start = replace(start, action=AdviceAction.BLOCKED, candidates=tuple(ranked))
    if not ranked:
        what = "spare broker" if policy.actor is ActorKind.REASSIGN_TO_SPARE else "further observer"
        return replace(
            start,
            code=AdviceCode.NO_OBSERVERS,
            why=f"{missing}, and there is no {what}.",
            todo="Restore the sync replicas, or choose another method for this topic.",
        )
    alive = [one for one in ranked if one.broker_id in facts.alive]
    if not alive:
        which = ", ".join(str(one.broker_id) for one in ranked)
        return replace(
            start,
            code=AdviceCode.NO_OBSERVER_ALIVE,
            why=f"{missing}, and of its observers ({which}) none is alive.",
            todo=f"Start broker {ranked[0].broker_id}, or restore the sync replicas.",
        )
    best = alive[0]
    if policy.actor is ActorKind.FENCED_STANDBY and best.broker_id not in facts.standbys:
        return replace(
            start,
            code=AdviceCode.NO_STANDBY,
            observer=best.broker_id,
            why=f"{missing}, and no observer can be promoted. {best.why_not}",
            todo="Choose another method for this topic, or set up the observer's broker as a fenced standby.",
        )
    is_known = best.standing.lag_records is not None or best.standing.caught_up_ago_ms is not None
    behind, speed = best.standing.lag_bytes, facts.bytes_per_s
    return replace(
        start,
        code=AdviceCode.OBSERVER_NOT_CAUGHT_UP if is_known else AdviceCode.LAG_UNKNOWN,
        observer=best.broker_id,
        why=f"{missing}, and no observer has caught up. {best.why_not}",
        todo=f"Wait until broker {best.broker_id} has caught up ({how_far(best.standing)}), or restore "
        "the sync replicas.",
        expected_ms=behind / speed * 1000 if behind is not None and speed else None,
    )


def _no_quorum(wanted: Advice) -> Advice:
    """Without a majority of voters nothing can be committed: no ISR change, no election, no promotion."""
    return replace(
        wanted,
        action=AdviceAction.BLOCKED,
        code=AdviceCode.NO_QUORUM,
        why=f"{wanted.why} But the KRaft quorum has no majority: no ISR change, no promotion, no demotion, "
        "no election.",
        todo="Restore a majority of the voters first.",
        expected_ms=None,
        is_automatic_allowed=False,
    )


_SHOWN = 3


@dataclass(frozen=True, slots=True)
class BrokerAdvice:
    """Advice about one whole broker: a fenced standby is promoted or demoted for all its partitions at once.

    `because` are the partitions that need it. `held_by` are those that still need it in the ISR.
    """

    broker_id: int
    action: AdviceAction
    why: str
    because: tuple[Advice, ...]
    held_by: tuple[Advice, ...] = ()


def by_broker(advices: Iterable[Advice]) -> tuple[BrokerAdvice, ...]:
    """Return what the advice about all partitions means for each fenced standby broker, by id.

    One partition is enough to promote. A broker is demoted only when no partition needs it any more; while
    one does, its action is none.
    """
    asked: dict[int, dict[AdviceAction, list[Advice]]] = {}
    holding: dict[int, list[Advice]] = {}
    for one in advices:
        if one.actor is not ActorKind.FENCED_STANDBY:
            continue
        if one.observer is not None and one.action in {AdviceAction.PROMOTE, AdviceAction.DEMOTE}:
            asked.setdefault(one.observer, {}).setdefault(one.action, []).append(one)
        if one.action is not AdviceAction.DEMOTE:
            for broker in one.in_isr:
                holding.setdefault(broker, []).append(one)
    return tuple(
        _one(broker, asked[broker], tuple(holding.get(broker, ()))) for broker in sorted(asked)
    )


def _one(
    broker: int, asked: dict[AdviceAction, list[Advice]], holding: tuple[Advice, ...]
) -> BrokerAdvice:
    promote = tuple(asked.get(AdviceAction.PROMOTE, ()))
    if promote:
        why = f"{_places(promote)} {_verb(promote, 'needs', 'need')} broker {broker} in the ISR."
        return BrokerAdvice(broker, AdviceAction.PROMOTE, why, promote, holding)
    demote = tuple(asked[AdviceAction.DEMOTE])
    if holding:
        why = f"{_places(holding)} still {_verb(holding, 'needs', 'need')} broker {broker} in the ISR."
        return BrokerAdvice(broker, AdviceAction.NONE, why, demote, holding)
    why = f"No partition needs broker {broker} in the ISR ({_places(demote)})."
    return BrokerAdvice(broker, AdviceAction.DEMOTE, why, demote)


def _places(advices: tuple[Advice, ...]) -> str:
    shown = ", ".join(one.place for one in advices[:_SHOWN])
    more = len(advices) - _SHOWN
    return f"{shown} and {more} more" if more > 0 else shown


def _verb(advices: tuple[Advice, ...], one: str, many: str) -> str:
    return one if len(advices) == 1 else many
