"""What the palette, the rail and the pages of other rooms say of availability."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from typing import Any

from django.db.models import Case, OuterRef, Subquery, When
from django.db.models.functions import Least
from django.urls import reverse

from console.availability.status import queries
from console.availability.status.broker_models import Source
from console.availability.status.models import AvailabilityRound, Rollup
from console.clusters.trouble.stuck import Trouble
from console.frame.pages.navigation import Badge, SearchHit, count_badge
from console.frame.security.access import can_anywhere, visible
from console.quorum import queries as quorum
from jobs.availability.status.severity import Severity as PartitionSeverity
from jobs.availability.status.tally import ScopeKind
from jobs.numbers import format_span_s
from jobs.severity import Severity

_MOST_BROKERS = 5


def find_jumps(user: Any, words: str, limit: int) -> list[SearchHit]:
    """Return the availability of clusters whose alias contains the words."""
    if not can_anywhere(user, "view"):
        return []
    rows = queries.list_clusters().order_by("alias")
    for word in words.split():
        rows = rows.filter(alias__icontains=word)
    return [
        SearchHit("availability", row.alias, reverse("availability:detail", args=[row.alias]))
        for row in visible(user, rows)[:limit]
    ]


def badge(user: Any) -> Badge | None:
    """Return how many clusters have partitions with nothing to spare, else how many there are; one query."""
    rows: Any = visible(user, queries.list_clusters())
    worst = list(rows.values_list("worst", flat=True))
    serious = sum((one or 0) >= PartitionSeverity.AT_MIN_ISR for one in worst)
    return count_badge(serious, len(worst), "cluster")


def cluster_annotations() -> dict[str, Any]:
    """Return how partitions are and when that was read, as parts of a query of clusters.

    What the metadata log tells is as old as what was last heard of it.
    """
    heard = quorum.Log.objects.filter(pk=OuterRef("log_id")).values("heard_at")[:1]
    rounds = AvailabilityRound.objects.filter(
        cluster=OuterRef("pk"), noun=AvailabilityRound.Noun.STATUS
    )
    by_log = When(source=Source.LOG, then=Least("succeeded_at", Subquery(heard)))
    known_at = rounds.annotate(known_at=Case(by_log, default="succeeded_at")).values("known_at")
    whole = Rollup.objects.filter(cluster=OuterRef("pk"), kind=ScopeKind.CLUSTER)
    # At min ISR as Kafka counts it, but only where one of them misses a replica.
    at_min = Case(When(state_at_min_isr__gt=0, then="at_min_isr"), default=0)
    names = {
        "seen_worst": "worst",
        "seen_offline": "offline",
        "seen_under_min_isr": "state_under_min_isr",
        "seen_at_min_isr": "at_min",
        "seen_under_replicated": "state_under_replicated",
    }
    known = whole.annotate(at_min=at_min)
    counts = {name: Subquery(known.values(column)[:1]) for name, column in names.items()}
    return {"seen_at": Subquery(known_at[:1]), **counts}


def troubles_of(clusters: Collection[Any], now: datetime) -> list[Trouble]:
    """Return the brokers of clusters that are away, where replicas are missing for it; one query."""
    watched = {one.pk: one.alias for one in clusters if one.is_enabled}
    away: dict[int, list[str]] = {}
    rows: Any = queries.list_brokers().filter(cluster__in=watched, is_there=False)
    for row in rows.filter(out_of_sync_count__gt=0).order_by("broker_id"):
        rack = f" ({row.rack})" if row.rack else ""
        since = (
            f" away for {format_span_s((now - row.since).total_seconds())}"
            if row.since
            else " away"
        )
        away.setdefault(row.cluster_id, []).append(f"broker {row.broker_id}{rack}{since}")
    return [
        Trouble(
            Severity.CRITICAL,
            "Broker away",
            f"Cluster {watched[pk]}: {_few(brokers)}.",
            reverse("availability:brokers", args=[watched[pk]]),
        )
        for pk, brokers in away.items()
    ]


def _few(brokers: list[str]) -> str:
    more = len(brokers) - _MOST_BROKERS
    return ", ".join(brokers[:_MOST_BROKERS]) + (f" and {more} more" if more > 0 else "")
