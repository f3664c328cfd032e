"""Findings about observers and leaders: what a round found, and when it ends."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from console.availability.advice.evaluation import Evaluation
from console.availability.promotion.models import ActionState, PromotionAction, PromotionPolicy
from console.availability.promotion.policies import PolicyLookup
from jobs.availability.promotion import checks
from jobs.availability.promotion.advice import Advice, AdviceAction, AdviceCode
from jobs.availability.promotion.observer_findings import ObserverFinding, ObserverFindingCode
from jobs.availability.runbooks.runbook import Trouble, TroubleCause
from jobs.availability.status.severity import Severity as PartitionSeverity
from jobs.availability.status.severity import partition_severity
from jobs.availability.what_if.model.cluster import PartitionModel
from jobs.checks.check import check
from jobs.findings import Finding, Life
from jobs.severity import Severity

LIFE = Life("observers", end_after=timedelta(seconds=20))
_OF_ADVICE = {
    AdviceCode.UNDER_MIN_ISR: Severity.CRITICAL,
    AdviceCode.UNDER_REPLICATED: Severity.WARNING,
    AdviceCode.LEADER_IS_OBSERVER: Severity.WARNING,
}
_OF_WATCHING = {
    ObserverFindingCode.LEADS: Severity.WARNING,
    ObserverFindingCode.NOT_ALIVE: Severity.WARNING,
    ObserverFindingCode.NOT_PROMOTED: Severity.CRITICAL,
    ObserverFindingCode.NOT_NEEDED: Severity.INFO,
}


@dataclass(frozen=True, slots=True)
class LoopFacts:
    """What is known of the loops of a cluster: those that live, and the brokers that are held."""

    living: tuple[str, ...]
    held: tuple[int, ...]
    is_stopped: bool


def found_in(
    judged: Evaluation,
    actions: Iterable[PromotionAction],
    loops: LoopFacts,
    policies: Iterable[PromotionPolicy] = (),
) -> Iterator[Finding]:
    """Return everything that a person should know."""
    yield from _of_policies(PolicyLookup(policies))
    acting = {row.subject for row in actions if not row.is_waiting}
    for advice in judged.advices:
        partition = judged.partitions[advice.topic, advice.partition]
        found = _of_advice(advice, partition, acting)
        if found is not None:
            yield found
    for watched in judged.findings:
        yield _of_watched(watched, judged.partitions[watched.topic, watched.partition])
    yield from _of_actions(actions)
    yield from _of_loops(loops, is_wanted=bool(judged.brokers))


def trouble_of(partition: PartitionModel) -> str:
    """Return the severity of a partition in the words of runbooks; empty when healthy."""
    out = {*partition.observers, *(partition.adding or ())}
    sync = [b for b in partition.replicas if b not in out]
    least = partition.min_insync_replicas
    if partition.leader is not None and least is not None and len(partition.replicas) < least:
        return Trouble.RF_BELOW_MIN_ISR.value
    severity = partition_severity(
        leader=partition.leader,
        replicas=max(len(sync), 1),
        isr=len(partition.isr),
        min_insync_replicas=least,
    )
    # Whether replicas out of the ISR are missing or being added may not be known.
    unsure = PartitionSeverity.OK if partition.adding is not None else PartitionSeverity.AT_MIN_ISR
    return severity.word if severity > unsure else ""


@check(*checks.PROMOTIONS)
def _of_advice(advice: Advice, partition: PartitionModel, acting: set[str]) -> Finding | None:
    if advice.action not in {AdviceAction.PROMOTE, AdviceAction.BLOCKED}:
        return None
    is_blocked = advice.action is AdviceAction.BLOCKED
    if not is_blocked and ({f"broker {advice.observer}", advice.place} & acting):
        return None  # in progress
    severity = Severity.CRITICAL if is_blocked else _OF_ADVICE.get(advice.code, Severity.WARNING)
    return Finding(
        code="promotion_blocked" if is_blocked else "promotion_wanted",
        severity=severity,
        subject=advice.place,
        sentence=advice.why,
        todo=advice.todo,
        topic=advice.topic,
        partition=advice.partition,
        brokers=tuple(b for b in partition.replicas if b not in {*partition.isr, *partition.added}),
        trouble=trouble_of(partition),
        cause=TroubleCause.UNKNOWN.value,
        evidence={"code": advice.code.value, "isr": list(partition.isr)},
    )


@check(*checks.OBSERVERS)
def _of_watched(found: ObserverFinding, partition: PartitionModel) -> Finding:
    is_long = found.code is ObserverFindingCode.PROMOTED_TOO_LONG
    cause = TroubleCause.STANDBY_PROMOTED_TOO_LONG if is_long else TroubleCause.LAGGING_FOLLOWER
    return Finding(
        code=checks.code_of(found.code),
        severity=_OF_WATCHING.get(found.code, Severity.WARNING),
        subject=f"{found.topic}-{found.partition} broker {found.broker_id}",
        sentence=found.sentence,
        todo=found.todo,
        topic=found.topic,
        partition=found.partition,
        brokers=(found.broker_id,),
        trouble=trouble_of(partition) or Trouble.UNDER_REPLICATED.value,
        cause=cause.value,
        evidence={"broker": found.broker_id},
    )


@check(*checks.POLICIES)
def _of_policies(lookup: PolicyLookup) -> Iterator[Finding]:
    if lookup.unusable is not None:
        pattern = lookup.unusable.pattern
        yield Finding(
            "promotion_policy_unusable",
            Severity.CRITICAL,
            f"The pattern {pattern} of a promotion policy cannot be evaluated, so policies of lower "
            f"precedence do not apply: {lookup.problem}",
            "Correct its pattern, or remove the policy, on the page Promotion.",
            f"policy {pattern}",
        )


@check(*checks.ACTIONS)
def _of_actions(actions: Iterable[PromotionAction]) -> Iterator[Finding]:
    for row in actions:
        if row.is_waiting and row.refusals and row.policy and row.policy.acts:
            yield Finding(
                "promotion_refused",
                Severity.CRITICAL,
                f"Automatic promotion is blocked: {_sentence(row.refusals[0])}",
                _todo(row.refusals),
                row.subject,
                row.topic,
                row.partition,
                brokers=(row.broker,) if row.broker is not None else (),
            )
        if row.state == ActionState.FAILED:
            yield Finding(
                "promotion_failed",
                Severity.CRITICAL,
                str(row.outcome.get("sentence") or "The promotion failed."),
                "Open the action. Revert it if it changed something.",
                row.subject,
                row.topic,
                row.partition,
            )


@check(*checks.LOOPS)
def _of_loops(loops: LoopFacts, *, is_wanted: bool) -> Iterator[Finding]:
    names = ", ".join(map(str, loops.held))
    if loops.held and not loops.living:
        yield Finding(
            "no_standby_heartbeats",
            Severity.CRITICAL,
            f"No standby loop is running: broker {names} drops out of every ISR within seconds.",
            "Start `manage.py promote`, on two different machines.",
            "loops",
            brokers=loops.held,
        )
    elif loops.held and len(loops.living) == 1:
        yield Finding(
            "one_loop_only",
            Severity.WARNING,
            f"Only one standby loop keeps broker {names} in the ISR: if it crashes, the broker drops out.",
            "Start a second `manage.py promote`, on another machine.",
            "loops",
            brokers=loops.held,
        )
    if loops.is_stopped and is_wanted:
        yield Finding(
            "stop_switch_on",
            Severity.WARNING,
            "A promotion is advised, and the stop switch is on: no promotion starts.",
            "Find out why it was turned on, then turn it off on the page Promotion.",
            "stop switch",
        )


def _sentence(refusal: Any) -> str:
    return str(refusal.get("sentence", "")) if isinstance(refusal, dict) else str(refusal)


def _todo(refusals: Sequence[Any]) -> str:
    return str(refusals[0].get("todo", "")) if isinstance(refusals[0], dict) else ""
