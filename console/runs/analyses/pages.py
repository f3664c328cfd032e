"""Pages that start analyses, and files of results."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.csrf import csrf_exempt, csrf_protect
from django.views.decorators.http import require_http_methods, require_safe

from console.accounts.models import User
from console.frame.errors import ActionRefused, or_404
from console.frame.pages.render import render_page
from console.frame.pages.uploads import BoundedList, too_large_in
from console.frame.security.access import anywhere, page
from console.runs import queries
from console.runs.analyses import downloads
from console.runs.analyses.actions import ask
from console.runs.analyses.forms import AnalysisForm
from console.runs.analyses.page_context import group_of, grouped, terms_of
from console.runs.analyses.results import check_reader
from console.runs.models import Run
from jobs.spark.analyses.kinds import QUESTIONS

_STARTED = "The analysis is queued. Its result appears here."
_LIVE = "The same analysis is running already: this is its run."


@require_safe
@page("operate", anywhere)
def kinds_page(request: HttpRequest) -> HttpResponse:
    """Show the kinds of analyses by group; forms are filled from the query."""
    asked = f"?{request.GET.urlencode()}" if request.GET else ""
    groups = [
        (
            group,
            [
                (one, reverse("runs:new-analysis", args=[one.kind]) + asked, text)
                for one, text in kinds
            ],
        )
        for group, kinds in grouped(QUESTIONS.values())
    ]
    return render_page(request, "runs/analyses/new.html", {"groups": groups})


@csrf_exempt  # the inner page checks it, after the upload handler is set
@require_http_methods(["GET", "HEAD", "POST"])
@page("operate", anywhere)
def ask_page(request: HttpRequest, kind: str) -> HttpResponseBase:
    """Take uploaded lists to disk instead of memory."""
    request.upload_handlers = [BoundedList(request)]
    return _ask_page(request, kind)


@csrf_protect
def _ask_page(request: HttpRequest, kind: str) -> HttpResponse:
    analysis = QUESTIONS.get(kind)
    if analysis is None:
        messages.warning(request, f"There is no analysis of the kind {kind}. Choose one of these:")
        return redirect("runs:new")
    given = request.POST if request.method == "POST" else None
    names = {one.name for one in analysis.arguments}
    initial = {name: value for name, value in request.GET.items() if name in names and value}
    files = request.FILES if request.method == "POST" else None
    form = AnalysisForm(analysis, request.user, given, files=files, initial=initial)
    if given is not None and _is_valid(form, request):
        run = _ask(request, form)
        if run is not None:
            return redirect("runs:detail", run.pk)
    context: dict[str, Any] = {
        "form": form,
        "analysis": analysis,
        "group": group_of(analysis),
        "terms": terms_of(analysis),
    }
    return render_page(request, "runs/analyses/ask.html", context)


@require_safe
@page("view", queries.where)
def csv_page(request: HttpRequest, run_id: UUID, table: str) -> HttpResponseBase:
    """Stream a table of an answer as CSV."""
    return downloads.csv_of(_answered(request, run_id), table)


@require_safe
@page("view", queries.where)
def parquet_page(request: HttpRequest, run_id: UUID, table: str) -> HttpResponseBase:
    """Stream a table of an answer as Parquet."""
    return downloads.parquet_of(_answered(request, run_id), table)


def _is_valid(form: AnalysisForm, request: HttpRequest) -> bool:
    form.is_valid()
    form.refuse_large(too_large_in(request))
    return form.is_valid()


def _ask(request: HttpRequest, form: AnalysisForm) -> Run | None:
    """Return the run that answers; None when it was refused, and the form says why."""
    user = request.user if isinstance(request.user, User) else None
    try:
        asked = ask(form.question, user, timezone.now(), at_most=settings.ANALYSES_PER_PERSON)
    except ActionRefused as refusal:
        form.add_error(None, refusal.message)
        return None
    if asked.is_new:
        messages.success(request, _STARTED)
    else:
        messages.info(request, _LIVE)
    return asked.run


def _answered(request: HttpRequest, run_id: UUID) -> Run:
    run = or_404(queries.get_run(run_id), f"There is no run {run_id}.")
    check_reader(run, request.user)
    return run
