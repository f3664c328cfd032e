"""What the palette and the rail say of availability."""

from __future__ import annotations

from typing import Any

from django.urls import reverse

from console.availability.status import queries
from console.frame.pages.badges import Badge, count_badge
from console.frame.pages.navigation import SearchHit
from console.frame.security.access import can_anywhere, visible
from jobs.availability.status.severity import Severity


def find_jumps(user: Any, words: str, limit: int) -> list[SearchHit]:
    """Return the availability of clusters whose alias contains the words."""
    if not can_anywhere(user, "view"):
        return []
    rows = queries.list_clusters().order_by("alias")
    for word in words.split():
        rows = rows.filter(alias__icontains=word)
    return [
        SearchHit("availability", row.alias, reverse("availability:detail", args=[row.alias]))
        for row in visible(user, rows)[:limit]
    ]


def badge(user: Any) -> Badge | None:
    """Return how many clusters have partitions with nothing to spare, else how many there are; one query."""
    rows: Any = visible(user, queries.list_clusters())
    worst = list(rows.values_list("worst", flat=True))
    serious = sum((one or 0) >= Severity.AT_MIN_ISR for one in worst)
    return count_badge(serious, len(worst), "cluster")
