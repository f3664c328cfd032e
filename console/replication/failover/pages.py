"""Pages of failovers: parse, one read or one action, render."""

from __future__ import annotations

import json
from collections.abc import Callable
from uuid import UUID

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect
from django.utils import timezone
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from console.accounts.asked_rights import person_of
from console.frame.errors import ActionRefused, or_404
from console.frame.pages.forms import attempt
from console.frame.pages.render import render_page
from console.frame.security.access import can, page, require
from console.replication.failover import actions, page_context, queries
from console.replication.failover.forms import ConfirmForm, PlanForm, UndoForm
from console.replication.failover.models import FailoverPlan, FailoverRun
from console.replication.failover.queries import report_key
from console.replication.failover.tables import GROUPS, OUTCOMES, PLANS, RUNS
from console.replication.flows.models import ReplicationFlow
from console.replication.flows.page_context import around_flow, find_flow
from jobs.cluster.errors import InvalidFields
from jobs.replication.failover.reports.forms import html_of, pdf_of
from jobs.reports.rendering.html import content_policy


@require_GET
@page("view", queries.where)
def list_page(request: HttpRequest, flow_id: int) -> HttpResponseBase:
    """Show the plans of a flow."""
    flow = find_flow(flow_id)
    table = PLANS.read(request, queries.list_plans(flow), f"flow-{flow.pk}-failover-plans")
    context = {
        **around_flow(request, flow, "failover"),
        "table": table,
        "may_fail_over": can(request.user, "operate", flow.target_id),
        "may_fail_back": can(request.user, "operate", flow.source_id),
    }
    return render_page(request, "replication/failover/list.html", context, is_live=True)


@require_http_methods(["GET", "POST"])
@page("operate", queries.where_set)
def new_page(request: HttpRequest, flow_id: int, direction: str) -> HttpResponse:
    """Create a plan in one direction."""
    flow = find_flow(flow_id)
    require(request.user, "view", flow.source_id, flow.target_id)
    groups = queries.groups_to_choose(flow, flow.spec(), direction)
    form = PlanForm(groups, request.POST or None)
    plan = _try_create(request, flow, form, direction) if form.is_valid() else None
    if plan is not None:
        return redirect("replication:failover-plan", flow.pk, plan.pk)
    is_back = direction == "failback"
    context = {
        **around_flow(request, flow, "failover"),
        "form": form,
        "direction": direction,
        "origin": flow.target if is_back else flow.source,
        "destination": flow.source if is_back else flow.target,
    }
    return render_page(request, "replication/failover/new.html", context)


@require_GET
@page("view", queries.where)
def plan_page(request: HttpRequest, flow_id: int, plan_id: int) -> HttpResponseBase:
    """Show a plan: the answer, pre-checks, groups, commands, runs."""
    plan = page_context.find_plan(request, flow_id, plan_id)
    return _render_plan(request, plan, ConfirmForm(prefix="apply"), UndoForm(prefix="undo"))


@require_GET
@page("view", queries.where)
def group_page(request: HttpRequest, flow_id: int, plan_id: int, row_id: int) -> HttpResponse:
    """Show one group of a plan: each partition before and after, with its proof."""
    plan = page_context.find_plan(request, flow_id, plan_id)
    row = or_404(
        queries.get_group(plan, row_id), "This group is not in the plan: the plan was refreshed."
    )
    context = {
        **around_flow(request, find_flow(flow_id), "failover"),
        **page_context.around_plan(request, plan),
        "row": row,
        "findings": page_context.findings_of(row.document["checks"]),
        "items": page_context.items_of(row),
    }
    return render_page(request, "replication/failover/group.html", context)


@require_GET
@page("view", queries.where)
def run_page(request: HttpRequest, flow_id: int, plan_id: int, run_id: UUID) -> HttpResponseBase:
    """Show a run: its progress, the outcome of each group, its report."""
    plan, run = _run_of(request, flow_id, plan_id, run_id)
    table = OUTCOMES.read(request, run.run_groups.all(), f"failover-run-{run.pk}")
    signature = json.loads(run.report)["signature"] if run.report else None
    context = {
        **around_flow(request, find_flow(flow_id), "failover"),
        **page_context.around_plan(request, plan),
        "run": run,
        "table": table,
        "signature": signature,
        "forms": FORMS,
        "public_key": report_key().public_pem,
    }
    return render_page(request, "replication/failover/run.html", context, is_live=True)


@require_GET
@page("view", queries.where)
def report(
    request: HttpRequest, flow_id: int, plan_id: int, run_id: UUID, form: str
) -> HttpResponse:
    """Return the signed report of a run as HTML, PDF or JSON."""
    run = _run_of(request, flow_id, plan_id, run_id)[1]
    if form not in FORMS or not run.report:
        raise Http404("This report does not exist. It is written when the run has ended.")
    return report_response(run, form)


@require_GET
@page("view", queries.where)
def commands_csv(request: HttpRequest, flow_id: int, plan_id: int, which: str) -> HttpResponse:
    """Return the file for kafka-consumer-groups.sh: `apply` or `undo`."""
    plan = page_context.find_plan(request, flow_id, plan_id)
    found = or_404(
        page_context.commands_of(plan).get(which), "There are two files: apply and undo."
    )
    answer = HttpResponse(found.csv, content_type="text/csv; charset=utf-8")
    answer["Content-Disposition"] = f'attachment; filename="{found.file_name}"'
    return answer


