"""Search hits of schedules."""

from __future__ import annotations

from typing import Any

from django.db.models import QuerySet
from django.urls import reverse

from console.frame.pages.navigation import SearchHit
from console.frame.security.access import visible
from console.schedules import queries
from console.schedules.starters import label_of


def find_jumps(user: Any, words: str, limit: int) -> list[SearchHit]:
    """Return schedules whose name contains the words."""
    found = visible(user, queries.list_schedules().filter(name__icontains=words))
    return [
        SearchHit(
            "schedule", one.name, reverse("schedules:detail", args=[one.pk]), label_of(one.kind)
        )
        for one in found[:limit]
    ]


def audited() -> dict[str, tuple[QuerySet[Any], str]]:
    """Return the rows that audit entries name by their key, with the field of the name."""
    return {"schedule": (queries.list_schedules(), "name")}
