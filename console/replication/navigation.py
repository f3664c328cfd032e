"""Search hits and badge of replication flows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from django.urls import reverse
from django.utils import timezone

from console.frame.pages.navigation import Badge, count_badge
from console.frame.pages.search import SearchHit, pages_of
from console.frame.security.access import visible
from console.replication.flows import queries
from console.replication.flows.facts import flow_tabs
from console.replication.flows.models import ReplicationFlow


def find_hits(user: Any, words: Sequence[str], limit: int) -> Iterator[SearchHit]:
    """Yield pages of flows, and what can be done with them; one query."""
    yield SearchHit("action", "New replication flow", reverse("replication:new"), also="create add")
    mirror = reverse("replication:mirror-config")
    yield SearchHit("replication", "MirrorMaker 2 configuration", mirror, also="mm2 lint import")
    rows = ReplicationFlow.objects.select_related("source", "target").order_by("name")
    for flow in visible(user, rows):
        yield from _hits_of(flow, words)


def _hits_of(flow: ReplicationFlow, words: Sequence[str]) -> Iterator[SearchHit]:
    clusters = [flow.source_id, flow.target_id]
    route = f"{flow.source.alias} \N{RIGHTWARDS ARROW} {flow.target.alias}"
    translate = {
        "label": "Offset translation",
        "href": reverse("replication:translate", args=[flow.pk]),
    }
    tabs = [*flow_tabs(flow, ""), translate]
    yield from pages_of(words, "flow", flow.name, tabs, clusters)
    # The right is needed where the offsets of the groups are set.
    for direction, pk in (("failover", flow.target_id), ("failback", flow.source_id)):
        plan = reverse(f"replication:{direction}-new", args=[flow.pk])
        yield SearchHit("action", f"Plan {direction} of {flow.name}", plan, route, clusters=[pk])
    if flow.is_wanted and not flow.is_watched:
        control = reverse("replication:control", args=[flow.pk])
        yield SearchHit("action", f"Pause {flow.name}", control, route, clusters=clusters)


def badge(user: Any) -> Badge | None:
    """Return how many flows need attention, else how many there are; two queries."""
    flows = queries.with_status(visible(user, queries.list_flows()), timezone.now())
    return count_badge(sum(flow.status.is_wrong for flow in flows), len(flows), "flow")
