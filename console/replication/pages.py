"""Pages of flows: parse, one read or one action, render."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect
from django.utils import timezone
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from console.frame.access import anywhere, page
from console.frame.errors import ActionRefused
from console.frame.render import render_page
from console.frame.tables import csv_response
from console.frame.timerange import TimeRange
from console.replication import actions, queries
from console.replication.facts import flow_facts, flow_tabs
from console.replication.forms import FlowForm, NewFlowForm, SettingsForm
from console.replication.history import draw_states
from console.replication.models import ReplicationFlow
from console.replication.tables import FLOWS, PARTITIONS, TOPICS
from console.runs.tables import RUNS
from jobs.cluster.errors import InvalidFields


@require_GET
@page("view", anywhere)
def list_page(request: HttpRequest) -> HttpResponseBase:
    """Show all flows."""
    table = FLOWS.read(request, queries.list_flows())
    if table.is_export:
        return csv_response(table, "flows")
    now = timezone.now()
    queries.with_recent_lag(queries.with_status(table.rows, now), now)
    context = {"table": table, "clusters": queries.list_clusters(request.user)}
    return render_page(request, "replication/list.html", context, is_live=True)


@require_GET
@page("view", queries.where)
def detail_page(request: HttpRequest, flow_id: int) -> HttpResponseBase:
    """Show how a flow is doing, its lag over time and its topics."""
    flow = _flow(flow_id)
    table = TOPICS.read(request, queries.list_topics(flow))
    if table.is_export:
        return csv_response(table, f"flow-{flow.pk}-topics")
    around = _around(request, flow, "detail")
    context = {
        **around,
        "states": draw_states(flow, around["time_range"], timezone.now()),
        "table": table,
        "facts": flow_facts(flow),
        "empty": "No topic of the source matches." if flow.measured_at else "Not measured yet.",
        "findings": queries.findings_of(flow),
        "waiting_topics": queries.list_topics(flow).filter(accepts_new=True)[:20],
    }
    return render_page(request, "replication/detail.html", context, is_live=True)


@require_GET
@page("view", queries.where)
def partitions_page(request: HttpRequest, flow_id: int) -> HttpResponseBase:
    """Show every partition: position, end, lag, state and reason; the chart is of the topic asked for."""
    flow = _flow(flow_id)
    table = PARTITIONS.read(request, queries.list_partitions(flow))
    if table.is_export:
        return csv_response(table, f"flow-{flow.pk}-partitions")
    context = {
        **_around(request, flow, "partitions"),
        "table": table,
        "topic": request.GET.get("topic", ""),
    }
    return render_page(request, "replication/partitions.html", context, is_live=True)


@require_GET
@page("view", queries.where)
def runs_page(request: HttpRequest, flow_id: int) -> HttpResponseBase:
    """Show the runs of a flow."""
    flow = _flow(flow_id)
    table = RUNS.read(request, queries.list_runs(flow))
    if table.is_export:
        return csv_response(table, f"flow-{flow.pk}-runs")
    context = {**_around(request, flow, "runs"), "table": table}
    return render_page(request, "replication/runs.html", context, is_live=True)


@require_http_methods(["GET", "POST"])
@page("operate", anywhere)
def new_page(request: HttpRequest) -> HttpResponse:
    """Make a flow."""
    aliases = [cluster.alias for cluster in queries.list_clusters(request.user)]
    form = NewFlowForm(aliases, request.POST or None)
    flow = _try_create(request, form) if request.method == "POST" and form.is_valid() else None
    if flow is not None:
        messages.success(request, f"Flow {flow.name} was created.")
        return redirect("replication:detail", flow.pk)
    return render_page(request, "replication/new.html", {"form": form, "aliases": aliases})


@require_POST
@page("operate", anywhere)
def preview(request: HttpRequest) -> HttpResponse:
    """Show what the flow of this form would do with each topic of its source."""
    aliases = [cluster.alias for cluster in queries.list_clusters(request.user)]
    form = FlowForm(aliases, request.POST)
    form.fields["name"].required = False
    context: dict[str, Any] = {"topics": None, "problems": {}}
    if form.is_valid():
        try:
            values = {**form.values(), "name": form.values()["name"] or "new"}
            spec = actions.check_settings(values, request.user, _flow_of_form(request))
            context["topics"] = queries.preview_topics(spec)
        except InvalidFields as invalid:
            context["problems"] = invalid.errors
    return render_page(request, "replication/_preview.html", context)


@require_http_methods(["GET", "POST"])
@page("operate", queries.where)
def settings_page(request: HttpRequest, flow_id: int) -> HttpResponse:
    """Change a flow's settings."""
    flow = _flow(flow_id)
    form = SettingsForm(flow, request.POST or None)
    if request.method == "POST" and form.is_valid() and _try_change(flow, form):
        messages.success(request, "Saved. A running flow is restarted with the new settings.")
        return redirect("replication:detail", flow.pk)
    context = {**_around(request, flow, "settings"), "form": form}
    return render_page(request, "replication/settings.html", context)


