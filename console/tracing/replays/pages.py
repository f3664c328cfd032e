"""Pages of redrives: parse, one read or one action, render."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django import forms
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from console.accounts.asked_rights import person_of
from console.clusters import queries as clusters
from console.clusters.equivalents import Equivalents
from console.clusters.models import Cluster
from console.clusters.pages import around_cluster, find_cluster
from console.frame.errors import ActionRefused, or_404
from console.frame.pages.forms import ActionForm, attempt, text_field
from console.frame.pages.render import render_page
from console.frame.security.access import can, page
from console.frame.tables.columns import Column
from console.frame.tables.table import Table
from console.runs.analyses.page_context import around_answer
from console.runs.analyses.results import table_of
from console.runs.analyses.values import body_of, facts_of
from console.tracing.replays import actions, queries
from console.tracing.replays.models import Redrive
from console.tracing.replays.plan import read_plan
from jobs.numbers import format_count


class NameForm(ActionForm):
    """The name of a new redrive."""

    name = text_field("Name", actions.LONGEST_NAME, "Empty: topics and time.", required=False)


class ApplyForm(ActionForm):
    """The redrive's name, typed again, and its speed."""

    records_per_s = forms.IntegerField(label="Records per second")
    confirm = text_field("Name of the redrive", actions.LONGEST_NAME)


@require_safe
@page("view", clusters.where)
def list_page(request: HttpRequest, alias: str) -> HttpResponseBase:
    """Show the redrives of a cluster."""
    cluster = find_cluster(alias)
    table = REDRIVES.read(request, queries.list_redrives(cluster), f"{alias}-redrives")
    context = {**_around(cluster, f"GET /api/v1/redrives/?cluster={alias}"), "table": table}
    return render_page(request, "tracing/replays/list.html", context, is_live=True)


@require_http_methods(["GET", "HEAD", "POST"])
@page("operate", clusters.where)
def new_page(request: HttpRequest, alias: str, run_id: UUID) -> HttpResponse:
    """Create a redrive from the run of a replay plan."""
    cluster, now = find_cluster(alias), timezone.now()
    run = or_404(queries.get_plan_run(cluster, run_id), f"{alias} has no replay plan {run_id}.")
    form, found = NameForm(request.POST or None), []
    form.fields["name"].initial = actions.default_name(run, now)

    def create() -> None:
        name = form.cleaned_data["name"]
        found.append(actions.create_redrive(cluster, run, name, person_of(request), now))

    if request.method == "POST" and form.is_valid() and form.attempt(create):
        return redirect("tracing:redrive", alias, found[0].pk)
    context = {**_around(cluster, "POST /api/v1/redrives/"), "run": run, "form": form}
    try:
        context["facts"] = facts_of(read_plan(cluster, run, now)["facts"])
    except ActionRefused as refusal:
        context["refusal"] = refusal.message
    return render_page(request, "tracing/replays/new.html", context)


@require_safe
@page("view", clusters.where)
def detail_page(request: HttpRequest, alias: str, redrive_id: UUID) -> HttpResponseBase:
    """Show a redrive: its plan, the form that applies it, its last run."""
    redrive = _redrive(alias, redrive_id)
    form = ApplyForm(initial={"records_per_s": redrive.records_per_s})
    return _render(request, redrive, form)


@require_POST
@page("operate", clusters.where)
def apply(request: HttpRequest, alias: str, redrive_id: UUID) -> HttpResponseBase:
    """Apply or resume a redrive, after its name was typed."""
    redrive, form = _redrive(alias, redrive_id), ApplyForm(request.POST)

    def start() -> None:
        typed, per_s = form.cleaned_data["confirm"], form.cleaned_data["records_per_s"]
        actions.apply_redrive(redrive, typed, per_s, person_of(request), timezone.now())

    if form.is_valid() and form.attempt(start):
        return redirect("tracing:redrive", alias, redrive_id)
    return _render(request, redrive, form)


@require_POST
@page("operate", clusters.where)
def stop(request: HttpRequest, alias: str, redrive_id: UUID) -> HttpResponse:
    """Stop a redrive."""
    redrive, done = _redrive(alias, redrive_id), "Stop requested. The redrive can be resumed."
    attempt(request, lambda: actions.stop_redrive(redrive, timezone.now()), done)
    return redirect("tracing:redrive", alias, redrive_id)


def _redrive(alias: str, redrive_id: UUID) -> Redrive:
    found = queries.get_redrive(find_cluster(alias), redrive_id)
    return or_404(found, f"{alias} has no redrive {redrive_id}: it is removed with its last run.")


def _around(cluster: Cluster, call: str) -> dict[str, Any]:
    return around_cluster(cluster, "", Equivalents(call, ""))


def _render(request: HttpRequest, redrive: Redrive, form: ApplyForm) -> HttpResponseBase:
    plan, pk = redrive.plan, redrive.cluster_id
    table = table_of(plan["records"])
    is_hidden = plan["needs_admin"] and not can(request.user, "administer", pk)
    tiers = {f"from_{tier}": count for tier, count in sorted(plan["tiers"].items())}
    context = {
        **_around(find_cluster(redrive.cluster.alias), ""),
        **(around_answer(request, redrive.run) if redrive.run else {}),
        "redrive": redrive,
        "plan_facts": facts_of({**plan["facts"], **tiers}, table.columns),
        "plan_table": table,
        "plan_rows": [] if is_hidden else body_of(table.columns, plan["records"]["preview"]),
        "plan_total": plan["records"]["rows"],
        "is_hidden": is_hidden,
        "api": f"/api/v1/redrives/{redrive.pk}/",
        "form": form,
        "is_steady": bool(form.errors),
    }
    return render_page(request, "tracing/replays/detail.html", context, is_live=True)


def _page_of(row: Redrive) -> str:
    return reverse("tracing:redrive", args=[row.cluster.alias, row.pk])


REDRIVES = Table(
    (
        Column("name", "Redrive", "name", link=_page_of),
        Column("state", "State", template="tracing/replays/state.html"),
        Column("plan.facts.send", "Send", numeric=True, format=format_count),
        Column("plan.facts.quarantine", "Quarantine", numeric=True, format=format_count),
        Column("created_at", "Created", "created_at", template="replication/cells/ago.html"),
        Column("created_by.username", "Created by"),
        Column("applied_at", "Applied", "applied_at", template="replication/cells/ago.html"),
        Column("applied_by.username", "Applied by"),
    ),
    search=("name",),
    default_sort="-created_at",
)
