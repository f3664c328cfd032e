"""Search hits, badge and troubles of the availability of clusters."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from datetime import datetime
from typing import Any

from django.db.models import Case, OuterRef, Subquery, When
from django.db.models.functions import Least
from django.urls import reverse

from console.availability.page_context import availability_tabs
from console.availability.status import queries
from console.availability.status.broker_models import Source
from console.availability.status.models import AvailabilityRound, PartitionStatus, Rollup
from console.clusters.models import Cluster, Topic
from console.clusters.trouble.stuck import Trouble
from console.frame.pages.navigation import Badge, count_badge
from console.frame.pages.search import SearchHit, pages_of
from console.frame.security.access import visible
from console.quorum import queries as quorum
from jobs.availability.status.severity import Severity as PartitionSeverity
from jobs.availability.status.tally import ScopeKind
from jobs.numbers import format_span_s
from jobs.severity import Severity

_MOST_BROKERS = 5
# Pages that a tab leads to.
_BELOW_TABS = (
    ("matrix", "Single-failure matrix"),
    ("controller-sites", "Controller sites"),
    ("new-placement", "New placement rule"),
    ("new-promotion-policy", "New promotion policy"),
    ("record-drill", "Record drill"),
)
_PARTITION = re.compile(r"(.+)-(\d{1,9})")


def find_hits(user: Any, words: Sequence[str], limit: int) -> Iterator[SearchHit]:
    """Yield pages of the availability of clusters, and partitions such as orders-2; two queries."""
    for cluster in visible(user, Cluster.objects.only("alias").order_by("alias")):
        alias, clusters = cluster.alias, [cluster.pk]
        below = [
            {"label": label, "href": reverse(f"availability:{name}", args=[alias])}
            for name, label in _BELOW_TABS
        ]
        tabs = [*availability_tabs(cluster, ""), *below]
        yield from pages_of(words, "availability", alias, tabs, clusters)
        path = reverse("availability:what-if", args=[alias])
        yield SearchHit(
            "action", f"Simulate failure of {alias}", path, "", "what-if simulation", clusters
        )
    named = [found.groups() for word in words if (found := _PARTITION.fullmatch(word))]
    if named:
        name, number = named[0]
        topics = Topic.objects.filter(name__iexact=name)
        rows = PartitionStatus.objects.select_related("cluster").filter(
            cluster__in=topics.values("cluster"), topic__in=topics.values("name"), partition=number
        )
        for one in visible(user, rows)[:limit]:
            place = (one.cluster.alias, one.topic, one.partition)
            path = reverse("availability:partition", args=place)
            label = f"{one.topic}-{one.partition}"
            yield SearchHit("partition", label, path, one.cluster.alias, clusters=[one.cluster_id])


def badge(user: Any) -> Badge | None:
    """Return the number of clusters with partitions at min ISR or worse, else that of all; one query."""
    rows: Any = visible(user, queries.list_clusters())
    worst = list(rows.values_list("worst", flat=True))
    serious = sum((one or 0) >= PartitionSeverity.AT_MIN_ISR for one in worst)
    return count_badge(serious, len(worst), "cluster")


def cluster_annotations() -> dict[str, Any]:
    """Return partition counts and their age, as annotations of a query of clusters.

    Rows from the metadata log are as old as the newest record that was fetched.
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
    """Return the brokers of clusters that are down, with replicas out of sync; one query."""
    watched = {one.pk: one.alias for one in clusters if one.is_enabled}
    down: dict[int, list[str]] = {}
    rows: Any = queries.list_brokers().filter(cluster__in=watched, is_there=False)
    for row in rows.filter(out_of_sync_count__gt=0).order_by("broker_id"):
        rack = f" ({row.rack})" if row.rack else ""
        since = (
            f" down for {format_span_s((now - row.since).total_seconds())}"
            if row.since
            else " down"
        )
        down.setdefault(row.cluster_id, []).append(f"broker {row.broker_id}{rack}{since}")
    return [
        Trouble(
            Severity.CRITICAL,
            "Broker down",
            f"Cluster {watched[pk]}: {_few(brokers)}.",
            reverse("availability:brokers", args=[watched[pk]]),
        )
        for pk, brokers in down.items()
    ]


def _few(brokers: list[str]) -> str:
    more = len(brokers) - _MOST_BROKERS
    return ", ".join(brokers[:_MOST_BROKERS]) + (f" and {more} more" if more > 0 else "")
