"""The page of observers: their state and its start, and the fenced standby brokers."""

from __future__ import annotations

from itertools import islice
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from console.availability.page_context import around_cluster, find_cluster
from console.availability.placements import equivalents
from console.availability.placements.observers import (
    STATES,
    ObserverCounts,
    observers_of,
    standby_brokers,
    with_history,
)
from console.availability.placements.placements import rules_of
from console.availability.what_if.cluster_models import snapshot_of
from console.clusters import queries as clusters
from console.frame.pages.freshness import Freshness
from console.frame.pages.render import render_page
from console.frame.security.access import page
from console.frame.tables.page import cut
from jobs.numbers import format_count

STATE_WORDS = (
    ("all", "all"),
    ("in_isr", "in the ISR"),
    ("leading", "leading"),
    ("waiting", "outside the ISR"),
    ("dead", "not alive"),
)


@require_safe
@page("view", clusters.where)
def observers_page(request: HttpRequest, alias: str) -> HttpResponse:
    """Show the observers of a cluster."""
    cluster = find_cluster(alias)
    picture = snapshot_of(cluster)
    found = observers_of(picture, rules_of(cluster))
    state = request.GET.get("state", "")
    asked = (state if state in STATES else "all", request.GET.get("topic", ""))
    shown = cut(
        lambda first, most: islice(found.rows(*asked, first=first), most),
        found.count(*asked),
        request.GET,
        "page",
    )
    context: dict[str, Any] = {
        **around_cluster(request, cluster, "observers"),
        "facts": _facts(found.counts),
        "counts": found.counts,
        "observers": shown,
        "rows": with_history(cluster, shown.rows),
        "standbys": standby_brokers(found),
        "state": state,
        "states": STATE_WORDS,
        "asked_topic": request.GET.get("topic", ""),
        "picture_freshness": Freshness("Placement", picture.seen_at),
        "promotes_itself": picture.promotes_itself,
        "gaps": picture.gaps,
        "equivalents": equivalents.of_observers(cluster),
    }
    return render_page(request, "availability/placements/observers.html", context, is_live=True)


def _facts(counts: ObserverCounts) -> list[dict[str, Any]]:
    return [
        {
            "label": "Observers",
            "value": format_count(counts.total),
            "note": f"of {format_count(counts.partitions)} partitions",
            "definition": "Replicas that stay outside the ISR until they are promoted; one per partition and "
            "broker.",
        },
        {
            "label": "In the ISR",
            "value": format_count(counts.in_isr + counts.leading),
            "note": f"{format_count(counts.leading)} leading",
            "definition": "Promoted observers: they count for min.insync.replicas.",
            **({"severity": "warning"} if counts.in_isr + counts.leading else {}),
        },
        {
            "label": "Outside the ISR",
            "value": format_count(counts.waiting),
            "note": "ready for promotion",
            "definition": "Observers on live brokers, outside the ISR.",
        },
        {
            "label": "Not alive",
            "value": format_count(counts.dead),
            "definition": "Observers on brokers that are down; they cannot be promoted.",
            **({"severity": "warning"} if counts.dead else {}),
        },
    ]
