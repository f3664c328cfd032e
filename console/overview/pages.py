"""The overview: open issues, clusters, flows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_GET

from console.frame.pages.render import render_page
from console.frame.security.access import Action, anywhere, page
from console.overview import queries
from console.overview.queries import Overview
from console.replication.flows.queries import LAG, LAG_MS, RATE, Flow
from jobs.numbers import (
    format_count,
    format_least,
    format_rate,
    format_span_ms,
    largest_of,
    not_known,
    sum_of,
)
from jobs.severity import Severity


@require_GET
@page("view", anywhere)
def overview(request: HttpRequest) -> HttpResponse:
    """Show open issues by severity, then every flow and every cluster."""
    picture = queries.read_overview(timezone.now(), request.user)
    context = {
        "picture": picture,
        "facts": overview_facts(picture),
        "steps": first_steps(picture.clusters, picture.flows),
    }
    return render_page(request, "overview/overview.html", context, is_live=True)


def overview_facts(picture: Overview) -> list[dict[str, Any]]:
    """Return open issues, lag and throughput as the facts component takes them."""
    serious = [f for f in picture.findings if f.severity is Severity.CRITICAL]
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
            "label": "Open issues",
            "value": format_count(len(picture.findings)),
            "note": f"{len(serious)} critical" if picture.findings else "no open issue",
            "severity": picture.findings[0].severity if picture.findings else "",
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


BOTH_CLUSTERS = 2


@dataclass(frozen=True, slots=True)
class Step:
    """One step: `is_next` for the first that is not done. `needs` is the right it takes."""

    title: str
    text: str
    is_done: bool
    is_next: bool
    needs: Action
    href: str
    label: str


def first_steps(clusters: Sequence[Any], flows: Sequence[Flow]) -> list[Step]:
    """Return the steps; none once a flow was measured."""
    if any(flow.measured_at is not None for flow in flows):
        return []
    steps = _steps(flows[0] if flows else None)
    done = [
        len(clusters) >= 1 or bool(flows),
        len(clusters) >= BOTH_CLUSTERS or bool(flows),
        bool(flows),
        False,
    ]
    following = done.index(False)
    return [
        Step(title, text, done[number], number == following, needs, href, label)
        for number, (title, text, needs, href, label) in enumerate(steps)
    ]


def _steps(flow: Flow | None) -> list[tuple[str, str, Action, str, str]]:
    new_cluster = reverse("clusters:new")
    return [
        (
            "Register the source cluster.",
            "Bootstrap servers, security and an alias such as east. The connection is checked when you save.",
            "administer",
            new_cluster,
            "Register cluster",
        ),
        (
            "Register the target cluster.",
            "The positions of the flow are stored there, in MirrorMaker 2's format.",
            "administer",
            new_cluster,
            "Register cluster",
        ),
        (
            "Create a replication flow.",
            "Select topics. The preview shows the remote topic of each before the flow starts.",
            "operate",
            reverse("replication:new"),
            "New flow",
        ),
        (
            "Start the flow.",
            "The page of the flow shows its lag within seconds.",
            "operate",
            reverse("replication:detail", args=[flow.pk]) if flow else "",
            "Open the flow",
        ),
    ]
