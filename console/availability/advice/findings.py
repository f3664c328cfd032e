"""Findings about observers and leaders: opened, confirmed and ended by rounds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import transaction

from console.availability.acting.models import HeldPromotion, StandbyEvent
from console.availability.advice.evaluation import Evaluation
from console.availability.advice.models import ObserverEvent, PromotionFinding
from console.availability.promotion.models import ActionState, PromotionAction, PromotionPolicy
from console.availability.promotion.policies import PolicyLookup
from console.clusters.models import Cluster
from jobs.availability.promotion.advice import Advice, AdviceAction, AdviceCode
from jobs.availability.promotion.observer_findings import ObserverFinding, ObserverFindingCode
from jobs.availability.runbooks.runbook import Trouble, TroubleCause
from jobs.availability.status.severity import Severity as PartitionSeverity
from jobs.availability.status.severity import partition_severity
from jobs.availability.what_if.model.cluster import PartitionModel
from jobs.severity import Severity

# What is not seen for so long is over.
CLOSE_AFTER = timedelta(seconds=20)
MOST_OPEN = 200
_FIELDS = (
    "severity",
    "rank",
    "topic",
    "partition",
    "brokers",
    "trouble",
    "cause",
    "sentence",
    "todo",
    "evidence",
    "last_seen_at",
)
_OF_ADVICE = {
    AdviceCode.UNDER_MIN_ISR: "critical",
    AdviceCode.UNDER_REPLICATED: "warning",
    AdviceCode.LEADER_IS_OBSERVER: "warning",
}
_OF_WATCHING = {
    ObserverFindingCode.LEADS: "warning",
    ObserverFindingCode.NOT_ALIVE: "warning",
    ObserverFindingCode.NOT_PROMOTED: "critical",
    ObserverFindingCode.NOT_NEEDED: "info",
}


@dataclass(frozen=True, slots=True)
class Found:
    """Something that a round saw; `subject` makes it the same in the next one."""

    code: str
    severity: str
    subject: str
    sentence: str
    todo: str = ""
    topic: str = ""
    partition: int | None = None
    brokers: tuple[int, ...] = ()
    trouble: str = ""
    cause: str = ""
    evidence: dict[str, Any] = field(default_factory=dict)

    @property
    def key(self) -> tuple[str, str]:
        """What makes it the same finding in the next round."""
        return self.code, self.subject


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
) -> Iterator[Found]:
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


def save_findings(cluster: Cluster, found: Iterable[Found], now: datetime) -> None:
    """Open, confirm and end findings; a constant number of statements."""
    rows = {
        (row.code, row.subject): row
        for row in PromotionFinding.objects.filter(cluster=cluster, closed_at=None)
    }

    def place(one: Found) -> tuple[bool, int]:
        """Order critical and open findings first, so that the limit does not end them."""
        severity = Severity(one.severity)
        return severity is not Severity.CRITICAL and one.key not in rows, -severity.rank

    worst = sorted(found, key=place)[:MOST_OPEN]
    seen = {one.key: one for one in reversed(worst)}
    opened = [
        _confirmed(
            PromotionFinding(
                cluster=cluster, code=one.code, subject=one.subject[:300], opened_at=now
            ),
            one,
            now,
        )
        for key, one in seen.items()
        if key not in rows
    ]
    kept = [_confirmed(row, seen[key], now) for key, row in rows.items() if key in seen]
    over = [row for key, row in rows.items() if _is_over(row, key in seen, now)]
    for row in over:
        row.closed_at = row.last_seen_at
    with transaction.atomic():
        PromotionFinding.objects.bulk_create(opened, ignore_conflicts=True)
        PromotionFinding.objects.bulk_update(kept, _FIELDS, batch_size=200)
        PromotionFinding.objects.bulk_update(over, ["closed_at"], batch_size=200)


def prune(now: datetime) -> int:
    """Remove findings that ended, and events, more than FINDINGS_RETENTION_D days ago; return how many rows.

    Actions and drills stay: they say what was done to a cluster.
    """
    limit = now - timedelta(days=settings.FINDINGS_RETENTION_D)
    limit_ms = int(limit.timestamp() * 1000)
    gone = PromotionFinding.objects.filter(closed_at__lt=limit).delete()[0]
    gone += ObserverEvent.objects.filter(at__lt=limit).delete()[0]
    gone += StandbyEvent.objects.filter(at_ms__lt=limit_ms).delete()[0]
    return gone + HeldPromotion.objects.filter(ended_at_ms__lt=limit_ms).delete()[0]


def _is_over(row: PromotionFinding, is_seen: bool, now: datetime) -> bool:  # noqa: FBT001  a fact, no switch
    return not is_seen and now - row.last_seen_at >= CLOSE_AFTER


def _of_advice(advice: Advice, partition: PartitionModel, acting: set[str]) -> Found | None:
    if advice.action not in {AdviceAction.PROMOTE, AdviceAction.BLOCKED}:
        return None
    is_blocked = advice.action is AdviceAction.BLOCKED
    if not is_blocked and ({f"broker {advice.observer}", advice.place} & acting):
        return None  # in progress
    severity = "critical" if is_blocked else _OF_ADVICE.get(advice.code, "warning")
    return Found(
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


def _of_watched(found: ObserverFinding, partition: PartitionModel) -> Found:
    is_long = found.code is ObserverFindingCode.PROMOTED_TOO_LONG
    cause = TroubleCause.STANDBY_PROMOTED_TOO_LONG if is_long else TroubleCause.LAGGING_FOLLOWER
    return Found(
        code=f"observer_{found.code.value}",
        severity=_OF_WATCHING.get(found.code, "warning"),
        subject=f"{found.topic}-{found.partition} broker {found.broker_id}",
        sentence=found.sentence,
        todo=found.todo,
        topic=found.topic,
        partition=found.partition,
        brokers=(found.broker_id,),
        trouble=trouble_of(partition) or Trouble.UNDER_REPLICATED.value,
        cause=cause.value,
    )


def _of_policies(lookup: PolicyLookup) -> Iterator[Found]:
    if lookup.unusable is not None:
        pattern = lookup.unusable.pattern
        yield Found(
            "promotion_policy_unusable",
            "critical",
            f"policy {pattern}",
            f"The pattern {pattern} of a promotion policy cannot be evaluated, so policies of lower "
            f"precedence do not apply: {lookup.problem}",
            "Correct its pattern, or remove the policy, on the page Promotion.",
        )


def _of_actions(actions: Iterable[PromotionAction]) -> Iterator[Found]:
    for row in actions:
        if row.is_waiting and row.refusals and row.policy and row.policy.acts:
            yield Found(
                "promotion_refused",
                "critical",
                row.subject,
                f"Automatic promotion is blocked: {_sentence(row.refusals[0])}",
                _todo(row.refusals),
                row.topic,
                row.partition,
                (row.broker,) if row.broker is not None else (),
            )
        if row.state == ActionState.FAILED:
            yield Found(
                "promotion_failed",
                "critical",
                row.subject,
                str(row.outcome.get("sentence") or "The promotion failed."),
                "Open the action. Revert it if it changed something.",
                row.topic,
                row.partition,
            )


def _of_loops(loops: LoopFacts, *, is_wanted: bool) -> Iterator[Found]:
    names = ", ".join(map(str, loops.held))
    if loops.held and not loops.living:
        yield Found(
            "no_standby_heartbeats",
            "critical",
            "loops",
            f"No standby loop is running: broker {names} drops out of every ISR within seconds.",
            "Start `manage.py promote`, on two different machines.",
            brokers=loops.held,
        )
    elif loops.held and len(loops.living) == 1:
        yield Found(
            "one_loop_only",
            "warning",
            "loops",
            f"Only one standby loop keeps broker {names} in the ISR: if it crashes, the broker drops out.",
            "Start a second `manage.py promote`, on another machine.",
            brokers=loops.held,
        )
    if loops.is_stopped and is_wanted:
        yield Found(
            "stop_switch_on",
            "warning",
            "stop switch",
            "A promotion is advised, and the stop switch is on: no promotion starts.",
            "Find out why it was turned on, then turn it off on the page Promotion.",
        )


def _sentence(refusal: Any) -> str:
    return str(refusal.get("sentence", "")) if isinstance(refusal, dict) else str(refusal)


def _todo(refusals: Sequence[Any]) -> str:
    return str(refusals[0].get("todo", "")) if isinstance(refusals[0], dict) else ""


def _confirmed(row: PromotionFinding, one: Found, now: datetime) -> PromotionFinding:
    row.severity, row.rank = one.severity, Severity(one.severity).rank
    row.topic, row.partition, row.brokers = one.topic, one.partition, list(one.brokers)
    row.trouble, row.cause = one.trouble, one.cause
    row.sentence, row.todo, row.evidence = one.sentence, one.todo, one.evidence
    row.last_seen_at = now
    return row
