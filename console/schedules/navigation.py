"""Search hits of schedules."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from django.db.models import QuerySet
from django.urls import reverse

from console.frame.pages.search import SearchHit, find_rows
from console.schedules import queries
from console.schedules.starters import label_of


def find_hits(user: Any, words: Sequence[str], limit: int) -> Iterator[SearchHit]:
    """Yield schedules; one query."""
    for one in find_rows(user, queries.list_schedules(), words, "schedule", "name", "kind")[:limit]:
        path = reverse("schedules:detail", args=[one.pk])
        yield SearchHit("schedule", one.name, path, label_of(one.kind), one.kind)


def audited() -> dict[str, tuple[QuerySet[Any], str]]:
    """Return the rows that audit entries name by their key, with the field of the name."""
    return {"schedule": (queries.list_schedules(), "name")}
