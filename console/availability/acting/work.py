"""Carries out promotions that users confirmed or policies require: check, act, verify, revert.

Every step begins with a conditional UPDATE, so that one of two processes does it. A process that crashes
leaves a claim that expires; the next one checks for the effect, and never acts a second time.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict
from datetime import datetime, timedelta
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import QuerySet

from console.accounts.asked_rights import for_trail, why_ended
from console.accounts.audit import audit
from console.accounts.models import Outcome as AuditOutcome
from console.accounts.models import User
from console.availability.acting.door import ActingDoor, undo_of
from console.availability.acting.partition_epochs import with_partition_epochs
from console.availability.acting.store import is_stopped
from console.availability.advice.round import Advised
from console.availability.promotion import queries
from console.availability.promotion.audit import subject_of
from console.availability.promotion.models import (
    BUSY,
    WAITING,
    ActionState,
    Actor,
    PromotionAction,
)
from console.clusters.models import Cluster
from console.frame.claims import is_free, release, take
from console.frame.security.read_only import is_read_only
from jobs.availability.acting.plans import Outcome
from jobs.availability.acting.standby.promotions import StoreAway
from jobs.availability.promotion.actors.kinds import ActorKind
from jobs.availability.promotion.advice import Advice, Evidence, Mode
from jobs.availability.promotion.preconditions import (
    PreconditionRefusal,
    PreconditionRules,
    PreconditionState,
    check_preconditions,
)
from jobs.cluster.errors import ClusterFault, InvalidFields

logger = logging.getLogger(__name__)

Clock = Callable[[], datetime]
# Delay before a refused action is planned again.
RETRY = timedelta(seconds=5)
_MAYBE = "Requests may have been sent before the failure."
Refusals = list[dict[str, str]]


class Worker:
    """Carries out the due actions of one cluster; `name` is that of the process in the rows."""

    def __init__(self, cluster: Cluster, name: str, door: ActingDoor, clock: Clock) -> None:
        self._cluster, self._name = cluster, name
        self._door, self._clock = door, clock

    def work(self, advised: Advised | None) -> int:
        """Carry out all due actions in sequence; return how many changed their state."""
        busy = self._rows(ActionState.ACTING, ActionState.REVERTING)
        crashed = busy.filter(is_free(self._clock()))
        done = sum([self._settle(row) for row in crashed])
        if advised is None:
            return done
        for row in self._rows(ActionState.ASKED):
            done += self._carry_out(row, advised)
        for row in self._rows(ActionState.REVERT_ASKED):
            done += self._revert(row)
        if done or is_read_only():
            # One action at a time: the next one starts with facts that include this one.
            return done
        return self._by_policy(advised)

    def _by_policy(self, advised: Advised) -> int:
        """Revert what is no longer needed, then start what a policy requires."""
        for row in self._rows(ActionState.VERIFIED):
            advice = advised.unwanted.get(row.subject)
            if advice is not None and self._ask_back(row, advice, advised):
                return self._revert(row)
        for row in advised.actions:
            acts = row.policy is not None and row.policy.acts
            is_due = acts and row.is_waiting and row.subject in advised.wanted
            if is_due and self._plan(row) and self._begin(row, advised):
                return 1
        return 0

    def _plan(self, row: PromotionAction) -> bool:
        """Make the dry run; the guard judges its refusals."""
        if row.refusals and row.planned_at and self._clock() - row.planned_at < RETRY:
            return False
        try:
            plan = self._door.actor(row).plan().to_mapping()
        except (ClusterFault, InvalidFields, StoreAway) as problem:
            self._refuse(row, [_reason("facts_missing", f"No dry run: {problem}")], is_final=False)
            return False
        waiting = PromotionAction.objects.filter(pk=row.pk, state__in=WAITING)
        row.plan = plan
        values = {"state": ActionState.PLANNED, "plan": plan, "planned_at": self._clock()}
        return bool(waiting.update(**values))

    def _begin(self, row: PromotionAction, advised: Advised) -> bool:
        """Start what a policy requires, unless the guard refuses."""
        advice = advised.wanted[row.subject]
        refusals = self._guarded(row, advice, advised, is_by_person=False)
        if refusals:
            self._refuse(row, refusals, is_final=False)
            return False
        if not self._claim(row, ActionState.PLANNED, ActionState.ACTING, is_automatic=True):
            return False
        self._act(row)
        return True

    def _carry_out(self, row: PromotionAction, advised: Advised) -> int:
        """Carry out a confirmed action, unless it is no longer advised or the guard refuses."""
        if not self._claim(row, ActionState.ASKED, ActionState.ACTING):
            return 0
        why = _why_ended(row, row.asked_by)
        if why:
            self._refuse(row, [_reason("rights_ended", why)], is_final=True)
            return 1
        advice = advised.wanted.get(row.subject)
        if advice is None:
            text = "No longer advised: the ISR has enough members."
            self._refuse(row, [_reason("not_advised", text)], is_final=True)
            return 1
        refusals = self._guarded(row, advice, advised, is_by_person=True)
        if refusals:
            self._refuse(row, refusals, is_final=True)
        else:
            self._act(row)
        return 1

    def _act(self, row: PromotionAction) -> None:
        """Let the actor do it, and write what came of it; the row is claimed."""
        self._audit("promotion.acting", row, AuditOutcome.DONE, {"plan": row.plan})
        outcome = self._tried(row, lambda: self._door.actor(row).act())
        now = self._clock()
        if outcome.is_done or self._is_in_isr(row):
            values = {"state": ActionState.VERIFIED, "verified_at": now, "refusals": []}
        elif outcome.sent or outcome.undo:
            values = {"state": ActionState.FAILED, "ended_at": now}
        else:
            refusals = [_reason("actor_unusable", outcome.sentence)]
            values = {"state": ActionState.REFUSED, "ended_at": now, "refusals": refusals}
        self._finish(row, outcome, values, "promotion.acted")

    def _ask_back(self, row: PromotionAction, advice: Advice, advised: Advised) -> bool:
        refusals = self._guarded(row, advice, advised, is_by_person=not row.is_automatic)
        if refusals:
            PromotionAction.objects.filter(pk=row.pk).update(refusals=refusals)
            return False
        verified = PromotionAction.objects.filter(pk=row.pk, state=ActionState.VERIFIED)
        values = {"state": ActionState.REVERT_ASKED, "revert_reason": advice.why[:300]}
        try:
            with transaction.atomic():
                is_ours = verified.update(**values)
        except IntegrityError:
            return False
        row.revert_reason = advice.why[:300]
        return bool(is_ours)

    def _revert(self, row: PromotionAction) -> int:
        """Revert a promotion; also while the stop switch is on."""
        if not self._claim(row, ActionState.REVERT_ASKED, ActionState.REVERTING):
            return 0
        if is_read_only():
            outcome = Outcome(
                _kind(row), row.subject, is_done=False, sentence="crosslog is read-only."
            )
        elif row.reverted_by is not None and _why_ended(row, row.reverted_by):
            why = _why_ended(row, row.reverted_by)
            outcome = Outcome(_kind(row), row.subject, is_done=False, sentence=why)
        else:
            outcome = self._tried(row, lambda: self._door.actor(row).revert(undo_of(row)))
        now = self._clock()
        if outcome.is_done:
            values: dict[str, Any] = {"state": ActionState.REVERTED, "ended_at": now}
        else:
            values = {"state": ActionState.FAILED, "ended_at": now}
        kept = {**row.outcome, "reverted": outcome.to_mapping()}
        self._finish(row, outcome, values, "promotion.reverted", kept)
        return 1

    def _settle(self, row: PromotionAction) -> int:
        """Settle an action of a crashed process: check for the effect, never act a second time."""
        before = ActionState(row.state)
        if not self._claim(row, before, before):
            return 0
        try:
            verdict = self._door.actor(row).verify()
        except (ClusterFault, InvalidFields, StoreAway):
            return 0
        now = self._clock()
        if before is ActionState.REVERTING:
            is_gone = not verdict.is_there
            state = ActionState.REVERTED if is_gone else ActionState.REVERT_ASKED
            values: dict[str, Any] = {"state": state, "ended_at": now if is_gone else None}
        elif verdict.is_there or self._is_in_isr(row):
            values = {"state": ActionState.VERIFIED, "verified_at": now}
        else:
            values = {"state": ActionState.FAILED, "ended_at": now}
        sentence = f"The promoter process crashed during this action. State found later: {verdict.sentence}"
        kept = {**row.outcome, "sentence": sentence, "undo": undo_of(row)}
        outcome = Outcome(_kind(row), row.subject, is_done=verdict.is_there, sentence=sentence)
        self._finish(row, outcome, values, "promotion.settled", kept)
        return 1

    def _guarded(
        self, row: PromotionAction, advice: Advice, advised: Advised, *, is_by_person: bool
    ) -> Refusals:
        """Query the cluster again, and return all blocking conditions."""
        now = self._clock()
        try:
            current, quorum = self._evidence(advice)
        except (ClusterFault, InvalidFields):
            current, quorum = None, advised.looked.has_quorum
        policy = row.policy
        rules = PreconditionRules(
            mode=Mode.ACT if policy is not None and policy.acts else Mode.ADVISE,
            opted_in=frozenset({advice.topic} if policy is not None and policy.acts else ()),
            allowed_brokers=frozenset(policy.allowed_brokers if policy is not None else ()),
            cooldown_ms=policy.cooldown_s * 1000 if policy is not None else 0,
        )
        state = PreconditionState(
            is_stopped=is_stopped(self._cluster.pk),
            is_read_only=is_read_only(),
            is_by_person=is_by_person,
            running=tuple(self._running(row)),
            last_ended_ms=last_ended_ms(queries.actions_in_cooldown(self._cluster, now)),
            is_dry_run_done=bool(row.plan),
            has_quorum=quorum,
            actor_problems=tuple(row.plan.get("refusals") or ())
            if row.is_in_effect is False
            else (),
        )
        found = check_preconditions(
            advice, current, rules, state, int(self._clock().timestamp() * 1000)
        )
        return [_of_guard(one) for one in found]

    def _evidence(self, advice: Advice) -> tuple[Evidence | None, bool | None]:
        looked = self._door.look(self._cluster, [advice.topic], lambda one: True)
        looked = with_partition_epochs(self._cluster, looked, self._clock())
        return looked.evidence((advice.topic, advice.partition), advice.observer), looked.has_quorum

    def _running(self, row: PromotionAction) -> Iterable[str]:
        others = PromotionAction.objects.filter(cluster=self._cluster, state__in=BUSY)
        return [str(one) for one in others.exclude(pk=row.pk)]

    def _is_in_isr(self, row: PromotionAction) -> bool:
        """Whether the promoted broker is in the ISR of all partitions of the action."""
        if row.broker is None or row.actor == Actor.RELAX_MIN_ISR:
            return False
        places = {
            (place.rpartition("-")[0], int(place.rpartition("-")[2])) for place in row.because
        }
        try:
            looked = self._door.look(
                self._cluster, sorted({topic for topic, _ in places}), lambda one: False
            )
        except (ClusterFault, InvalidFields):
            return False
        found = [looked.partitions[place].isr for place in places if place in looked.partitions]
        return bool(found) and all(row.broker in isr for isr in found)

    def _tried(self, row: PromotionAction, do: Callable[[], Outcome]) -> Outcome:
        """Run an actor; an exception becomes a failed outcome."""
        try:
            return do()
        except (ClusterFault, InvalidFields, StoreAway) as problem:
            hint = getattr(problem, "hint", "")
            text = f"{problem} {hint}".strip()
            return Outcome(_kind(row), row.subject, is_done=False, sentence=text, sent=(_MAYBE,))

    def _rows(self, *states: ActionState) -> QuerySet[PromotionAction]:
        return queries.list_actions(self._cluster).filter(state__in=states)

    def _claim(
        self, row: PromotionAction, before: ActionState, after: ActionState, **values: Any
    ) -> bool:
        """Change the state of an action and claim it; False when another process was faster."""
        now = self._clock()
        rows = PromotionAction.objects.filter(pk=row.pk, state=before)
        if after is ActionState.ACTING and before is not after:
            values["acted_at"] = now
        try:
            with transaction.atomic():
                is_ours = take(rows, now, state=after, claimed_by=self._name, **values)
        except IntegrityError:
            return False
        if is_ours:
            row.refresh_from_db(fields=["state", "is_automatic", "claimed_until"])
        return is_ours

    def _finish(
        self,
        row: PromotionAction,
        outcome: Outcome,
        values: Mapping[str, Any],
        action: str,
        told: Mapping[str, Any] | None = None,
    ) -> None:
        """Write the outcome, and its audit entry."""
        document = dict(outcome.to_mapping() if told is None else told)
        bad = {ActionState.FAILED: AuditOutcome.FAILED, ActionState.REFUSED: AuditOutcome.REFUSED}
        with transaction.atomic():
            if not release(row, outcome=document, **values):
                return
            result = bad.get(values["state"], AuditOutcome.DONE)
            self._audit(action, row, result, {"outcome": outcome.to_mapping()})
        row.state, row.outcome = values["state"], document
        logger.info("%s %s: %s", action, row.subject, outcome.sentence)

    def _refuse(self, row: PromotionAction, refusals: Refusals, *, is_final: bool) -> None:
        """Write the refusals; unchanged ones are not audited again."""
        is_news = [one["code"] for one in refusals] != [one["code"] for one in row.refusals]
        values: dict[str, Any] = {"refusals": refusals}
        if is_final:
            values |= {"state": ActionState.REFUSED, "ended_at": self._clock()}
        with transaction.atomic():
            if release(row, **values) and (is_news or is_final):
                told = {"refusals": refusals}
                self._audit("promotion.refused", row, AuditOutcome.REFUSED, told)
        row.refusals = refusals

    def _audit(
        self, action: str, row: PromotionAction, outcome: AuditOutcome, told: Mapping[str, Any]
    ) -> None:
        known = {
            "action": str(row.pk),
            "actor": row.actor,
            "is_automatic": row.is_automatic,
            "program": self._name,
            "why": row.why,
        }
        audit(
            action,
            subject_of(row),
            cluster=self._cluster.alias,
            after={**known, **told},
            outcome=outcome,
            by=for_trail(row.reverted_by or row.asked_by, row.asked_with),
        )


def last_ended_ms(rows: Iterable[PromotionAction]) -> dict[str, int]:
    """Return when the last action of each key ended, for `PreconditionState`."""
    found: dict[str, int] = {}
    for row in rows:
        at = row.ended_at or row.verified_at
        if at is None:
            continue
        is_back = row.state == ActionState.REVERTED
        keys = [row.subject, *(f"demotion of {place}" for place in row.because if is_back)]
        for key in keys:
            found[key] = max(found.get(key, 0), int(at.timestamp() * 1000))
    return found


def _why_ended(row: PromotionAction, person: User | None) -> str:
    return why_ended(person, row.asked_with, "operate", [row.cluster_id])


def _kind(row: PromotionAction) -> ActorKind:
    return ActorKind(row.actor)


def _reason(code: str, sentence: str, todo: str = "") -> dict[str, str]:
    return {"code": code, "sentence": sentence, "todo": todo}


def _of_guard(one: PreconditionRefusal) -> dict[str, str]:
    return {name: str(value) for name, value in asdict(one).items()}
