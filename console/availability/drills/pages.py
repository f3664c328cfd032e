"""Pages of drills and runbooks: parse, one read or one action, render."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect
from django.utils import timezone
from django.utils.dateparse import parse_datetime
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from console.accounts.asked_rights import person_of
from console.availability.drills import actions, queries
from console.availability.drills.models import Drill
from console.availability.page_context import around_cluster, find_cluster
from console.availability.promotion import equivalents
from console.availability.promotion.audit import page_refusals_written
from console.availability.promotion.forms import DrillForm, RecordForm, RunbookForm
from console.availability.promotion.queries import is_promoter_running, round_of, stop_state
from console.availability.promotion.tables import DRILLS
from console.availability.runbooks.partition_runbooks import runbooks_for
from console.clusters import queries as clusters
from console.clusters.models import Cluster
from console.frame.errors import or_404
from console.frame.pages.render import render_page
from console.frame.security.access import can, page
from jobs.cluster.errors import InvalidFields


@require_safe
@page("view", clusters.where)
def drills_page(request: HttpRequest, alias: str) -> HttpResponseBase:
    """Show drills, and the form of a new one."""
    return _render_drills(request, find_cluster(alias), DrillForm(prefix="drill"))


@require_POST
@page_refusals_written("drill.start")
@page("operate", clusters.where)
def start(request: HttpRequest, alias: str) -> HttpResponseBase:
    """Request a drill on a test topic."""
    cluster = find_cluster(alias)
    form = DrillForm(request.POST, prefix="drill")
    found: list[Drill] = []

    def ask() -> None:
        now = timezone.now()
        found.append(actions.start_drill(cluster, form.cleaned_data, person_of(request), now))

    if form.is_valid() and form.attempt(ask):
        return redirect("availability:drill", alias, found[0].pk)
    return _render_drills(request, cluster, form)


@require_http_methods(["GET", "POST"])
@page_refusals_written("drill.record")
@page("operate", clusters.where)
def record_page(request: HttpRequest, alias: str) -> HttpResponse:
    """Record predicted and observed results."""
    cluster = find_cluster(alias)
    form = RecordForm(request.POST or None)
    found: list[Drill] = []

    def ask() -> None:
        now = timezone.now()
        found.append(actions.record_drill(cluster, form.cleaned_data, person_of(request), now))

    if form.is_valid() and form.attempt(ask):
        return redirect("availability:drill", alias, found[0].pk)
    context = {**around_cluster(request, cluster, "drills"), "form": form}
    return render_page(request, "availability/drills/record.html", context)


@require_safe
@page("view", clusters.where)
def drill_page(request: HttpRequest, alias: str, drill_id: UUID) -> HttpResponse:
    """Show one drill: measurements, predictions, log."""
    row = or_404(queries.get_drill(request.user, drill_id, alias))
    context = {
        **around_cluster(request, find_cluster(alias), "drills"),
        "drill": row,
        "results": row.results.all(),
        "lines": [(parse_datetime(at), text) for at, text in row.log],
        "equivalents": equivalents.of_drill(row),
    }
    return render_page(request, "availability/drills/drill.html", context, is_live=True)


@require_safe
@page("view", clusters.where)
def runbooks_page(request: HttpRequest, alias: str) -> HttpResponse:
    """Show runbooks by severity and cause, filled in for a partition."""
    cluster = find_cluster(alias)
    form = RunbookForm(request.GET)
    found: Any = []
    is_whole = False
    asked = (
        {n: v for n, v in form.cleaned_data.items() if v not in {None, ""}}
        if form.is_valid()
        else {}
    )
    if form.is_valid():
        try:
            # Without a state and a cause to look up: what applies now, and the catalogue only on request.
            is_whole = bool(asked.get("severity") or asked.get("cause") or "all" in request.GET)
            found = runbooks_for(cluster, asked if is_whole else {**asked, "applies": True})
        except InvalidFields as invalid:
            form.take_errors(invalid.errors)
    context = {
        **around_cluster(request, cluster, "runbooks"),
        "form": form,
        "runbooks": found,
        "asked": asked,
        "is_one": is_whole and len(found) == 1,
        "is_whole": is_whole,
        "equivalents": equivalents.of_runbooks(
            cluster, asked if is_whole else {**asked, "applies": "true"}
        ),
    }
    return render_page(request, "availability/runbooks/page.html", context)


def _render_drills(request: HttpRequest, cluster: Cluster, form: DrillForm) -> HttpResponseBase:
    table = DRILLS.read(request, queries.list_drills(cluster), f"{cluster.alias}-drills")
    row = round_of(cluster)
    context = {
        **around_cluster(request, cluster, "drills"),
        "table": table,
        "form": form,
        "actors": row.actors if row else [],
        "latest": queries.latest_by_actor(cluster),
        "stop": stop_state(cluster),
        "is_running": is_promoter_running(cluster, timezone.now()),
        "may_operate": can(request.user, "operate", cluster.pk),
        "equivalents": equivalents.of_drills(cluster),
    }
    return render_page(request, "availability/drills/list.html", context, is_live=True)
