"""Pages of flows: parse, one read or one action, render."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect
from django.utils import timezone
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from console.accounts.asked_rights import person_of
from console.clusters.trouble.told import troubles_of
from console.findings.models import Kind
from console.findings.objectives.queries import list_objectives, with_states
from console.findings.queries import open_findings, worst_of_each_rule
from console.frame.pages.forms import RemovalForm, attempt
from console.frame.pages.render import render_page
from console.frame.security.access import anywhere, can_here, page
from console.frame.tables.table import Table
from console.replication.checkpoints import queries as readiness_queries
from console.replication.checkpoints.news import checkpoint_news
from console.replication.control.reconcile import restarts_for_settings
from console.replication.control.stages import stages_of
from console.replication.flows import actions, queries
from console.replication.flows.facts import flow_facts, why_no_topics
from console.replication.flows.forms import FlowForm, NewFlowForm, SettingsForm
from console.replication.flows.history import draw_states
from console.replication.flows.models import ReplicationFlow
from console.replication.flows.page_context import (
    analyses_of,
    around_flow,
    audit_links,
    find_flow,
)
from console.replication.flows.preview import lacking_of, policies_on, preview_flow
from console.replication.flows.tables import FLOWS, PARTITIONS, TOPICS, steered
from console.runs.tables import RUNS
from jobs.cluster.errors import InvalidFields
from jobs.numbers import read_whole
from jobs.severity import Severity

# Looked at for the flow's first page, which has a line for each rule; all have a page of their own.
MOST_FAILURES = 500


@require_GET
@page("view", anywhere)
def list_page(request: HttpRequest) -> HttpResponseBase:
    """Show all flows."""
    table = FLOWS.read(request, queries.list_flows(), "flows")
    now = timezone.now()
    queries.with_recent_lag(queries.with_status(table.rows, now), now)
    under = {pk for flow in table.rows for pk in (flow.source_id, flow.target_id)}
    context = {
        "table": table,
        "troubles": troubles_of(under, now),
        "clusters": queries.list_clusters(request.user),
    }
    return render_page(request, "replication/flows/list.html", context, is_live=True)


@require_GET
@page("view", queries.where)
def detail_page(request: HttpRequest, flow_id: int) -> HttpResponseBase:
    """Show the status of a flow, its topics and its lag over time."""
    flow = find_flow(flow_id)
    table = _table(request, TOPICS, flow).read(
        request, queries.list_topics(flow), f"flow-{flow.pk}-topics"
    )
    around = around_flow(request, flow, "detail")
    context = {
        **around,
        "states": draw_states(flow, around["time_range"], timezone.now()),
        "table": table,
        "facts": flow_facts(flow),
        "empty": why_no_topics(flow),
        "stages": stages_of(flow.run, timezone.now()),
        "findings": queries.findings_of(flow),
        "objectives": with_states(list_objectives().filter(flow=flow), timezone.now()),
        "failures": worst_of_each_rule(open_findings(Kind.FLOW, flow=flow)[:MOST_FAILURES]),
        "topic_news": topic_news(flow),
        "answer": readiness_queries.answer_of(flow),
        "failover_freshness": readiness_queries.freshness_of(flow),
        "checkpoint_news": checkpoint_news(flow),
        "analyses": analyses_of(flow),
        "audit_links": audit_links(flow),
        "waiting_topics": queries.list_topics(flow).filter(accepts_new=True)[:20],
    }
    return render_page(request, "replication/flows/detail.html", context, is_live=True)


@require_GET
@page("view", queries.where)
def partitions_page(request: HttpRequest, flow_id: int) -> HttpResponseBase:
    """Show every partition: position, end, lag, state and reason; the chart is of the topic asked for."""
    flow = find_flow(flow_id)
    table = _table(request, PARTITIONS, flow).read(
        request, queries.list_partitions(flow), f"flow-{flow.pk}-partitions"
    )
    context = {
        **around_flow(request, flow, "partitions"),
        "table": table,
        "topic": request.GET.get("topic", ""),
    }
    return render_page(request, "replication/flows/partitions.html", context, is_live=True)


@require_GET
@page("view", queries.where)
def runs_page(request: HttpRequest, flow_id: int) -> HttpResponseBase:
    flow = find_flow(flow_id)
    table = RUNS.read(request, queries.list_runs(flow), f"flow-{flow.pk}-runs")
    context = {**around_flow(request, flow, "runs"), "table": table}
    return render_page(request, "replication/flows/runs.html", context, is_live=True)


@require_http_methods(["GET", "POST"])
@page("operate", anywhere)
def new_page(request: HttpRequest) -> HttpResponse:
    """Create a flow."""
    aliases = [cluster.alias for cluster in queries.list_clusters(request.user)]
    form = NewFlowForm(aliases, request.POST if request.method == "POST" else None)
    flow = _try_create(request, form) if request.method == "POST" else None
    if flow is not None:
        messages.success(request, f"Flow {flow.name} was created.")
        return redirect("replication:detail", flow.pk)
    return render_page(request, "replication/flows/new.html", {"form": form, "aliases": aliases})


@require_POST
@page("operate", anywhere)
def preview(request: HttpRequest) -> HttpResponse:
    """Show the preview of the flow in this form."""
    aliases = [cluster.alias for cluster in queries.list_clusters(request.user)]
    form = FlowForm(aliases, request.POST)
    form.fields["name"].required = False
    context: dict[str, Any] = {"topics": None, "problems": {}}
    if form.is_valid():
        try:
            values = {**form.values(), "name": form.values()["name"] or "new"}
            spec = actions.check_settings(values, request.user, _flow_of_form(request))
            context["topics"], context["cautions"] = preview_flow(spec)
            context["lacking"] = lacking_of(spec)
            context["policies"] = policies_on(spec.target.alias)
        except InvalidFields as invalid:
            context["problems"] = invalid.errors
    return render_page(request, "replication/flows/_preview.html", context)


@require_http_methods(["GET", "POST"])
@page("operate", queries.where)
def settings_page(request: HttpRequest, flow_id: int) -> HttpResponse:
    """Change a flow's settings."""
    flow = find_flow(flow_id)
    form = SettingsForm(flow, request.POST if request.method == "POST" else None)
    if request.method == "POST" and _try_change(request, flow, form):
        messages.success(request, f"Saved. {_effect(flow)}".strip())
        return redirect("replication:detail", flow.pk)
    context = {
        **around_flow(request, flow, "settings"),
        "form": form,
        "removal": RemovalForm(flow.name, "flow's name"),
    }
    return render_page(request, "replication/flows/settings.html", context)


