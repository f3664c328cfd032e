"""Pages and buttons of runtime controls: parse, one action, render."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST

from console.frame.errors import ActionRefused
from console.frame.pages.forms import ActionForm, lines_field, split_lines
from console.frame.pages.render import render_page
from console.frame.security.access import page
from console.replication.control import actions as control_actions
from console.replication.control import control
from console.replication.flows import queries
from console.replication.flows.models import ReplicationFlow
from console.replication.flows.page_context import around_flow, find_flow
from jobs.cluster.errors import InvalidFields
from jobs.replication.flow.spec import HIGHEST_BYTES_PER_S, LOWEST_BYTES_PER_S
from jobs.spark.control import BULK_LAG, HIGHEST_PRIORITY

# The pages with buttons in their rows: the redirect leads back there.
_BACK = {"detail", "partitions"}


@require_http_methods(["GET", "POST"])
@page("operate", queries.where)
def control_page(request: HttpRequest, flow_id: int) -> HttpResponse:
    """Show and change the runtime controls of a flow."""
    flow = find_flow(flow_id)
    form = ControlForm(request.POST or None, initial=initial_of(flow))
    if request.method == "POST" and form.is_valid() and _try_change(flow, form):
        messages.success(request, f"Saved. {_when(flow)}")
        return redirect("replication:control", flow.pk)
    return _render(request, flow, form, RestartForm())


@require_POST
@page("operate", queries.where)
def restart(request: HttpRequest, flow_id: int) -> HttpResponse:
    """Restart topics and partitions."""
    flow = find_flow(flow_id)
    form = RestartForm(request.POST)
    if form.is_valid() and _try_restart(flow, form):
        messages.success(
            request, "Restarted: they resume at their committed positions within seconds."
        )
        return redirect("replication:control", flow.pk)
    return _render(request, flow, ControlForm(initial=initial_of(flow)), form)


@require_POST
@page("operate", queries.where)
def pause(request: HttpRequest, flow_id: int) -> HttpResponse:
    """Pause a topic or a partition."""
    return _steer(request, flow_id, control_actions.pause, "paused")


@require_POST
@page("operate", queries.where)
def resume(request: HttpRequest, flow_id: int) -> HttpResponse:
    """Resume a topic or a partition."""
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
        return "The run applies it within seconds, without a restart."
    return "It applies from the next start."


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


# The forms of a flow's control: text from a browser to the values that the actions check.

AS_SET, NO_LIMIT, OWN_LIMIT = "setting", "none", "own"


class ControlForm(ActionForm):
    """Runtime controls of a flow; the action checks them."""

    paused = lines_field(
        "Paused",
        "Topics (orders) and partitions (orders:3) that are not replicated, one per line.",
    )
    priorities = lines_field(
        "Priorities",
        f"One topic per line, for example orders = 3: from -{HIGHEST_PRIORITY} to {HIGHEST_PRIORITY}; "
        f"each step "
        "doubles the topic's share of its task while there is a backlog.",
    )
    limit = forms.ChoiceField(
        label="Limit",
        choices=[
            (AS_SET, "As in the settings"),
            (NO_LIMIT, "No limit"),
            (OWN_LIMIT, "Custom limit, below"),
        ],
        help_text="Overrides the flow's setting until it is changed here.",
    )
    max_bytes_per_s = forms.IntegerField(
        label="Custom limit (bytes/s)",
        required=False,
        min_value=LOWEST_BYTES_PER_S,
        max_value=HIGHEST_BYTES_PER_S,
        help_text="Of the whole flow, shared evenly by its tasks. Only with 'Custom limit'.",
    )
    windows = lines_field(
        "Catch-up windows",
        "Partitions above the catch-up threshold are replicated only in these hours, one window per "
        "line: Mon-Fri "
        "22:00-06:00 Europe/Berlin. Without windows: always.",
        rows=2,
    )
    bulk_lag = forms.IntegerField(
        label="Catch-up threshold (records)",
        required=False,
        min_value=0,
        help_text=f"A partition whose lag was never below this waits for a window. Empty: {BULK_LAG:,}.",
    )

    def clean_priorities(self) -> dict[str, int]:
        """Read lines like `orders = 3`."""
        found = {}
        for line in split_lines(self.cleaned_data["priorities"]):
            topic, equals, number = (part.strip() for part in line.partition("="))
            if not (equals and topic and _is_whole(number)):
                raise forms.ValidationError(f"{line} is not a line like orders = 3.")
            found[topic] = int(number)
        return found

    def clean(self) -> dict[str, Any]:
        """Require a number for a custom limit."""
        values: dict[str, Any] = super().clean() or {}
        is_missing = values.get("max_bytes_per_s") is None and "max_bytes_per_s" not in self.errors
        if values.get("limit") == OWN_LIMIT and is_missing:
            self.add_error("max_bytes_per_s", "Enter a number of bytes per second.")
        return values

    def values(self) -> dict[str, Any]:
        """Return the values as the action takes them; call after `is_valid`."""
        given = self.cleaned_data
        values = {
            "paused": split_lines(given["paused"]),
            "priorities": given["priorities"],
            "windows": split_lines(given["windows"]),
            "bulk_lag": given["bulk_lag"],
            "own_limit": given["limit"] != AS_SET,
        }
        limit = given["max_bytes_per_s"] if given["limit"] == OWN_LIMIT else None
        return values if given["limit"] == AS_SET else {**values, "max_bytes_per_s": limit}


class RestartForm(ActionForm):
    """The topics and partitions to restart."""

    names = lines_field(
        "Topics and partitions",
        "Failed ones included; one per line: a topic (orders) or a partition (orders:3).",
        rows=2,
        missing="Name a topic, or a partition like orders:3.",
    )

    def values(self) -> list[str]:
        """Return the names; call after `is_valid`."""
        return split_lines(self.cleaned_data["names"])


def initial_of(flow: ReplicationFlow) -> dict[str, Any]:
    """Return a flow's controls as values of the form."""
    now = control.shown(flow)
    own = OWN_LIMIT if now["max_bytes_per_s"] is not None else NO_LIMIT
    return {
        "paused": "\n".join(now["paused"]),
        "priorities": "\n".join(f"{topic} = {p}" for topic, p in now["priorities"].items()),
        "limit": own if now["own_limit"] else AS_SET,
        "max_bytes_per_s": now["max_bytes_per_s"],
        "windows": "\n".join(now["windows"]),
        "bulk_lag": None if now["bulk_lag"] == BULK_LAG else now["bulk_lag"],
    }


def _is_whole(text: str) -> bool:
    digits = text.removeprefix("-").removeprefix("+")
    return digits.isascii() and digits.isdecimal() and len(digits) <= 4  # noqa: PLR2004  more is out of range
