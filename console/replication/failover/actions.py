"""Actions on failover plans: check -> write. `work` then carries them out in the background."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from django.conf import settings
from django.db import IntegrityError, transaction

from console.accounts.asked_rights import rights_asked, why_ended
from console.accounts.audit import audit, change
from console.accounts.models import User
from console.frame.errors import ActionRefused
from console.replication.failover.models import (
    LIVE,
    FailoverPlan,
    FailoverRun,
    GroupState,
    PlanState,
)
from console.replication.flows.models import ReplicationFlow
from jobs.cluster.errors import InvalidFields
from jobs.replication.failover import session
from jobs.replication.failover.model import CheckState, Direction, FailoverRequest, Untranslated
from jobs.replication.failover.planner import check_request
from jobs.replication.failover.reports.report import RunKind

LONGEST_NAME = 100


@change("failover.plan")
def create_plan(
    flow: ReplicationFlow, values: Mapping[str, Any], user: User | None, now: datetime
) -> FailoverPlan:
    """Create a plan; a worker queries both clusters within seconds. Raises `InvalidFields`.

    Values: `name` (empty: one is made), `direction`, `groups` and `topics` (names or patterns) and
    `untranslated`.
    """
    request = _wish(values)
    direction = request.direction.value
    name = str(values.get("name") or "").strip() or f"{direction} {now:%Y-%m-%d %H:%M:%S}"
    plan = FailoverPlan(
        flow=flow,
        name=name,
        direction=direction,
        groups=list(request.groups),
        topics=list(request.topics),
        untranslated=request.untranslated.value,
        created_at=now,
        created_by=user,
        asked_with=rights_asked(user),
    )
    try:
        with transaction.atomic():
            plan.save()
            _audit("failover.plan", plan, after={**request.to_mapping(), "plan": name})
    except IntegrityError:
        text = f"A plan named {name} already exists."
        raise InvalidFields({"name": text}) from None
    return plan


@change("failover.refresh")
def refresh_plan(plan: FailoverPlan, user: User | None) -> None:
    """Read the evidence of a plan again; raises `ActionRefused`.

    If the owner of the plan lost the rights for it, this user becomes the owner.
    """
    _refuse_live(plan)
    if plan.applied_at is not None:
        text = "The plan is applied: roll it back first, or create another plan."
        raise ActionRefused("plan_is_applied", text)
    waiting = FailoverPlan.objects.filter(pk=plan.pk, applied_at=None)
    waiting.exclude(state=PlanState.READING).update(state=PlanState.QUEUED, error="")
    person, asked = plan.created_by, plan.asked_with
    may_read = not why_ended(person, asked, "view", [plan.origin.pk])
    if not may_read or why_ended(person, asked, "operate", [plan.destination.pk]):
        waiting.update(created_by=user, asked_with=rights_asked(user))
    _audit("failover.refresh", plan)


@change("failover.rehearse")
def rehearse_plan(plan: FailoverPlan, user: User | None, now: datetime) -> FailoverRun:
    """Start a dry run of the groups that are not blocked; raises `ActionRefused`."""
    _refuse_stale(plan, now)
    names = _unblocked(plan, None)
    return _start(plan, RunKind.REHEARSAL, names, user, now)


@change("failover.apply")
def apply_plan(
    plan: FailoverPlan,
    confirmation: str,
    user: User | None,
    now: datetime,
    groups: Sequence[str] | None = None,
) -> FailoverRun:
    """Set the offsets of a plan's groups that are not blocked, or of the named ones.

    `confirmation` is the plan's name, as the person typed it. Raises `ActionRefused` and `InvalidFields`.
    """
    _check_confirmation(plan, confirmation)
    _refuse_stale(plan, now)
    names = _unblocked(plan, groups)
    return _start(plan, RunKind.APPLY, names, user, now)


@change("failover.undo")
def undo_plan(
    plan: FailoverPlan,
    confirmation: str,
    user: User | None,
    now: datetime,
    *,
    even_if_moved: bool = False,
) -> FailoverRun:
    """Restore the previous offsets of the groups of a plan; raises `ActionRefused`.

    Groups that have committed since are refused, unless `even_if_moved`.
    """
    _check_confirmation(plan, confirmation)
    rows = plan.plan_groups.exclude(before__isnull=True).exclude(state=GroupState.UNDONE)
    names = list(rows.values_list("group", flat=True))
    if not names:
        raise ActionRefused("nothing_to_undo", "No group of this plan is applied.")
    return _start(plan, RunKind.UNDO, names, user, now, even_if_moved=even_if_moved)


def _wish(values: Mapping[str, Any]) -> FailoverRequest:
    errors: dict[str, str] = {}
    if len(str(values.get("name") or "")) > LONGEST_NAME:
        errors["name"] = f"A name has at most {LONGEST_NAME} characters."
    kinds = (("direction", Direction), ("untranslated", Untranslated))
    chosen: dict[str, Any] = {}
    for field, kind in kinds:
        try:
            chosen[field] = kind(values.get(field) or next(iter(kind)))
        except ValueError:
            errors[field] = f"One of {', '.join(one.value for one in kind)}."
    if errors:
        raise InvalidFields(errors)
    request = FailoverRequest(
        chosen["direction"],
        tuple(values.get("groups") or ()),
        tuple(values.get("topics") or (".*",)),
        chosen["untranslated"],
    )
    check_request(request)
    return request


def _check_confirmation(plan: FailoverPlan, confirmation: str) -> None:
    if confirmation.strip() != plan.name:
        raise InvalidFields({"confirm": f"Type the plan's name to confirm: {plan.name}"})


def _open_groups(plan: FailoverPlan) -> list[str]:
    """Return the groups that are not applied; raises `ActionRefused` for none."""
    if plan.state != PlanState.READY:
        raise ActionRefused("plan_not_ready", "The plan has no evidence. Refresh the plan.")
    rows = plan.plan_groups.exclude(state=GroupState.APPLIED)
    names = list(rows.values_list("group", flat=True))
    if not names:
        raise ActionRefused("nothing_to_apply", "All groups of this plan are applied already.")
    return names


def _refuse_stale(plan: FailoverPlan, now: datetime) -> None:
    if plan.expires_at is not None and now > plan.expires_at:
        text = (
            f"The plan expired {(now - plan.expires_at).total_seconds():.0f} s ago: it is valid for "
            f"{settings.FAILOVER_EVIDENCE_S} s. Refresh the plan."
        )
        raise ActionRefused("plan_stale", text)


def _unblocked(plan: FailoverPlan, groups: Sequence[str] | None) -> list[str]:
    names = _open_groups(plan)
    unknown = sorted(set(groups or ()) - set(names))
    if unknown:
        text = f"Not a group of this plan, or applied already: {', '.join(unknown)}."
        raise InvalidFields({"groups": text})
    if plan.verdict == CheckState.FAILED:
        raise ActionRefused("plan_blocked", "A pre-check of the plan failed.")
    rows = plan.plan_groups.filter(verdict=CheckState.FAILED)
    blocked = set(rows.values_list("group", flat=True))
    wrong = sorted(blocked & set(groups or ()))
    if wrong:
        raise InvalidFields({"groups": f"Pre-checks of these groups failed: {', '.join(wrong)}."})
    chosen = [name for name in names if name not in blocked and (not groups or name in groups)]
    if not chosen:
        raise ActionRefused("plan_blocked", "Pre-checks of every group of this plan failed.")
    return chosen


def _left_out(plan: FailoverPlan) -> dict[str, str]:
    """Return the groups that pre-checks block, with why."""
    rows = plan.plan_groups.filter(verdict=CheckState.FAILED).exclude(state=GroupState.APPLIED)
    return session.left_out(plan.plan(list(rows.values_list("group", flat=True))))


def _refuse_live(plan: FailoverPlan) -> None:
    if plan.failover_runs.filter(state__in=LIVE).exists():
        raise ActionRefused(
            "plan_is_running", "A run of this plan is in progress. Wait for its end."
        )


def _start(
    plan: FailoverPlan,
    kind: RunKind,
    names: list[str],
    user: User | None,
    now: datetime,
    *,
    even_if_moved: bool = False,
) -> FailoverRun:
    """Write a run, with the groups that pre-checks leave out of it."""
    left_out = {} if kind is RunKind.UNDO else _left_out(plan)
    words = {RunKind.REHEARSAL: "rehearse", RunKind.APPLY: "apply", RunKind.UNDO: "undo"}
    try:
        with transaction.atomic():
            run = FailoverRun.objects.create(
                plan=plan, kind=kind.value, groups=names, even_if_moved=even_if_moved,
                requested_by=user, asked_with=rights_asked(user),
                created_at=now, left_out=left_out,
            )  # fmt: skip
            told = {"plan": plan.name, "groups": names[:100], "group_count": len(names)}
            told |= {"run": str(run.pk), "even_if_moved": even_if_moved}
            told |= {"left_out": sorted(left_out)[:100]}
            _audit(f"failover.{words[kind]}", plan, after=told)
            return run
    except IntegrityError:
        _refuse_live(plan)
        raise


def _audit(action: str, plan: FailoverPlan, after: Mapping[str, Any] | None = None) -> None:
    clusters = f"{plan.origin.alias}, {plan.destination.alias}"
    audit(action, f"flow:{plan.flow.name}", cluster=clusters, after=after or {"plan": plan.name})
