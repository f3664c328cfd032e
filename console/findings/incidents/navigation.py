"""Badge of the sidebar and search hits of incidents."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from console.findings.incidents import queries
from console.findings.incidents.models import Incident, State
from console.frame.pages.navigation import Badge, count_badge
from console.frame.pages.search import SearchHit, find_rows
from console.frame.security.access import visible


def find_hits(user: Any, words: Sequence[str], limit: int) -> Iterator[SearchHit]:
    """Yield the pages of incidents that are not resolved; one query."""
    rows = find_rows(user, queries.open_incidents(), words, "incident", "title", "subject")
    for one in rows[:limit]:
        yield SearchHit("incident", one.title, one.href, one.place, one.subject)


def badge(user: Any) -> Badge | None:
    """Return how many incidents are neither resolved nor silenced; one query."""
    rows = Incident.objects.filter(ended_at=None).exclude(state=State.SILENCED)
    return count_badge(visible(user, rows).count(), 0, "incident")
