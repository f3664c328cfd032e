"""What the palette finds of Kafka Streams applications."""

from __future__ import annotations

from typing import Any

from console.frame.pages.addresses import address_of
from console.frame.pages.navigation import SearchHit
from console.frame.security.access import can_anywhere, visible
from console.streams import queries


def find_jumps(user: Any, words: str, limit: int) -> list[SearchHit]:
    """Return applications whose id contains every word."""
    if not can_anywhere(user, "view"):
        return []
    rows = visible(user, queries.list_applications())
    for word in words.split():
        rows = rows.filter(application_id__icontains=word)
    return [
        SearchHit(
            "application",
            one.application_id,
            address_of("streams:detail", one.cluster.alias, one.application_id),
            one.cluster.alias,
        )
        for one in rows[:limit]
    ]