@require_POST
@page("operate", queries.where)
def start(request: HttpRequest, flow_id: int) -> HttpResponse:
    """Want the flow to run."""
    flow = _flow(flow_id)
    try:
        actions.start_flow(flow)
        messages.success(
            request, f"Flow {flow.name} starts: the first records move in some seconds."
        )
    except ActionRefused as refusal:
        messages.error(request, refusal.message)
    return redirect("replication:detail", flow.pk)


@require_POST
@page("operate", queries.where)
def stop(request: HttpRequest, flow_id: int) -> HttpResponse:
    """Want the flow to stop."""
    flow = _flow(flow_id)
    actions.stop_flow(flow)
    messages.success(
        request, f"Flow {flow.name} stops: it flushes and commits its positions first."
    )
    return redirect("replication:detail", flow.pk)


@require_POST
@page("operate", queries.where)
def delete(request: HttpRequest, flow_id: int) -> HttpResponse:
    """Delete a flow; its topics and positions on the target stay."""
    flow = _flow(flow_id)
    gone = actions.delete_flow(flow, timezone.now())
    words = "was deleted" if gone else "is deleted as soon as its run has ended"
    messages.success(request, f"Flow {flow.name} {words}.")
    return redirect("replication:list")


@require_POST
@page("operate", queries.where)
def accept_topics(request: HttpRequest, flow_id: int) -> HttpResponse:
    """Copy topics that were created again from their beginning."""
    flow = _flow(flow_id)
    try:
        actions.accept_new_topics(flow, request.POST.getlist("topics"))
        messages.success(request, "Accepted: the flow is restarted and copies from the beginning.")
    except InvalidFields as invalid:
        messages.error(request, invalid.errors["topics"])
    return redirect("replication:detail", flow.pk)


def _flow_of_form(request: HttpRequest) -> int | None:
    """Return which flow a form is about; None for a new one."""
    text = request.POST.get("flow", "")
    return int(text) if text.isdecimal() else None


def _flow(flow_id: int) -> ReplicationFlow:
    flow = queries.get_flow(flow_id, timezone.now())
    if flow is None:
        raise Http404(f"There is no flow {flow_id}. It may have been deleted.")
    return flow


def _around(request: HttpRequest, flow: ReplicationFlow, current: str) -> dict[str, Any]:
    """Return what every page of a flow shows."""
    return {
        "flow": flow,
        "tabs": flow_tabs(flow, current),
        "freshness": queries.freshness_of(flow),
        "time_range": TimeRange.from_query(request.GET.dict(), timezone.now()),
    }


def _try_create(request: HttpRequest, form: NewFlowForm) -> ReplicationFlow | None:
    user = request.user if request.user.is_authenticated else None
    try:
        return actions.create_flow(
            form.values(), user, timezone.now(), start=form.cleaned_data["start"]
        )
    except InvalidFields as invalid:
        form.take_errors(invalid.errors)
        return None


def _try_change(flow: ReplicationFlow, form: SettingsForm) -> bool:
    try:
        actions.change_flow(flow, form.values())
    except InvalidFields as invalid:
        form.take_errors(invalid.errors)
        return False
    return True
