"""When and how an observer leaves the ISR: the automatic revert rule. Pure.

Observers are demoted one at a time, the leader last, when the sync replicas alone meet the policy for the
hold time.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from jobs.availability.promotion.actors.kinds import ActorKind
from jobs.availability.promotion.advice import (
    Advice,
    AdviceAction,
    AdviceCode,
    DataAtRisk,
    PromotionFacts,
    TopicPolicy,
)
from jobs.availability.promotion.expected_times import REVERT, seconds
from jobs.availability.promotion.required_isr import RequiredIsr
from jobs.availability.what_if.model.cluster import PartitionModel


def settled(
    start: Advice,
    partition: PartitionModel,
    facts: PromotionFacts,
    policy: TopicPolicy,
    need: RequiredIsr,
    now_ms: int,
) -> Advice:
    """Return the advice for an ISR that is large enough: nothing, wait, or revert a promotion."""
    is_relaxed = facts.relaxed_from is not None
    if not need.observers_in_isr and not is_relaxed:
        return replace(
            start,
            why=f"The ISR has {len(partition.isr)} of {len(partition.replicas)} replicas, and "
            f"{policy.policy} requires no more.",
        )
    start = replace(start, warnings=tuple(_warnings(need, facts, policy, now_ms)))
    if not need.is_recovered:
        return _still_needed(start, need, policy)
    since = facts.recovered_since_ms
    waited = 0 if since is None else max(0, now_ms - since)
    if since is None or waited < policy.hold_ms:
        return replace(
            start,
            code=AdviceCode.WAITS_FOR_HOLD,
            why=f"The sync replicas are in the ISR for {seconds(waited)}; the promotion is reverted after "
            f"{seconds(policy.hold_ms)}.",
        )
    return _demote(start, partition, facts, policy, waited)


def _still_needed(start: Advice, need: RequiredIsr, policy: TopicPolicy) -> Advice:
    which = ", ".join(map(str, need.observers_in_isr))
    have = len(need.sync_in_isr)
    back = f"{have} sync replica{'s' * (have != 1)} in the ISR"
    observers = f"Observer {which} is in the ISR and still needed: " if which else ""
    return replace(
        start,
        code=AdviceCode.STILL_NEEDED,
        why=f"{observers}{back}, {policy.policy} requires {need.wanted_back}.",
    )


def _warnings(
    need: RequiredIsr, facts: PromotionFacts, policy: TopicPolicy, now_ms: int
) -> Iterator[str]:
    for broker in need.observers_in_isr:
        since = facts.promoted_since_ms.get(broker)
        if since is not None and now_ms - since > policy.longest_promoted_ms:
            yield (
                f"Observer {broker} is in the ISR for {seconds(now_ms - since)}, longer than the "
                f"allowed {seconds(policy.longest_promoted_ms)}: every write waits for it."
            )


def _demote(
    start: Advice,
    partition: PartitionModel,
    facts: PromotionFacts,
    policy: TopicPolicy,
    waited: int,
) -> Advice:
    observer = _whom(partition, facts, start.in_isr)
    span = REVERT.get(policy.actor)
    warnings = list(start.warnings)
    if observer is not None and observer == partition.leader:
        warnings.append(
            f"Observer {observer} is the leader: its demotion moves the leadership. Run a preferred election "
            "first to avoid an abrupt change."
        )
    what = (
        f"restore min.insync.replicas to {facts.relaxed_from}"
        if observer is None
        else f"demote broker {observer}"
    )
    return replace(
        start,
        action=AdviceAction.DEMOTE,
        code=AdviceCode.RECOVERED,
        observer=observer,
        why=f"The sync replicas are in the ISR for {seconds(waited)} and meet {policy.policy} alone.",
        todo=f"{what[0].upper()}{what[1:]}.",
        expected_ms=None if span is None else span.most_ms,
        data_at_risk=DataAtRisk(
            0, "No record is at risk: the sync replicas have every acknowledged record."
        ),
        how_to_demote=how_to_demote(policy.actor, observer, partition, facts.relaxed_from),
        warnings=tuple(warnings),
        # Kafka knows no way to push a replica out of the ISR that is level; only a reassignment does.
        is_automatic_allowed=policy.actor is not ActorKind.HELD_BACK_REPLICA,
    )


def _whom(partition: PartitionModel, facts: PromotionFacts, in_isr: tuple[int, ...]) -> int | None:
    """Return the observer to demote first: not the leader, then the one that is in the ISR the longest."""
    since = facts.promoted_since_ms
    order = sorted(in_isr, key=lambda one: (one == partition.leader, since.get(one, 0), one))
    return order[0] if order else None


def how_to_demote(
    actor: ActorKind,
    observer: int | None,
    partition: PartitionModel,
    relaxed_from: int | None = None,
) -> str:
    """Return how a promotion by this method is reverted, as a sentence."""
    if actor is ActorKind.FENCED_STANDBY:
        return (
            f"Fence broker {observer} again (heartbeat with wantFence=true: out of the ISR within 0.04 s, "
            "no copy), or stop the heartbeats (out after 9.6 s)."
        )
    if actor is ActorKind.HELD_BACK_REPLICA:
        return (
            f"Kafka cannot remove broker {observer} from the ISR: reassign the partition without it and "
            "back, which copies all records, or keep it in the ISR."
        )
    if actor is ActorKind.REASSIGN_TO_SPARE:
        return f"Reassign the partition without broker {observer}; its copy is deleted."
    back = partition.min_insync_replicas if relaxed_from is None else relaxed_from
    return f"Restore min.insync.replicas of {partition.topic} to {back}."