@require_POST
@page("operate", queries.where_set)
def refresh(request: HttpRequest, flow_id: int, plan_id: int) -> HttpResponse:
    """Query both clusters again."""
    plan = page_context.find_plan(request, flow_id, plan_id)
    attempt(request, lambda: actions.refresh_plan(plan, person_of(request)))
    return redirect("replication:failover-plan", flow_id, plan_id)


@require_POST
@page("operate", queries.where_set)
def rehearse(request: HttpRequest, flow_id: int, plan_id: int) -> HttpResponse:
    """Start a dry run."""
    plan = page_context.find_plan(request, flow_id, plan_id)
    try:
        run = actions.rehearse_plan(plan, person_of(request), timezone.now())
    except ActionRefused as refusal:
        messages.error(request, refusal.message)
        return redirect("replication:failover-plan", flow_id, plan_id)
    return redirect("replication:failover-run", flow_id, plan_id, run.pk)


@require_POST
@page("operate", queries.where_set)
def apply(request: HttpRequest, flow_id: int, plan_id: int) -> HttpResponseBase:
    """Set the offsets, after the plan's name was typed."""
    plan = page_context.find_plan(request, flow_id, plan_id)
    form, undo_form = ConfirmForm(request.POST, prefix="apply"), UndoForm(prefix="undo")
    run = _try_run(
        form, lambda typed: actions.apply_plan(plan, typed, person_of(request), timezone.now())
    )
    if run is None:
        return _render_plan(request, plan, form, undo_form)
    return redirect("replication:failover-run", flow_id, plan_id, run.pk)


@require_POST
@page("operate", queries.where_set)
def undo(request: HttpRequest, flow_id: int, plan_id: int) -> HttpResponseBase:
    """Roll back, after the plan's name was typed."""
    plan = page_context.find_plan(request, flow_id, plan_id)
    form = UndoForm(request.POST, prefix="undo")

    def ask(typed: str) -> FailoverRun:
        moved = form.cleaned_data["even_if_moved"]
        return actions.undo_plan(
            plan, typed, person_of(request), timezone.now(), even_if_moved=moved
        )

    run = _try_run(form, ask)
    if run is None:
        return _render_plan(request, plan, ConfirmForm(prefix="apply"), form)
    return redirect("replication:failover-run", flow_id, plan_id, run.pk)


def _run_of(
    request: HttpRequest, flow_id: int, plan_id: int, run_id: UUID
) -> tuple[FailoverPlan, FailoverRun]:
    plan = page_context.find_plan(request, flow_id, plan_id)
    run = or_404(queries.get_run(plan, run_id), f"Run {run_id} of this plan does not exist.")
    return plan, run


def _try_create(
    request: HttpRequest, flow: ReplicationFlow, form: PlanForm, direction: str
) -> FailoverPlan | None:
    try:
        values = {**form.values(), "direction": direction}
        return actions.create_plan(flow, values, person_of(request), timezone.now())
    except InvalidFields as invalid:
        form.take_errors(invalid.errors)
        return None


def _try_run(form: ConfirmForm, ask: Callable[[str], FailoverRun]) -> FailoverRun | None:
    if not form.is_valid():
        return None
    try:
        return ask(form.cleaned_data["confirm"])
    except InvalidFields as invalid:
        form.take_errors(invalid.errors)
    except ActionRefused as refusal:
        form.add_error(None, refusal.message)
    return None


def _render_plan(
    request: HttpRequest, plan: FailoverPlan, apply_form: ConfirmForm, undo_form: UndoForm
) -> HttpResponseBase:
    groups = GROUPS.read(request, queries.list_groups(plan), f"failover-plan-{plan.pk}-groups")
    runs = RUNS.read(request, queries.list_runs(plan), f"failover-plan-{plan.pk}-runs")
    around = page_context.around_plan(request, plan)
    context = {
        **around_flow(request, find_flow(plan.flow_id), "failover"),
        **around,
        "facts": page_context.facts_of(plan),
        "findings": page_context.findings_of(plan.document.get("checks", ())),
        "topics": page_context.topics_of(plan),
        "groups": groups,
        "runs": runs,
        "commands": page_context.shown_commands(plan),
        "apply_form": apply_form,
        "undo_form": undo_form,
    }
    # The page refreshes itself: a plan expires. A form with errors stays as it is.
    is_live = request.method == "GET"
    return render_page(
        request, "replication/failover/plan.html", {**context, "is_live": is_live}, is_live=True
    )


FORMS = ("html", "pdf", "json")


def report_response(run: FailoverRun, form: str) -> HttpResponse:
    """Return a report; the JSON form is the document as it was signed. Call it for a run that has one."""
    document = json.loads(run.report)
    name = f"failover-{run.kind}-{run.pk}.{form}"
    if form == "html":
        answer = HttpResponse(html_of(document), content_type="text/html; charset=utf-8")
        answer["Content-Security-Policy"] = content_policy()
        answer["Content-Disposition"] = f'inline; filename="{name}"'
        return answer
    if form == "pdf":
        answer = HttpResponse(pdf_of(document), content_type="application/pdf")
    else:
        answer = HttpResponse(run.report, content_type="application/json")
    answer["Content-Disposition"] = f'attachment; filename="{name}"'
    return answer
