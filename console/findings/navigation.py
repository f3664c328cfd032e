"""Search hits of open findings, and the badge of the sidebar."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from console.findings import queries
from console.frame.pages.navigation import Badge, count_badge
from console.frame.pages.search import SearchHit, find_rows
from console.frame.security.access import visible


def find_hits(user: Any, words: Sequence[str], limit: int) -> Iterator[SearchHit]:
    """Yield the pages of open findings; one query."""
    rows = find_rows(user, queries.open_findings(), words, "finding", "code", "subject")
    for one in rows[:limit]:
        label = f"{one.word}: {one.subject}" if one.subject else one.word
        yield SearchHit("finding", label, one.href, one.place, one.code)


def badge(user: Any) -> Badge | None:
    """Return how many open findings need attention; one query."""
    serious = queries.above_notices(queries.open_findings())
    return count_badge(visible(user, serious).count(), 0, "finding")
