"""What the palette and the rail say of quorums."""

from __future__ import annotations

from typing import Any

from django.urls import reverse

from console.frame.pages.badges import Badge, count_badge
from console.frame.pages.navigation import SearchHit
from console.frame.security.access import can_anywhere, visible
from console.quorum import queries


def find_jumps(user: Any, words: str, limit: int) -> list[SearchHit]:
    """Return quorums whose name contains the words."""
    if not can_anywhere(user, "view"):
        return []
    logs = visible(user, queries.list_logs().order_by("name"))
    return [
        SearchHit("quorum", log.label, reverse("quorum:detail", args=[log.name]))
        for log in queries.find_logs(logs, words, limit)
    ]


def badge(user: Any) -> Badge | None:
    """Return how many quorums need attention, else how many there are; one query."""
    logs: Any = visible(user, queries.list_logs())
    counts = list(logs.values_list("open_count", flat=True))
    return count_badge(sum(bool(count) for count in counts), len(counts), "quorum")
