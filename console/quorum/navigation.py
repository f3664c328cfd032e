"""What the palette, the rail and the pages of other rooms say of quorums."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from typing import Any

from django.urls import reverse

from console.clusters.trouble.stuck import Trouble
from console.frame.pages.navigation import Badge, SearchHit, count_badge
from console.frame.security.access import can_anywhere, visible
from console.quorum import queries
from jobs.numbers import format_age
from jobs.quorum.health.finding import QuorumCode
from jobs.severity import Severity

_SERIOUS = (Severity.CRITICAL,)
# How a quorum is made is shown on its own page and on the overview: it is no trouble of this moment.
_OF_ITS_MAKING = (QuorumCode.FEW_VOTERS, QuorumCode.EVEN_VOTERS)


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


def troubles_of(clusters: Collection[Any], now: datetime) -> list[Trouble]:
    """Return the serious open findings about the quorums of clusters; one query."""
    rows = queries.open_findings().filter(
        log__cluster__in=[one.pk for one in clusters], severity__in=_SERIOUS
    )
    rows = rows.exclude(code__in=_OF_ITS_MAKING)
    return [
        Trouble(
            Severity(row.severity),
            row.word,
            f"Quorum of {row.log.label}: {row.sentence.rstrip('.')}, seen "
            f"{format_age(row.last_seen_at, now)}.",
            reverse("quorum:detail", args=[row.log.name]),
            next=row.todo,
            since=row.opened_at,
        )
        for row in rows
    ]
