"""What the palette finds among reports."""

from __future__ import annotations

from typing import Any

from django.urls import reverse

from console.frame.pages.navigation import SearchHit
from console.frame.security.access import can_anywhere
from console.reports import queries


def find_jumps(user: Any, words: str, limit: int) -> list[SearchHit]:
    """Return reports whose name contains the words."""
    if not can_anywhere(user, "view"):
        return []
    found = queries.list_reports(user).filter(name__icontains=words).order_by("name")
    return [
        SearchHit("report", one.name, reverse("reports:detail", args=[one.pk]), one.kind)
        for one in found[:limit]
    ]
