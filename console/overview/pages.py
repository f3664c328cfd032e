"""The overview: incidents, map, charts, recent events; and the page of events."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_GET

from console.clusters.models import Cluster
from console.frame.pages.render import render_page
from console.frame.pages.timerange import TimeRange
from console.frame.security.access import anywhere, can, page, visible
from console.frame.series import MOST_POINTS
from console.overview import charts, queries
from console.overview.events import EventKind, moment_of, read_events
from console.overview.first_steps import WAYS, first_steps
from console.overview.queries import Overview
from console.replication.flows.queries import LAG, LAG_MS, RATE
from jobs.numbers import (
    format_count,
    format_least,
    format_rate,
    format_span_ms,
    largest_of,
    not_known,
    sum_of,
)

ON_OVERVIEW, ON_A_PAGE = 10, 50
LONGEST_NUMBER = 11


@require_GET
@page("view", anywhere)
def overview(request: HttpRequest) -> HttpResponse:
    """Show open incidents, the map of clusters and flows, charts, recent events, flows and clusters."""
    now = timezone.now()
    picture = queries.read_overview(now, request.user)
    context = {
        "picture": picture,
        "facts": overview_facts(picture),
        "time_range": TimeRange.from_query(request.GET.dict(), now),
        "steps": first_steps(picture.clusters, picture.flows),
        "ways": WAYS,
        "can_operate_all": can(request.user, "operate"),
        "events": read_events(request.user, now, ON_OVERVIEW)[0][:ON_OVERVIEW],
    }
    return render_page(request, "overview/overview.html", context, is_live=True)


def overview_facts(picture: Overview) -> list[dict[str, Any]]:
    """Return open issues, lag and throughput as the facts component takes them."""
    counts = picture.counts
    named = [f"{counts[name]} {name}" for name in ("critical", "acknowledged", "silenced")]
    told = ", ".join(text for text in named if not text.startswith("0 "))
    worst_card = picture.cards[0].incident.severity if picture.cards else ""
    wanted = [flow for flow in picture.flows if flow.is_wanted or flow.is_watched]
    worst = max(
        (flow for flow in wanted if flow.lag_ms is not None),
        key=lambda flow: flow.lag_ms or 0,
        default=None,
    )
    largest = largest_of(flow.lag_ms for flow in wanted).value
    unknown = sum(flow.lag is None or flow.unknown_count > 0 for flow in wanted)
    unknown_ms = sum(flow.lag_ms is None or flow.unknown_ms_count > 0 for flow in wanted)
    notes = worst.name if worst else "", not_known(unknown_ms, len(wanted), "flows")
    return [
        {
            "label": "Open incidents",
            "value": format_count(counts["all"]),
            "note": told or f"{counts['resolved']} resolved in the last 24 h",
            "severity": worst_card,
            "href": reverse("findings:incidents"),
        },
        {
            "label": "Max replication lag",
            "value": format_least(largest, unknown_ms, format_span_ms),
            "note": "; ".join(filter(None, notes)) or "no running flow is measured",
            "definition": LAG_MS,
            "href": reverse("replication:detail", args=[worst.pk]) if worst else "",
        },
        {
            "label": "Total lag (records)",
            "value": format_least(sum_of(flow.lag for flow in wanted).value, unknown),
            "note": not_known(unknown, len(wanted), "flows") or "all running flows",
            "definition": LAG,
        },
        {
            "label": "Throughput (records/s)",
            "value": format_rate(sum_of(flow.rate_per_s for flow in wanted).value),
            "note": "all running flows",
            "definition": RATE,
        },
    ]


@require_GET
@page("view", anywhere)
def series(request: HttpRequest, chart: str) -> JsonResponse:
    """Answer the columns of a chart over all clusters that the person may see."""
    now = timezone.now()
    time_range = TimeRange.from_query(request.GET.dict(), now)
    points = request.GET.get("points", "")
    most = int(points) if points.isdecimal() and len(points) < LONGEST_NUMBER else MOST_POINTS
    read = charts.read_flows if chart == "flows" else charts.read_partitions
    return JsonResponse(read(request.user, time_range, now, most))


@require_GET
@page("view", anywhere)
def events_page(request: HttpRequest) -> HttpResponse:
    """Show recent events, newest first; `event` is the permanent name of one, which is the first then."""
    now = timezone.now()
    aliases = [one.alias for one in visible(request.user, Cluster.objects.order_by("alias"))]
    kind, alias, event = (request.GET.get(name, "") for name in ("kind", "cluster", "event"))
    kind = kind if kind in EventKind.values else ""
    alias = alias if alias in aliases else ""
    before = moment_of(event) or _moment(request.GET.get("before", ""))
    rows, more = read_events(request.user, before or now, ON_A_PAGE, kind, alias)
    context = {
        "rows": rows,
        "before": int(more.timestamp()) if more else None,
        "is_newest": before is None,
        "event": event,
        "is_gone": bool(event) and all(one.id != event for one in rows),
        "kinds": EventKind.choices,
        "kind": kind,
        "aliases": aliases,
        "alias": alias,
    }
    return render_page(request, "overview/events.html", context, is_live=True)


def _moment(text: str) -> datetime | None:
    is_time = text.isdecimal() and len(text) < LONGEST_NUMBER
    return datetime.fromtimestamp(int(text), UTC) if is_time else None
