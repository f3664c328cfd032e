"""Actions on promotions: check, then write. `manage.py promote` carries them out."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import IntegrityError, transaction

from console.accounts.asked_rights import rights_asked
from console.accounts.audit import audit
from console.accounts.models import User
from console.availability.acting.door import KAFKA, ActingDoor
from console.availability.acting.store import is_stopped
from console.availability.promotion.audit import promotion_change, subject_of
from console.availability.promotion.models import (
    BUSY,
    WAITING,
    ActionState,
    Mode,
    PromotionAction,
    PromotionPolicy,
    PromotionStop,
)
from console.availability.promotion.policies import FIELDS, read_policy, told_policy
from console.availability.promotion.queries import is_promoter_running
from console.clusters.models import Broker, Cluster
from console.frame.errors import ActionRefused
from jobs.cluster.errors import ClusterFault, InvalidFields

_TYPE_PATTERN = "Automatic mode changes the cluster without confirmation. To enable it, type {}"


@promotion_change("promotion.policy_create")
def create_policy(
    cluster: Cluster, values: Mapping[str, Any], user: User | None, now: datetime
) -> PromotionPolicy:
    """Create a policy; raises `InvalidFields`. Automatic mode needs `confirm`: the pattern, typed again."""
    policy = PromotionPolicy(cluster=cluster, created_at=now, created_by=user)
    _take(policy, values, user, now)
    _save(policy, "promotion.policy_create", before=None)
    return policy


@promotion_change("promotion.policy_change")
def change_policy(
    policy: PromotionPolicy, values: Mapping[str, Any], user: User | None, now: datetime
) -> PromotionPolicy:
    """Change the fields in `values`; raises `InvalidFields`. Enabling automatic mode needs `confirm`."""
    before = told_policy(policy)
    _take(policy, {**before, **values}, user, now)
    _save(policy, "promotion.policy_change", before=before)
    return policy


@promotion_change("promotion.policy_delete")
def delete_policy(policy: PromotionPolicy) -> None:
    """Remove a policy; refused while a promotion of it is in effect, which has to be reverted first."""
    standing = policy.actions.filter(state__in=[*BUSY, ActionState.VERIFIED]).first()
    if standing is not None:
        text = f"{standing.subject} is promoted by this policy: revert that promotion first."
        raise ActionRefused("promotion_stands", text)
    with transaction.atomic():
        audit(
            "promotion.policy_delete",
            subject_of(policy),
            cluster=policy.cluster.alias,
            before=told_policy(policy),
        )
        policy.delete()


@promotion_change("promotion.stop")
def stop_promotions(
    cluster: Cluster | None, why: str, user: User | None, now: datetime
) -> PromotionStop:
    """Turn the stop switch on, of one cluster or of all: no promotion starts."""
    return _switch(cluster, why, user, now, is_on=True)


@promotion_change("promotion.go_on")
def allow_promotions(
    cluster: Cluster | None, why: str, user: User | None, now: datetime
) -> PromotionStop:
    """Turn the stop switch off."""
    return _switch(cluster, why, user, now, is_on=False)


@promotion_change("promotion.plan")
def plan_action(
    action: PromotionAction, user: User | None, now: datetime, door: ActingDoor = KAFKA
) -> PromotionAction:
    """Make the dry run of an advice: its requests, their receivers, the blocking conditions. Read-only.

    Raises `ActionRefused`, also when the cluster does not answer.
    """
    _refuse_unless_waiting(action)
    try:
        plan = door.actor(action).plan().to_mapping()
    except InvalidFields as problem:
        raise ActionRefused("not_possible", f"No dry run: {problem}") from None
    except ClusterFault as fault:
        text = f"No dry run: {fault} {fault.hint}".strip()
        raise ActionRefused("cluster_does_not_answer", text) from None
    waiting = PromotionAction.objects.filter(pk=action.pk, state__in=WAITING)
    with transaction.atomic():
        if not waiting.update(state=ActionState.PLANNED, plan=plan, planned_at=now):
            raise _moved_on(action)
        _audit_action("promotion.plan", action, user, {"refusals": plan.get("refusals", ())})
    action.refresh_from_db()
    return action


@promotion_change("promotion.apply")
def apply_action(
    action: PromotionAction, confirmation: str, user: User | None, now: datetime
) -> PromotionAction:
    """Confirm a planned action; `manage.py promote` checks it again and carries it out within seconds.

    `confirmation` is the action's subject as typed. Raises `InvalidFields` and `ActionRefused`.
    """
    _check_confirmation(action, confirmation)
    _refuse_early(action, now)
    planned = PromotionAction.objects.filter(pk=action.pk, state=ActionState.PLANNED)
    asked = {
        "state": ActionState.ASKED,
        "asked_at": now,
        "asked_by": user,
        "asked_with": rights_asked(user),
        "refusals": [],
    }
    try:
        with transaction.atomic():
            if not planned.update(**asked, is_automatic=False):
                raise _moved_on(action)
            _audit_action("promotion.apply", action, user, {"why": action.why})
    except IntegrityError:
        raise ActionRefused("another_action", _ANOTHER) from None
    action.refresh_from_db()
    return action


_ANOTHER = (
    "Another promotion of this cluster is in progress. One runs at a time: wait until it has ended."
)


@promotion_change("promotion.revert")
def revert_action(
    action: PromotionAction, confirmation: str, reason: str, user: User | None, now: datetime
) -> PromotionAction:
    """Request the revert of a promotion, also while stopped; raises `InvalidFields`, `ActionRefused`."""
    _check_confirmation(action, confirmation)
    _refuse_without_promoter(action.cluster, now)
    rows = PromotionAction.objects.filter(pk=action.pk, state__in=_revertable(action))
    asked = {
        "state": ActionState.REVERT_ASKED,
        "reverted_by": user,
        "asked_with": rights_asked(user),
        "revert_reason": reason.strip()[:300] or "Requested by a user.",
        "ended_at": None,
    }
    try:
        with transaction.atomic():
            if not rows.update(**asked):
                text = f"Nothing to revert: the promotion is {action.get_state_display().lower()}."
                raise ActionRefused("nothing_to_revert", text)
            _audit_action("promotion.revert", action, user, {"why": asked["revert_reason"]})
    except IntegrityError:
        raise ActionRefused("another_action", _ANOTHER) from None
    action.refresh_from_db()
    return action


def _take(
    policy: PromotionPolicy, values: Mapping[str, Any], user: User | None, now: datetime
) -> None:
    rows = Broker.objects.filter(cluster=policy.cluster).values_list("broker_id", flat=True)
    known = {*rows, *policy.allowed_brokers}
    found = read_policy(values, known)
    has_acted = policy.acts
    is_wider = has_acted and _is_wider(policy, found)
    if found.mode is Mode.ACT and (not has_acted or is_wider):
        if str(values.get("confirm") or "").strip() != found.pattern:
            raise InvalidFields({"confirm": _TYPE_PATTERN.format(found.pattern)})
        policy.opted_in_by, policy.opted_in_at = user, now
        policy.asked_with = rights_asked(user)
    for name in FIELDS:
        value = getattr(found, name)
        setattr(policy, name, list(value) if isinstance(value, tuple) else value)
    if found.mode is Mode.ADVISE:
        policy.opted_in_by = policy.opted_in_at = None
        policy.asked_with = {}
    policy.changed_at = now


def _is_wider(policy: PromotionPolicy, found: Any) -> bool:
    """Whether a change of an automatic policy exceeds what its user opted in to."""
    names = ("kind", "pattern", "actor", "policy")
    is_other = any(getattr(policy, name) != getattr(found, name) for name in names)
    is_before_others = found.priority > policy.priority
    return is_other or is_before_others or not {*found.allowed_brokers} <= {*policy.allowed_brokers}


def _save(policy: PromotionPolicy, action: str, before: Mapping[str, Any] | None) -> None:
    after = told_policy(policy)
    try:
        with transaction.atomic():
            policy.save()
            audit(
                action,
                subject_of(policy),
                cluster=policy.cluster.alias,
                before=before,
                after=after,
            )
    except IntegrityError:
        text = f"A policy for {policy.pattern} exists already: edit that one."
        raise InvalidFields({"pattern": text}) from None


def _switch(
    cluster: Cluster | None, why: str, user: User | None, now: datetime, *, is_on: bool
) -> PromotionStop:
    scope = PromotionStop.ALL if cluster is None else str(cluster.pk)
    values = {"cluster": cluster, "is_on": is_on, "why": why.strip()[:300], "by": user, "at": now}
    with transaction.atomic():
        stop, _ = PromotionStop.objects.update_or_create(scope=scope, defaults=values)
        audit(
            "promotion.stop" if is_on else "promotion.go_on",
            subject_of(cluster),
            cluster=cluster.alias if cluster else "",
            after={"is_on": is_on, "why": stop.why},
        )
    return stop


def _check_confirmation(action: PromotionAction, confirmation: str) -> None:
    if confirmation.strip() != action.subject:
        raise InvalidFields({"confirm": f"Type this to confirm: {action.subject}"})


def _refuse_unless_waiting(action: PromotionAction) -> None:
    if action.state not in WAITING:
        raise _moved_on(action)


def _moved_on(action: PromotionAction) -> ActionRefused:
    text = f"This advice is now {action.get_state_display().lower()}. Reload the page."
    return ActionRefused("not_waiting", text)


def _refuse_early(action: PromotionAction, now: datetime) -> None:
    """Refuse for reasons known without a request to the cluster; the others are checked before acting."""
    if action.state == ActionState.ADVISED:
        raise ActionRefused("no_dry_run", "No dry run yet. Run it first; it lists the requests.")
    _refuse_unless_waiting(action)
    if is_stopped(action.cluster_id):
        text = "The stop switch is on: no promotion starts. Turn it off on the page Promotion."
        raise ActionRefused("stopped", text)
    if action.policy is None:
        text = f"No policy allows it. Create one for {action.topic} that names the brokers."
        raise ActionRefused("no_policy", text)
    limit = timedelta(seconds=settings.PROMOTION_PLAN_S)
    if action.planned_at is None or now - action.planned_at > limit:
        text = f"The dry run is older than {settings.PROMOTION_PLAN_S} s. Repeat it."
        raise ActionRefused("plan_stale", text)
    if action.plan.get("refusals"):
        text = "The dry run found blocking conditions: " + " ".join(action.plan["refusals"])
        raise ActionRefused("plan_refuses", text)
    _refuse_without_promoter(action.cluster, now)


def _refuse_without_promoter(cluster: Cluster, now: datetime) -> None:
    if not is_promoter_running(cluster, now):
        text = "No promoter process is running. Start `manage.py promote` (or `manage.py up`)."
        raise ActionRefused("no_promoter", text)


def _revertable(action: PromotionAction) -> list[str]:
    """Return the states from which it can be reverted: also a failure that changed something."""
    failed = [ActionState.FAILED] if action.outcome.get("undo") else []
    return [ActionState.VERIFIED, *failed]


def _audit_action(
    name: str, action: PromotionAction, user: User | None, details: Mapping[str, Any]
) -> None:
    known = {"actor": action.actor, "because": action.because[:20], "evidence": action.evidence}
    audit(
        name,
        subject_of(action),
        cluster=action.cluster.alias,
        after={"action": str(action.pk), **known, **details},
        by=user,
    )
