"""Search hits and badge of runs and analyses."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from django.db.models import QuerySet
from django.urls import reverse

from console.frame.pages.navigation import Badge
from console.frame.pages.search import SearchHit, find_rows
from console.frame.security.access import visible
from console.runs import queries
from console.runs.models import LIVE_STATES
from jobs.spark.analyses.kinds import QUESTIONS


def find_hits(user: Any, words: Sequence[str], limit: int) -> Iterator[SearchHit]:
    """Yield the kinds of analyses, and live runs; one query."""
    for kind in QUESTIONS.values():
        path = reverse("runs:new-analysis", args=[kind.kind])
        yield SearchHit("analysis", kind.title, path, also=kind.kind)
    live = queries.list_runs().filter(state__in=LIVE_STATES)
    for run in find_rows(user, live, words, "run", "title", "state")[:limit]:
        path = reverse("runs:detail", args=[run.pk])
        yield SearchHit("run", run.title, path, run.state.lower())


def badge(user: Any) -> Badge | None:
    """Return how many runs are live; one query."""
    live = visible(user, queries.list_runs().filter(state__in=LIVE_STATES)).count()
    return Badge(f"{live} live", "runs" if live > 1 else "run") if live else None


def audited() -> dict[str, tuple[QuerySet[Any], str]]:
    """Return the rows that audit entries name by their key, with the field of the name."""
    return {"run": (queries.list_runs(), "title")}
