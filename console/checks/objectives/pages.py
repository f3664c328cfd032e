"""Pages of objectives."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from console.checks.objectives import actions
from console.checks.objectives.forms import ObjectiveForm
from console.findings.objectives import queries
from console.findings.objectives.models import Objective
from console.frame.errors import or_404
from console.frame.pages.forms import attempt
from console.frame.pages.render import render_page
from console.frame.security.access import anywhere, can, can_anywhere, page, require, visible
from jobs.objectives.objective import Status, Window


@require_safe
@page("view", anywhere)
def list_page(request: HttpRequest) -> HttpResponseBase:
    """Show the objectives with their budgets, and a form for a new one."""
    return _objectives(request, Objective())


@require_http_methods(["GET", "HEAD", "POST"])
@page("operate", anywhere)
def new_page(request: HttpRequest) -> HttpResponseBase:
    """Create an objective."""
    return _objectives(request, Objective())


@require_http_methods(["GET", "HEAD", "POST"])
@page("view", queries.where_objective)
def objective_page(request: HttpRequest, objective_id: int) -> HttpResponseBase:
    """Show an objective, or change it; its flow or cluster stays."""
    row = _seen(request, objective_id)
    if request.method == "POST":
        require(_person(request), "operate", *row.clusters)
    return _objectives(request, row)


@require_POST
@page("operate", queries.where_objective)
def remove_objective(request: HttpRequest, objective_id: int) -> HttpResponse:
    row = _seen(request, objective_id)
    attempt(request, lambda: actions.remove(row, _person(request)), "Objective removed.")
    return redirect("checks:objectives")


def _objectives(request: HttpRequest, row: Objective) -> HttpResponseBase:
    """Show the objectives with the form of one that is saved or new; save what is sent."""
    person, now, form = _person(request), timezone.now(), None
    may = can(person, "operate", *row.clusters) if row.pk else can_anywhere(person, "operate")
    name = f"{row.name} ({row.scope})" if row.pk else ""
    if may:
        initial = actions.shown(row) if row.pk else request.GET.dict()
        form = ObjectiveForm(person, request.POST or None, initial, row.kind)
    if (
        form
        and form.is_valid()
        and form.attempt(lambda: actions.save(row, form.cleaned_data, person, now))
    ):
        messages.success(request, "Objective saved. It is measured from the next round on.")
        return redirect("checks:objectives")
    rows = visible(person, queries.list_objectives())
    context = {
        "rows": [
            (one, status, [*map(status.burn, _windows(status))])
            for one, status in queries.statuses(rows, now)
        ],
        "form": form,
        "row": row,
        "name": name,
    }
    return render_page(request, "checks/objectives.html", context)


def _windows(status: Status) -> tuple[Window, ...]:
    return status.hour, status.six_hours, status.period


def _seen(request: HttpRequest, pk: int) -> Objective:
    return or_404(visible(request.user, queries.list_objectives().filter(pk=pk)).first())


def _person(request: HttpRequest) -> Any:
    return request.user
