"""Search hits of incidents and open findings, the badge of findings, names for the audit log."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from console.findings import queries
from console.findings.incidents import navigation as incidents
from console.findings.models import Incident
from console.frame.pages.navigation import Badge, count_badge
from console.frame.pages.search import SearchHit, find_rows
from console.frame.security.access import visible


def find_hits(user: Any, words: Sequence[str], limit: int) -> Iterator[SearchHit]:
    """Yield the pages of incidents and of open findings; two queries."""
    yield from incidents.find_hits(user, words, limit)
    rows = find_rows(user, queries.open_findings(), words, "finding", "code", "subject")
    for one in rows[:limit]:
        label = f"{one.word}: {one.subject}" if one.subject else one.word
        yield SearchHit("finding", label, one.subject_href or one.href, one.place, one.code)


def audited() -> dict[str, Any]:
    """Return the rows that the audit log names by their key."""
    return {"incident": (Incident.objects.all(), "title")}


def badge(user: Any) -> Badge | None:
    """Return how many open findings need attention; one query."""
    serious = queries.above_notices(queries.open_findings())
    return count_badge(visible(user, serious).count(), 0, "finding")
