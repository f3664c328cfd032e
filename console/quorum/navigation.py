"""Search hits, sidebar badge and open troubles of quorums."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from datetime import datetime
from typing import Any

from django.urls import reverse

from console.clusters.trouble.stuck import Trouble
from console.findings.models import Kind as FindingKind
from console.findings.queries import open_findings
from console.frame.pages.navigation import Badge, count_badge
from console.frame.pages.search import SearchHit, pages_of
from console.frame.security.access import visible
from console.quorum import queries
from console.quorum.facts import quorum_tabs
from console.quorum.models import MetadataLog
from jobs.numbers import format_age
from jobs.quorum.health.codes import QuorumCode
from jobs.severity import Severity

_SERIOUS = (Severity.CRITICAL,)
# The number of voters is shown on the quorum's page: it is no incident.
_PERMANENT = (QuorumCode.FEW_VOTERS, QuorumCode.EVEN_VOTERS)


def find_hits(user: Any, words: Sequence[str], limit: int) -> Iterator[SearchHit]:
    """Yield pages of quorums and of imported logs; one query."""
    yield SearchHit(
        "quorum", "Import metadata log", reverse("quorum:import"), also="upload archive"
    )
    for log in visible(user, MetadataLog.objects.select_related("cluster").order_by("name")):
        clusters = [log.cluster_id] if log.cluster_id else []
        kind = "imported log" if log.is_imported else "quorum"
        yield from pages_of(words, kind, log.label, quorum_tabs(log, ""), clusters)


def badge(user: Any) -> Badge | None:
    """Return how many quorums need attention, else how many there are; one query."""
    logs: Any = visible(user, queries.list_logs())
    counts = list(logs.values_list("open_count", flat=True))
    return count_badge(sum(bool(count) for count in counts), len(counts), "quorum")


def troubles_of(clusters: Collection[Any], now: datetime) -> list[Trouble]:
    """Return the serious open findings about the quorums of clusters; one query."""
    rows = open_findings(FindingKind.QUORUM).filter(
        log__cluster__in=[one.pk for one in clusters], severity__in=_SERIOUS
    )
    rows = rows.exclude(code__in=_PERMANENT)
    return [
        Trouble(
            Severity(row.severity),
            row.word,
            f"{row.place}: {row.sentence.rstrip('.')}, seen {format_age(row.last_seen_at, now)}.",
            row.href,
            next=row.todo,
            since=row.opened_at,
        )
        for row in rows
    ]
