"""Pages of engines. An engine has flows of all clusters, so most need a role everywhere."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect
from django.utils import timezone
from django.views.decorators.http import require_GET, require_POST

from console.frame.errors import ActionRefused, or_404
from console.frame.pages.render import render_page
from console.frame.security.access import anywhere, can, page
from console.runs.engines import actions, queries
from console.runs.engines.models import Engine
from console.runs.engines.tables import ENGINES, format_cpu
from console.runs.pages import subject_href

_ROLLING = (
    "Rolling restart requested: a new engine is started, and the flows move one after the other."
)


@require_GET
@page("view", anywhere)
def list_page(request: HttpRequest) -> HttpResponseBase:
    """Show all engines."""
    table = ENGINES.read(request, queries.list_engines(), "engines")
    return render_page(request, "runs/engines/list.html", {"table": table}, is_live=True)


@require_GET
@page("view")
def detail_page(request: HttpRequest, name: str) -> HttpResponse:
    """Show one engine: slots, flows, log."""
    engine = or_404(Engine.objects.filter(pk=name).first(), f"There is no engine {name}.")
    told: dict[str, Any] = engine.progress or {}
    flows = [
        {**row, "href": subject_href(row["subject"] or ""), "cpu": format_cpu(row["cpu_percent"])}
        for row in queries.flows_of(engine)
    ]
    context = {
        "engine": engine,
        "told": told,
        "cpu": format_cpu(told.get("cpu_percent")),
        "slots": [
            {**row, "cpu": format_cpu(row["cpu_percent"]), "lost_at": _moment(row["lost_at_ms"])}
            for row in told.get("slots") or []
        ],
        "flows": flows,
        "log": queries.read_log(engine),
        "may_roll": engine.may_roll and can(request.user, "operate"),
    }
    return render_page(request, "runs/engines/detail.html", context, is_live=True)


@require_POST
@page("operate")
def roll(request: HttpRequest, name: str) -> HttpResponse:
    """Request a rolling restart."""
    try:
        actions.roll_engine(name, timezone.now())
        messages.success(request, _ROLLING)
    except ActionRefused as refusal:
        messages.warning(request, refusal.message)
    return redirect("runs:engine", name)


def _moment(at_ms: int | None) -> datetime | None:
    return None if at_ms is None else datetime.fromtimestamp(at_ms / 1000, UTC)
