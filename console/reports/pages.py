"""Pages of reports. Rows are scoped by what the reader may see."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from console.frame.errors import ActionRefused, or_404
from console.frame.pages.forms import attempt
from console.frame.pages.render import render_page
from console.frame.security.access import anywhere, can, can_here, page
from console.reports import actions, queries
from console.reports.downloads import chart_response, file_response
from console.reports.forms import PastPeriodForm, ReportForm
from console.reports.models import Report, ReportRun, RunState
from console.reports.page_context import files_of, sections_of, tabs_of
from console.reports.subjects import names_of
from console.reports.tables import REPORTS, RUNS, kind_title
from jobs.reports.kinds.kind import KINDS, ReportKind
from jobs.reports.periods import LABELS, PeriodName

SHOWN_RUNS = 20


@require_GET
@page("view", anywhere)
def list_page(request: HttpRequest) -> HttpResponseBase:
    """Show the reports that are wanted."""
    table = REPORTS.read(request, queries.list_reports(request.user), "reports")
    context = {"table": table, "tabs": tabs_of(request.user, "reports:list")}
    return render_page(request, "reports/list.html", context, is_live=True)


@require_GET
@page("view", anywhere)
def runs_page(request: HttpRequest) -> HttpResponseBase:
    """Show what was made."""
    table = RUNS.read(request, queries.list_runs(request.user), "report-runs")
    context = {"table": table, "tabs": tabs_of(request.user, "reports:runs")}
    return render_page(request, "reports/runs.html", context, is_live=True)


@require_GET
@page("operate", anywhere)
def kinds_page(request: HttpRequest) -> HttpResponse:
    """Show which kinds of reports there are."""
    is_admin = can(request.user, "administer")
    kinds = [one for one in KINDS.values() if is_admin or not one.for_admins]
    return render_page(request, "reports/kinds.html", {"kinds": kinds})


@require_http_methods(["GET", "HEAD", "POST"])
@page("operate", anywhere)
def new_page(request: HttpRequest, report_kind: str) -> HttpResponse:
    """Keep a report of one kind, or look at one without keeping it."""
    found = _kind(report_kind, request)
    person: Any = request.user
    form = ReportForm(found, person, request.POST or None)
    made: list[Any] = []
    if request.method == "POST" and form.is_valid():
        do = actions.preview if "preview" in request.POST else actions.create_report
        form.attempt(lambda: made.append(do(form.values, person, timezone.now())))
    if made and isinstance(made[0], ReportRun):
        return redirect("reports:run", made[0].pk)
    if made:
        messages.success(request, f"{made[0].name} was created. It has no schedule.")
        return redirect("reports:detail", made[0].pk)
    return render_page(request, "reports/new.html", {"kind": found, "form": form})


@require_GET
@page("view", anywhere)
def detail_page(request: HttpRequest, report_id: int) -> HttpResponse:
    """Show one report: what is wanted, its schedules, what was made."""
    report = _report(request, report_id)
    title = report.name
    arguments = json.dumps({"report": report.pk})
    asked = urlencode({"kind": queries.SCHEDULE_KIND, "arguments": arguments, "title": title})
    runs = queries.list_runs(request.user).filter(report=report)
    may_change = queries.may_change(report, request.user)
    context = {
        "report": report,
        "stopped": queries.why_stopped(report),
        "kind": kind_title(report.kind),
        "period": LABELS[PeriodName(report.period)],
        "subjects": names_of(report.kind, report.subjects, request.user),
        "schedules": queries.list_schedules(report),
        "schedule_href": f"{reverse('schedules:new')}?{asked}",
        "runs": runs.order_by("-created_at")[:SHOWN_RUNS],
        "past": PastPeriodForm(),
        "may_change": may_change,
        "may_schedule": may_change and can(request.user, "operate"),
    }
    return render_page(request, "reports/detail.html", context, is_live=True)


@require_http_methods(["GET", "HEAD", "POST"])
@page("operate", anywhere)
def settings_page(request: HttpRequest, report_id: int) -> HttpResponse:
    """Change what is wanted of a report; or delete it."""
    report = _changeable(request, report_id)
    person: Any = request.user
    names = (*actions.CHANGEABLE,)
    initial = {name: getattr(report, name) for name in names}
    initial["subjects"] = names_of(report.kind, report.subjects, person)
    form = ReportForm(KINDS[report.kind], person, request.POST or None, initial=initial)
    if (
        request.method == "POST"
        and form.is_valid()
        and form.attempt(lambda: actions.change_report(report_id, form.values, person))
    ):
        messages.success(request, "The report was saved.")
        return redirect("reports:detail", report_id)
    return render_page(request, "reports/settings.html", {"report": report, "form": form})


@require_POST
@page("operate", anywhere)
def run_now(request: HttpRequest, report_id: int) -> HttpResponse:
    """Make it now: of its own period, or of another one that is over."""
    report = _changeable(request, report_id)
    person: Any = request.user
    now = timezone.now()
    form = PastPeriodForm(request.POST)
    made: list[ReportRun] = []

    def do() -> None:
        period = form.period(report.time_zone, now) if form.is_valid() else None
        made.append(actions.run_report(report.pk, person, now, period))

    if attempt(request, do):
        return redirect("reports:run", made[0].pk)
    return redirect("reports:detail", report_id)


@require_POST
@page("operate", anywhere)
def delete(request: HttpRequest, report_id: int) -> HttpResponse:
    person: Any = request.user
    report = _changeable(request, report_id)
    if not attempt(request, lambda: actions.delete_report(report.pk, person)):
        return redirect("reports:settings", report_id)
    messages.success(request, f"{report.name} was deleted. Its report runs stay.")
    return redirect("reports:list")


@require_GET
@page("view", queries.where_run)
def run_page(request: HttpRequest, run_id: UUID) -> HttpResponse:
    """Show a report that was made, or how far it is."""
    run = _run(request, run_id)
    context: dict[str, Any] = {
        "run": run,
        "kind": kind_title(run.kind),
        "deliveries": queries.list_deliveries(run),
        "files": files_of(run),
        "may_remove": can_here(request, "operate") and not run.is_live,
    }
    if run.state == RunState.READY:
        try:
            document = queries.read_document(run)
            context |= {"document": document, "sections": sections_of(run, document)}
        except ActionRefused as refusal:
            context["problem"] = refusal.message
    return render_page(request, "reports/run.html", context, is_live=True)


@require_GET
@page("view", queries.where_run)
def file_page(request: HttpRequest, run_id: UUID, file_format: str) -> HttpResponseBase:
    """Download a report in one format."""
    return file_response(_run(request, run_id), file_format)


@require_GET
@page("view", queries.where_run)
def chart_page(request: HttpRequest, run_id: UUID, number: int) -> HttpResponseBase:
    """Show a chart of a report."""
    return chart_response(_run(request, run_id), number)


@require_POST
@page("operate", queries.where_run)
def remove(request: HttpRequest, run_id: UUID) -> HttpResponse:
    """Remove a report that was made."""
    person: Any = request.user
    run = _run(request, run_id)
    if not attempt(request, lambda: actions.remove_run(run.pk, person)):
        return redirect("reports:run", run_id)
    messages.success(request, "The report was removed, with its files.")
    return redirect("reports:runs")


def _kind(kind: str, request: HttpRequest) -> ReportKind:
    found = KINDS.get(kind)
    if found is None or (found.for_admins and not can(request.user, "administer")):
        raise Http404(f"There is no kind of report {kind}.")
    return found


def _report(request: HttpRequest, report_id: int) -> Report:
    return or_404(queries.get_report(report_id, request.user), f"There is no report {report_id}.")


def _changeable(request: HttpRequest, report_id: int) -> Report:
    report = _report(request, report_id)
    queries.require_change(report, request.user)
    return report


def _run(request: HttpRequest, run_id: UUID) -> ReportRun:
    return or_404(
        queries.get_run(run_id, request.user),
        f"There is no report {run_id}. It may have been removed.",
    )
