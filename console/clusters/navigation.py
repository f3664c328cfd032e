"""Search hits and badge of clusters: their pages, brokers, racks, topics, partitions and groups."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any
from urllib.parse import quote

from django.urls import reverse
from django.utils import timezone

from console.clusters import queries
from console.clusters.facts import CLUSTER_TABS
from console.clusters.models import Broker, Cluster, Group, Topic
from console.frame.pages.addresses import address_of
from console.frame.pages.navigation import Badge, count_badge
from console.frame.pages.search import SearchHit, find_rows, pages_of
from console.frame.security.access import can_anywhere, visible
from jobs.severity import Severity


def find_hits(user: Any, words: Sequence[str], limit: int) -> Iterator[SearchHit]:
    """Yield pages of clusters and what is on them; six queries."""
    yield SearchHit("clusters", "Register cluster", reverse("clusters:new"), also="new add")
    for pk, alias in visible(user, Cluster.objects.order_by("alias")).values_list("pk", "alias"):
        tabs = [
            {"label": label, "href": reverse(name, args=[alias])} for name, label in CLUSTER_TABS
        ]
        yield from pages_of(words, "cluster", alias, tabs, [pk])
    yield from _brokers(user, words, limit)
    yield from _topics(user, words, limit)
    groups = Group.objects.select_related("cluster")
    fields = ("group_id", "cluster__alias")
    for group in find_rows(user, groups, words, "consumer group", *fields)[:limit]:
        alias = group.cluster.alias
        path = address_of("clusters:group", alias, group.group_id)
        yield SearchHit("consumer group", group.group_id, path, alias)


def _brokers(user: Any, words: Sequence[str], limit: int) -> Iterator[SearchHit]:
    brokers = Broker.objects.select_related("cluster")
    fields = ("broker_id", "rack", "host", "cluster__alias")
    for one in find_rows(user, brokers, words, "broker", *fields)[:limit]:
        alias = one.cluster.alias
        path = f"{reverse('clusters:brokers', args=[alias])}?q={one.broker_id}"
        detail = ", ".join(filter(None, [alias, one.rack, one.host]))
        yield SearchHit("broker", f"broker {one.broker_id}", path, detail)
    racks = find_rows(user, brokers.exclude(rack=""), words, "rack", "rack", "cluster__alias")
    for rack, alias in (
        racks.order_by("rack").values_list("rack", "cluster__alias").distinct()[:limit]
    ):
        path = f"{reverse('clusters:brokers', args=[alias])}?q={quote(rack)}"
        yield SearchHit("rack", rack, path, alias)


def _topics(user: Any, words: Sequence[str], limit: int) -> Iterator[SearchHit]:
    topics = Topic.objects.select_related("cluster").only("name", "cluster__alias")
    for topic in find_rows(user, topics, words, "topic", "name", "cluster__alias")[:limit]:
        alias = topic.cluster.alias
        yield SearchHit(
            "topic", topic.name, reverse("clusters:topic", args=[alias, topic.name]), alias
        )


def list_switches(user: Any) -> list[SearchHit]:
    """Return every cluster's page, for the switcher in the sidebar."""
    if not can_anywhere(user, "view"):
        return []
    seen = visible(user, queries.list_clusters().order_by("alias"))
    aliases = seen.values_list("alias", flat=True)
    return [SearchHit("cluster", a, reverse("clusters:detail", args=[a])) for a in aliases]


def badge(user: Any) -> Badge | None:
    """Return how many clusters need attention, else how many there are; two queries."""
    clusters = queries.with_status(visible(user, queries.list_clusters()), timezone.now())
    wrong = {Severity.WARNING, Severity.CRITICAL}
    bad = sum(cluster.status.severity in wrong for cluster in clusters)
    return count_badge(bad, len(clusters), "cluster")
