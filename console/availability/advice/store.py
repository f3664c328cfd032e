"""Advice as rows: current advice is created or confirmed, outdated advice expires.

Only advice that waits is touched here. What a person or a policy asked for belongs to `acting.work`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import IntegrityError, transaction

from console.availability.acting.models import HeldPromotion, StandbyEvent
from console.availability.advice.evaluation import Evaluation
from console.availability.advice.models import ObserverEvent
from console.availability.promotion.models import (
    LIVE,
    WAITING,
    ActionState,
    PromotionAction,
    PromotionPolicy,
)
from console.clusters.models import Cluster
from jobs.availability.promotion.actors.kinds import ActorKind
from jobs.availability.promotion.advice import Advice, AdviceAction
from jobs.availability.promotion.observer_findings import ObserverEvent as Event
from jobs.availability.promotion.preconditions import keys_after, target_of

MOST_BECAUSE = 100


@dataclass(frozen=True, slots=True)
class WantedAction:
    """One action that advice asks for: the first advice that does, and all places that do."""

    subject: str
    advice: Advice
    places: tuple[str, ...]
    policy: PromotionPolicy | None


def wanted_actions(judged: Evaluation) -> list[WantedAction]:
    """Return what is to be promoted; a fenced standby broker once for all its partitions."""
    found = [
        _wanted(_leading(broker.because, judged), broker.because, judged)
        for broker in judged.brokers
        if broker.action is AdviceAction.PROMOTE
    ]
    for advice in judged.advices:
        is_broker = advice.actor is ActorKind.FENCED_STANDBY and advice.observer is not None
        if advice.action is AdviceAction.PROMOTE and not is_broker:
            found.append(_wanted(advice, (advice,), judged))
    return found


def unwanted_subjects(judged: Evaluation) -> dict[str, Advice]:
    """Return the actions to revert, by subject, with their advice."""
    found = {}
    for broker in judged.brokers:
        if broker.action is AdviceAction.DEMOTE:
            found[target_of(broker.because[0])] = broker.because[0]
    for advice in judged.advices:
        if advice.action is AdviceAction.DEMOTE and advice.actor is not ActorKind.FENCED_STANDBY:
            found[target_of(advice)] = advice
    return found


def save_advice(
    cluster: Cluster, wanted: Iterable[WantedAction], now: datetime
) -> list[PromotionAction]:
    """Open, confirm and lapse advice; return the live actions of what is wanted."""
    by_subject = {one.subject: one for one in wanted}
    live = {
        row.subject: row for row in PromotionAction.objects.filter(cluster=cluster, state__in=LIVE)
    }
    for subject, row in live.items():
        if row.is_waiting and subject not in by_subject:
            _lapse(row, now)
    for subject, one in by_subject.items():
        if subject not in live:
            _open(cluster, one, now)
        elif live[subject].is_waiting:
            _confirm(live[subject], one, now)
    rows = PromotionAction.objects.filter(
        cluster=cluster, state__in=LIVE, subject__in=by_subject
    ).select_related("cluster", "policy")
    return list(rows)


def save_events(cluster: Cluster, events: Iterable[Event]) -> None:
    """Write what happened to observers."""
    rows = [
        ObserverEvent(
            cluster=cluster,
            at=datetime.fromtimestamp(one.at_ms / 1000, UTC),
            kind=one.kind.value,
            topic=one.topic,
            partition=one.partition,
            broker=one.broker_id,
            lasted_ms=one.lasted_ms,
            sentence=one.sentence,
        )
        for one in events
    ]
    ObserverEvent.objects.bulk_create(rows, batch_size=500)


def advice_values(advice: Advice) -> dict[str, Any]:
    """Return the columns of an action that tell its advice."""
    told = advice.to_mapping()
    return {
        "topic": advice.topic,
        "partition": advice.partition,
        "broker": advice.observer,
        "code": advice.code.value,
        "why": advice.why,
        "todo": advice.todo,
        "data_at_risk": advice.data_at_risk.sentence,
        "how_to_demote": advice.how_to_demote,
        "warnings": list(advice.warnings),
        "candidates": told["candidates"],
        "expected_ms": None if advice.expected_ms is None else round(advice.expected_ms),
        "evidence": asdict(advice.evidence) | {"isr": list(advice.evidence.isr)},
        "keys": list(keys_after(advice)),
    }


def _leading(because: tuple[Advice, ...], judged: Evaluation) -> Advice:
    """Return the advice that decides: one whose policy acts comes first."""

    def rank(advice: Advice) -> bool:
        policy = judged.policies.get((advice.topic, advice.partition))
        return not (policy is not None and policy.acts)

    return min(because, key=rank)


def _wanted(advice: Advice, because: tuple[Advice, ...], judged: Evaluation) -> WantedAction:
    policy = judged.policies.get((advice.topic, advice.partition))
    return WantedAction(target_of(advice), advice, tuple(one.place for one in because), policy)


def _values(one: WantedAction) -> dict[str, Any]:
    told: Mapping[str, Any] = advice_values(one.advice)
    policy = one.policy
    return {
        **told,
        "policy": policy,
        "trigger": policy.policy if policy else "",
        "actor": one.advice.actor.value if one.advice.actor else "",
        "because": list(one.places[:MOST_BECAUSE]),
        "because_count": len(one.places),
    }


def _open(cluster: Cluster, one: WantedAction, now: datetime) -> None:
    row = PromotionAction(
        cluster=cluster, subject=one.subject, advised_at=now, seen_at=now, **_values(one)
    )
    try:
        with transaction.atomic():
            row.save(force_insert=True)
    except IntegrityError:
        return  # another round was faster


def _confirm(row: PromotionAction, one: WantedAction, now: datetime) -> None:
    waiting = PromotionAction.objects.filter(pk=row.pk, state__in=WAITING)
    values = _values(one)
    if row.actor != values["actor"]:
        # A dry run of another actor says nothing of this one.
        values |= {"state": ActionState.ADVISED, "plan": {}, "planned_at": None}
    waiting.update(seen_at=now, **values)


def _lapse(row: PromotionAction, now: datetime) -> None:
    PromotionAction.objects.filter(pk=row.pk, state__in=WAITING).update(
        state=ActionState.LAPSED, ended_at=now
    )


def prune(now: datetime) -> int:
    """Remove events that are older than FINDINGS_RETENTION_D days; return how many rows.

    Actions and drills stay: they say what was done to a cluster.
    """
    limit = now - timedelta(days=settings.FINDINGS_RETENTION_D)
    limit_ms = int(limit.timestamp() * 1000)
    gone = ObserverEvent.objects.filter(at__lt=limit).delete()[0]
    gone += StandbyEvent.objects.filter(at_ms__lt=limit_ms).delete()[0]
    return gone + HeldPromotion.objects.filter(ended_at_ms__lt=limit_ms).delete()[0]
