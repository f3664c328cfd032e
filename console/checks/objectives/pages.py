"""Pages of objectives."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST

from console.checks.actions import remove, require_on, shown
from console.checks.objectives.actions import save
from console.checks.objectives.forms import ObjectiveForm
from console.findings.objectives import queries
from console.findings.objectives.models import Objective
from console.frame.errors import or_404
from console.frame.pages.forms import attempt
from console.frame.pages.render import render_page
from console.frame.security.access import anywhere, can, can_anywhere, page, visible


@require_http_methods(["GET", "HEAD", "POST"])
@page("view", anywhere)
def objectives_page(request: HttpRequest, objective_id: int = 0) -> HttpResponseBase:
    """Show the objectives with the form of one of them or of a new one; save what is sent."""
    person: Any = request.user
    rows, now, form = visible(person, queries.list_objectives()), timezone.now(), None
    row = or_404(rows.filter(pk=objective_id).first()) if objective_id else Objective()
    may = can(person, "operate", *row.clusters) if row.pk else can_anywhere(person, "operate")
    name = f"{row.name} ({row.scope})" if row.pk else ""
    if may:
        initial = shown(row) if row.pk else request.GET.dict()
        form = ObjectiveForm(person, request.POST or None, initial, row.kind)
    elif request.method == "POST":
        require_on(person, row.clusters)
    if form and form.is_valid() and form.attempt(lambda: save(row, form.cleaned_data, person, now)):
        messages.success(request, "Objective saved. It is measured from the next round on.")
        return redirect("checks:objectives")
    found = queries.with_states(rows, now)
    context = {"objectives": found, "form": form, "row": row, "name": name}
    return render_page(request, "checks/objectives.html", context)


@require_POST
@page("operate", queries.where_objective)
def remove_objective(request: HttpRequest, objective_id: int) -> HttpResponse:
    person: Any = request.user
    row = or_404(visible(person, queries.list_objectives().filter(pk=objective_id)).first())
    attempt(request, lambda: remove(row, person), "Objective removed.")
    return redirect("checks:objectives")
