"""What the palette finds among runs."""

from __future__ import annotations

from typing import Any

from django.urls import reverse

from console.frame.access import can
from console.frame.navigation import Jump
from console.runs import queries
from console.runs.models import LIVE_STATES


def find_jumps(user: Any, words: str, limit: int) -> list[Jump]:
    """Return live runs whose title contains the words."""
    if not can(user, "view"):
        return []
    runs = queries.list_runs().filter(title__icontains=words, state__in=LIVE_STATES)
    return [
        Jump("run", run.title, reverse("runs:detail", args=[run.pk]), run.state.lower())
        for run in runs[:limit]
    ]
