"""Search hits and sidebar badge of runs."""

from __future__ import annotations

from typing import Any

from django.db.models import QuerySet
from django.urls import reverse

from console.frame.pages.navigation import Badge, SearchHit
from console.frame.security.access import can_anywhere, visible
from console.runs import queries
from console.runs.models import LIVE_STATES


def find_jumps(user: Any, words: str, limit: int) -> list[SearchHit]:
    """Return live runs whose title contains the words."""
    if not can_anywhere(user, "view"):
        return []
    live = queries.list_runs().filter(title__icontains=words, state__in=LIVE_STATES)
    runs = visible(user, live)
    return [
        SearchHit("run", run.title, reverse("runs:detail", args=[run.pk]), run.state.lower())
        for run in runs[:limit]
    ]


def badge(user: Any) -> Badge | None:
    """Return how many runs are live; one query."""
    live = visible(user, queries.list_runs().filter(state__in=LIVE_STATES)).count()
    return Badge(f"{live} live", "runs" if live > 1 else "run") if live else None


def audited() -> dict[str, tuple[QuerySet[Any], str]]:
    """Return the rows that audit entries name by their key, with the field of the name."""
    return {"run": (queries.list_runs(), "title")}