@require_POST
@page("operate", queries.where)
def start(request: HttpRequest, flow_id: int) -> HttpResponse:
    """Start a flow."""
    flow = find_flow(flow_id)
    done = f"Flow {flow.name} is starting: its status shows the stages."
    attempt(request, lambda: actions.start_flow(flow), done)
    return redirect("replication:detail", flow.pk)


@require_POST
@page("operate", queries.where)
def stop(request: HttpRequest, flow_id: int) -> HttpResponse:
    """Stop a flow."""
    flow = find_flow(flow_id)
    actions.stop_flow(flow)
    messages.success(
        request, f"Flow {flow.name} is stopping: it flushes records and commits its positions."
    )
    return redirect("replication:detail", flow.pk)


@require_POST
@page("operate", queries.where)
def delete(request: HttpRequest, flow_id: int) -> HttpResponse:
    """Delete a flow; its topics and positions on the target stay."""
    flow = find_flow(flow_id)
    if not RemovalForm(flow.name, "flow's name", request.POST).is_valid():
        text = f"Flow {flow.name} was not deleted. Type its name to confirm: {flow.name}"
        messages.error(request, text)
        return redirect("replication:settings", flow.pk)
    gone = actions.delete_flow(flow, timezone.now())
    words = "was deleted" if gone else "is deleted as soon as its run has stopped"
    messages.success(request, f"Flow {flow.name} {words}.")
    return redirect("replication:list")


