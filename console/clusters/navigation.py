"""What the palette finds among clusters, topics and groups."""

from __future__ import annotations

from typing import Any

from django.urls import reverse

from console.clusters import queries
from console.frame.access import can
from console.frame.navigation import Jump


def find_jumps(user: Any, words: str, limit: int) -> list[Jump]:
    """Return clusters, topics and groups whose names contain the words."""
    if not can(user, "view"):
        return []
    clusters, topics, groups = queries.find_by_words(words, limit)
    return [
        *(Jump("cluster", c.alias, reverse("clusters:detail", args=[c.alias])) for c in clusters),
        *(
            Jump(
                "topic",
                t.name,
                reverse("clusters:topic", args=[t.cluster.alias, t.name]),
                t.cluster.alias,
            )
            for t in topics
        ),
        *(
            Jump(
                "group",
                g.group_id,
                reverse("clusters:group", args=[g.cluster.alias, g.group_id]),
                g.cluster.alias,
            )
            for g in groups
        ),
    ]


def list_switches(user: Any) -> list[Jump]:
    """Return every cluster's page, for the switcher in the rail."""
    if not can(user, "view"):
        return []
    aliases = queries.list_clusters().order_by("alias").values_list("alias", flat=True)
    return [Jump("cluster", a, reverse("clusters:detail", args=[a])) for a in aliases]
