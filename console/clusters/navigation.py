"""What the palette finds among clusters, topics and groups."""

from __future__ import annotations

from typing import Any

from django.urls import reverse
from django.utils import timezone

from console.clusters import queries
from console.frame.pages.addresses import address_of
from console.frame.pages.navigation import Badge, SearchHit, count_badge
from console.frame.security.access import can_anywhere, visible
from jobs.severity import Severity


def find_jumps(user: Any, words: str, limit: int) -> list[SearchHit]:
    """Return clusters, topics and groups whose names contain the words."""
    if not can_anywhere(user, "view"):
        return []
    clusters, topics, groups = queries.find_by_words(user, words, limit)
    return [
        *(
            SearchHit("cluster", c.alias, reverse("clusters:detail", args=[c.alias]))
            for c in clusters
        ),
        *(
            SearchHit(
                "topic",
                t.name,
                reverse("clusters:topic", args=[t.cluster.alias, t.name]),
                t.cluster.alias,
            )
            for t in topics
        ),
        *(
            SearchHit(
                "group",
                g.group_id,
                address_of("clusters:group", g.cluster.alias, g.group_id),
                g.cluster.alias,
            )
            for g in groups
        ),
    ]


def list_switches(user: Any) -> list[SearchHit]:
    """Return every cluster's page, for the switcher in the rail."""
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