@require_POST
@page("operate", queries.where)
def accept_topics(request: HttpRequest, flow_id: int) -> HttpResponse:
    """Copy topics that were created again from their beginning."""
    flow = find_flow(flow_id)
    try:
        actions.accept_new_topics(flow, request.POST.getlist("topics"))
        messages.success(
            request, "Accepted. The flow restarts and replicates the topics from their start."
        )
    except InvalidFields as invalid:
        messages.error(request, invalid.errors["topics"])
    return redirect("replication:detail", flow.pk)


def _flow_of_form(request: HttpRequest) -> int | None:
    """Return which flow a form is about; None for a new one."""
    return read_whole(request.POST.get("flow", ""), 2**63 - 1)


def _table(request: HttpRequest, table: Table, flow: ReplicationFlow) -> Table:
    """Return a table of a flow, with buttons in its rows for people who may press them."""
    is_steered = can_here(request, "operate") and not flow.is_watched
    return steered(table, flow) if is_steered else table


def _try_create(request: HttpRequest, form: NewFlowForm) -> ReplicationFlow | None:
    user = person_of(request)
    if not form.is_valid():
        form.complete(lambda: actions.check_settings(form.values(), user))
        return None
    try:
        return actions.create_flow(
            form.values(), user, timezone.now(), start=form.is_started, confirm=form.confirmed
        )
    except InvalidFields as invalid:
        form.take_errors(invalid.errors)
        return None


def _effect(flow: ReplicationFlow) -> str:
    """Say what a running flow does about its changed settings."""
    if flow.run is None or not flow.run.is_live:
        return ""
    if restarts_for_settings(flow, flow.run):
        return "The flow restarts with the new settings; its status shows the stages."
    return "The running flow applies the new settings within seconds, without a restart."


def _try_change(request: HttpRequest, flow: ReplicationFlow, form: SettingsForm) -> bool:
    if not form.is_valid():
        sides = {"source": flow.source.alias, "target": flow.target.alias}
        values = {**form.values(), **sides}
        form.complete(lambda: actions.check_settings(values, request.user, flow.pk))
        return False
    try:
        actions.change_flow(flow, form.values(), confirm=form.confirmed)
    except InvalidFields as invalid:
        form.take_errors(invalid.errors)
        return False
    return True


@dataclass(frozen=True, slots=True)
class TopicNews:
    """The last sync: `changes` are rows as in `topic_sync`; `findings` (failed) and `notes` (unchanged)
    are for `_finding.html`.
    """

    at: datetime
    changed_at: datetime | None
    changes: list[dict[str, Any]]
    findings: list[dict[str, Any]]
    notes: list[dict[str, Any]]


def topic_news(flow: ReplicationFlow) -> TopicNews | None:
    """Return the changes of the last sync; None for none."""
    sync = flow.topic_sync
    if not (sync.get("changes") or sync.get("notes") or sync.get("failures")):
        return None
    return TopicNews(
        datetime.fromisoformat(sync["at"]),
        _moment(sync.get("changed_at")),
        [{**change, "before": change["from"]} for change in sync["changes"]],
        _findings(sync["failures"], Severity.CRITICAL, "Failed"),
        _findings(sync["notes"], Severity.INFO, "Unchanged"),
    )


def _moment(text: str | None) -> datetime | None:
    return datetime.fromisoformat(text) if text else None


def _findings(
    notes: Iterable[Mapping[str, str]], severity: Severity, word: str
) -> list[dict[str, Any]]:
    return [
        {
            "severity": severity,
            "word": word,
            "what": " ".join(filter(None, [note["topic"], note["key"]])) or "The flow",
            "why": note["text"],
        }
        for note in notes
    ]
