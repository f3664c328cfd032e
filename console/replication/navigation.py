"""What the palette finds among flows."""

from __future__ import annotations

from typing import Any

from django.urls import reverse
from django.utils import timezone

from console.frame.pages.navigation import Badge, SearchHit, count_badge
from console.frame.security.access import can_anywhere, visible
from console.replication.flows import queries


def find_jumps(user: Any, words: str, limit: int) -> list[SearchHit]:
    """Return flows whose name contains the words."""
    if not can_anywhere(user, "view"):
        return []
    return [
        SearchHit(
            "flow",
            flow.name,
            reverse("replication:detail", args=[flow.pk]),
            f"{flow.source.alias} \N{RIGHTWARDS ARROW} {flow.target.alias}",
        )
        for flow in queries.find_flows(user, words, limit)
    ]


def badge(user: Any) -> Badge | None:
    """Return how many flows need attention, else how many there are; two queries."""
    flows = queries.with_status(visible(user, queries.list_flows()), timezone.now())
    return count_badge(sum(flow.status.is_wrong for flow in flows), len(flows), "flow")
