"""Pages of promotions: parse, one read or one action, render."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from console.accounts.asked_rights import person_of
from console.availability.acting.models import StandbyEvent
from console.availability.page_context import around_cluster, find_cluster
from console.availability.promotion import actions, equivalents, page_context, queries
from console.availability.promotion.audit import page_refusals_written
from console.availability.promotion.forms import (
    ConfirmForm,
    PolicyForm,
    RevertForm,
    StopForm,
    initial_of,
)
from console.availability.promotion.models import PromotionAction, PromotionPolicy
from console.availability.promotion.tables import ACTIONS, EVENTS, POLICIES
from console.clusters import queries as clusters
from console.clusters.models import Cluster
from console.frame.errors import or_404
from console.frame.pages.forms import attempt
from console.frame.pages.render import render_page
from console.frame.security.access import can, page

MOST_LIVE, MOST_LOOP_EVENTS = 50, 30


@require_safe
@page("view", clusters.where)
def promotion_page(request: HttpRequest, alias: str) -> HttpResponseBase:
    """Show advice, promotions in effect, policies, methods, history."""
    cluster = find_cluster(alias)
    tables = {
        "policies": POLICIES.read(
            request, queries.list_policies(cluster), f"{alias}-promotion-policies"
        ),
        "history": ACTIONS.read(
            request, queries.list_actions(cluster), f"{alias}-promotion-history"
        ),
        "events": EVENTS.read(request, queries.list_events(cluster), f"{alias}-promotion-events"),
    }
    now = timezone.now()
    row, stop = queries.round_of(cluster), queries.stop_state(cluster)
    live = list(queries.live_actions(cluster)[:MOST_LIVE])
    loops = page_context.shown_loops(cluster, now)
    context = {
        **around_cluster(request, cluster, "promotion"),
        **tables,
        "facts": page_context.promotion_facts(cluster, live, row, stop, loops),
        "freshness": queries.freshness_of(row),
        "live": page_context.shown_actions(live),
        "findings": page_context.shown_findings(cluster),
        "stop": stop,
        "stop_form": StopForm(),
        "actors": row.actors if row else [],
        "held": page_context.shown_held(cluster),
        "loops": loops,
        "may_operate": can(request.user, "operate", cluster.pk),
        "may_stop_all": can(request.user, "operate"),
        "equivalents": equivalents.of_page(cluster),
    }
    return render_page(request, "availability/promotion/page.html", context, is_live=True)


@require_safe
@page("view", clusters.where)
def action_page(request: HttpRequest, alias: str, action_id: UUID) -> HttpResponse:
    """Show one action: advice, dry run, history, revert."""
    row = _action(request, alias, action_id)
    return _render_action(request, row, ConfirmForm(prefix="apply"), RevertForm(prefix="revert"))


@require_POST
@page_refusals_written("promotion.plan")
@page("operate", clusters.where)
def plan(request: HttpRequest, alias: str, action_id: UUID) -> HttpResponse:
    """Make the dry run."""
    row = _action(request, alias, action_id)
    attempt(request, lambda: actions.plan_action(row, person_of(request), timezone.now()))
    return redirect("availability:promotion-action", alias, action_id)


@require_POST
@page_refusals_written("promotion.apply")
@page("operate", clusters.where)
def apply(request: HttpRequest, alias: str, action_id: UUID) -> HttpResponse:
    """Confirm a planned promotion; its subject has to be typed."""
    row = _action(request, alias, action_id)
    form = ConfirmForm(request.POST, prefix="apply")

    def ask(typed: str) -> object:
        return actions.apply_action(row, typed, person_of(request), timezone.now())

    if form.is_valid() and form.attempt(lambda: ask(form.cleaned_data["confirm"])):
        messages.success(
            request, "Promotion requested. It is checked again and carried out within seconds."
        )
        return redirect("availability:promotion-action", alias, action_id)
    return _render_action(request, row, form, RevertForm(prefix="revert"))


@require_POST
@page_refusals_written("promotion.revert")
@page("operate", clusters.where)
def revert(request: HttpRequest, alias: str, action_id: UUID) -> HttpResponse:
    """Request the revert of a promotion; its subject has to be typed."""
    row = _action(request, alias, action_id)
    form = RevertForm(request.POST, prefix="revert")

    def ask(given: dict[str, Any]) -> object:
        who, now = person_of(request), timezone.now()
        return actions.revert_action(row, given["confirm"], given["reason"], who, now)

    if form.is_valid() and form.attempt(lambda: ask(form.cleaned_data)):
        messages.success(request, "Revert requested. It is carried out within seconds.")
        return redirect("availability:promotion-action", alias, action_id)
    return _render_action(request, row, ConfirmForm(prefix="apply"), form)


@require_http_methods(["GET", "POST"])
@page_refusals_written("promotion.policy_create")
@page("operate", clusters.where)
def new_policy_page(request: HttpRequest, alias: str) -> HttpResponse:
    cluster = find_cluster(alias)
    form = PolicyForm(request.POST or None, initial=_asked_initial(request))
    person, now = person_of(request), timezone.now()
    if form.is_valid() and form.attempt(
        lambda: actions.create_policy(cluster, form.values(), person, now)
    ):
        messages.success(request, "Policy saved. It applies from the next evaluation.")
        return redirect("availability:promotion", alias)
    return _render_policy(request, cluster, form, None)


@require_http_methods(["GET", "POST"])
@page_refusals_written("promotion.policy_change")
@page("operate", clusters.where)
def policy_page(request: HttpRequest, alias: str, policy_id: int) -> HttpResponse:
    cluster, row = find_cluster(alias), _policy(request, alias, policy_id)
    form = PolicyForm(request.POST or None, initial=initial_of(row))
    person, now = person_of(request), timezone.now()
    if form.is_valid() and form.attempt(
        lambda: actions.change_policy(row, form.values(), person, now)
    ):
        messages.success(request, "Policy saved. It applies from the next evaluation.")
        return redirect("availability:promotion", alias)
    return _render_policy(request, cluster, form, _policy(request, alias, policy_id))


@require_POST
@page_refusals_written("promotion.policy_delete")
@page("operate", clusters.where)
def remove_policy(request: HttpRequest, alias: str, policy_id: int) -> HttpResponse:
    row = _policy(request, alias, policy_id)
    if attempt(request, lambda: actions.delete_policy(row)):
        messages.success(request, f"Policy for {row.pattern} removed.")
    return redirect("availability:promotion", alias)


@require_POST
@page_refusals_written("promotion.stop")
@page("operate", clusters.where)
def stop(request: HttpRequest, alias: str) -> HttpResponse:
    """Turn the stop switch of a cluster on."""
    return _turn(request, alias, find_cluster(alias), actions.stop_promotions)


@require_POST
@page_refusals_written("promotion.go_on")
@page("operate", clusters.where)
def go_on(request: HttpRequest, alias: str) -> HttpResponse:
    """Turn the stop switch of a cluster off."""
    return _turn(request, alias, find_cluster(alias), actions.allow_promotions)


@require_POST
@page_refusals_written("promotion.stop")
@page("operate")
def stop_all(request: HttpRequest, alias: str) -> HttpResponse:
    """Turn the stop switch of all clusters on; `alias` is the cluster of the page."""
    return _turn(request, alias, None, actions.stop_promotions)


@require_POST
@page_refusals_written("promotion.go_on")
@page("operate")
def go_on_all(request: HttpRequest, alias: str) -> HttpResponse:
    """Turn the stop switch of all clusters off."""
    return _turn(request, alias, None, actions.allow_promotions)


def _turn(
    request: HttpRequest, alias: str, cluster: Cluster | None, turn: Callable[..., object]
) -> HttpResponse:
    form = StopForm(request.POST)
    why = form.cleaned_data["why"] if form.is_valid() else ""
    turn(cluster, why, person_of(request), timezone.now())
    return redirect("availability:promotion", alias)


def _render_action(
    request: HttpRequest, row: PromotionAction, apply_form: ConfirmForm, revert_form: RevertForm
) -> HttpResponse:
    held = str(row.outcome.get("undo", {}).get("promotion_id") or "")
    heard = StandbyEvent.objects.none()
    if held:
        heard = queries.list_loop_events(row.cluster).filter(promotion_id=held)
    context = {
        **around_cluster(request, find_cluster(row.cluster.alias), "promotion"),
        **page_context.action_context(row),
        "action": row,
        "apply_form": apply_form,
        "revert_form": revert_form,
        "stop": queries.stop_state(row.cluster),
        "stop_form": StopForm(),
        "may_operate": can(request.user, "operate", row.cluster_id),
        "may_stop_all": can(request.user, "operate"),
        "heard": [(queries.moment(one.at_ms), one) for one in heard[:MOST_LOOP_EVENTS]],
        "equivalents": equivalents.of_action(row),
    }
    return render_page(request, "availability/promotion/action.html", context, is_live=True)


def _render_policy(
    request: HttpRequest, cluster: Cluster, form: PolicyForm, row: PromotionPolicy | None
) -> HttpResponse:
    known = queries.round_of(cluster)
    context = {
        **around_cluster(request, cluster, "promotion"),
        "form": form,
        "policy": row,
        "actors": known.actors if known else [],
        "equivalents": equivalents.of_policy(row),
    }
    return render_page(request, "availability/promotion/policy.html", context)


def _asked_initial(request: HttpRequest) -> dict[str, Any]:
    return {"pattern": request.GET.get("topic", "")} if request.GET.get("topic") else {}


def _action(request: HttpRequest, alias: str, action_id: UUID) -> PromotionAction:
    return or_404(queries.get_action(request.user, action_id, alias))


def _policy(request: HttpRequest, alias: str, policy_id: int) -> PromotionPolicy:
    return or_404(queries.get_policy(request.user, policy_id, alias))
