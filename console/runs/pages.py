"""Pages of runs."""

from __future__ import annotations

from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_GET, require_POST

from console.frame.errors import ActionRefused, or_404
from console.frame.pages.render import render_page
from console.frame.security.access import anywhere, page
from console.runs import actions, queries
from console.runs.analyses.page_context import around_answer
from console.runs.models import Run
from console.runs.tables import ALL_RUNS

_RUN_CANCELLED = "Stop requested: the run flushes and commits first."
_ANALYSIS_CANCELLED = "Stop requested: the analysis has no result."


@require_GET
@page("view", anywhere)
def list_page(request: HttpRequest) -> HttpResponseBase:
    """Show all runs."""
    table = ALL_RUNS.read(request, queries.list_runs(), "runs")
    return render_page(request, "runs/list.html", {"table": table}, is_live=True)


@require_GET
@page("view", queries.where)
def detail_page(request: HttpRequest, run_id: UUID) -> HttpResponse:
    """Show one run: state, progress, log."""
    run = _run(run_id)
    if run.is_analysis:
        context = around_answer(request, run)
        return render_page(request, "runs/analyses/detail.html", context, is_live=True)
    context = {"run": run, "log": queries.read_log(run), "flow_href": subject_href(run.subject)}
    return render_page(request, "runs/detail.html", context, is_live=True)


@require_POST
@page("operate", queries.where)
def cancel(request: HttpRequest, run_id: UUID) -> HttpResponse:
    """Stop a run."""
    try:
        run = _run(run_id)
        actions.cancel_run(run.pk, timezone.now())
        messages.success(request, _ANALYSIS_CANCELLED if run.is_analysis else _RUN_CANCELLED)
    except ActionRefused as refusal:
        messages.warning(request, refusal.message)
    return redirect("runs:detail", run_id)


def subject_href(subject: str) -> str:
    """Return where the subject of a run ("flow:12") is shown; empty when it has no page."""
    kind, _, number = subject.partition(":")
    if kind != "flow" or not number.isdecimal():
        return ""
    return reverse("replication:detail", args=[int(number)])


def _run(run_id: UUID) -> Run:
    return or_404(
        queries.get_run(run_id),
        f"There is no run {run_id}. Runs of flows are kept for two weeks after their end, analyses "
        "until the time on their pages.",
    )
