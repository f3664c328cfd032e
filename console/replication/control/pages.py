"""Pages and buttons that steer a flow while it runs: parse, one action, render."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST

from console.frame.errors import ActionRefused
from console.frame.pages.render import render_page
from console.frame.security.access import page
from console.replication.control import actions as control_actions
from console.replication.control.forms import ControlForm, RestartForm, initial_of
from console.replication.flows import queries
from console.replication.flows.models import ReplicationFlow
from console.replication.flows.page_context import around_flow, find_flow
from jobs.cluster.errors import InvalidFields

# Where a button of a row stands, and so where its person goes back to.
_BACK = {"detail", "partitions"}


@require_http_methods(["GET", "POST"])
@page("operate", queries.where)
def control_page(request: HttpRequest, flow_id: int) -> HttpResponse:
    """Show and change what is asked of a flow while it runs."""
    flow = find_flow(flow_id)
    form = ControlForm(request.POST or None, initial=initial_of(flow))
    if request.method == "POST" and form.is_valid() and _try_change(flow, form):
        messages.success(request, f"Saved. {_when(flow)}")
        return redirect("replication:control", flow.pk)
    return _render(request, flow, form, RestartForm())


@require_POST
@page("operate", queries.where)
def restart(request: HttpRequest, flow_id: int) -> HttpResponse:
    """Let topics and partitions begin anew."""
    flow = find_flow(flow_id)
    form = RestartForm(request.POST)
    if form.is_valid() and _try_restart(flow, form):
        messages.success(request, "They begin anew at their committed positions within seconds.")
        return redirect("replication:control", flow.pk)
    return _render(request, flow, ControlForm(initial=initial_of(flow)), form)


@require_POST
@page("operate", queries.where)
def pause(request: HttpRequest, flow_id: int) -> HttpResponse:
    """Hold a topic or a partition back."""
    return _steer(request, flow_id, control_actions.pause, "paused")


@require_POST
@page("operate", queries.where)
def resume(request: HttpRequest, flow_id: int) -> HttpResponse:
    """Let a topic or a partition go on."""
    return _steer(request, flow_id, control_actions.resume, "resumed")


def _steer(
    request: HttpRequest,
    flow_id: int,
    act: Callable[[ReplicationFlow, Sequence[str]], None],
    done: str,
) -> HttpResponse:
    flow, names = find_flow(flow_id), request.POST.getlist("names")
    try:
        act(flow, names)
        messages.success(request, f"{', '.join(names)}: {done}. {_when(flow)}")
    except InvalidFields as invalid:
        messages.error(request, invalid.errors["names"])
    return redirect(_back(request, flow))


def _back(request: HttpRequest, flow: ReplicationFlow) -> str:
    """Return the page where the button was pressed, with its filters."""
    asked = request.POST.get("back", "")
    path = reverse(f"replication:{asked if asked in _BACK else 'detail'}", args=[flow.pk])
    query = QueryDict(request.POST.get("query", "")).urlencode()
    return f"{path}?{query}" if query else path


def _when(flow: ReplicationFlow) -> str:
    if flow.run is not None and flow.run.is_live:
        return "The run obeys within seconds and is not restarted."
    return "It counts from the next start on."


def _render(
    request: HttpRequest, flow: ReplicationFlow, form: ControlForm, restart_form: RestartForm
) -> HttpResponse:
    context = {**around_flow(request, flow, "control"), "form": form, "restart_form": restart_form}
    return render_page(request, "replication/control/page.html", context)


def _try_change(flow: ReplicationFlow, form: ControlForm) -> bool:
    try:
        control_actions.change_control(flow, form.values())
    except InvalidFields as invalid:
        form.take_errors(invalid.errors)
        return False
    return True


def _try_restart(flow: ReplicationFlow, form: RestartForm) -> bool:
    try:
        control_actions.restart_parts(flow, form.values())
    except InvalidFields as invalid:
        form.add_error("names", invalid.errors["names"])
        return False
    except ActionRefused as refusal:
        form.add_error(None, refusal.message)
        return False
    return True
