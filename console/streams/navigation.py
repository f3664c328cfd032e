"""Search hits of Kafka Streams applications."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from console.frame.pages.addresses import address_of
from console.frame.pages.search import SearchHit, find_rows, pages_of
from console.streams import queries
from console.streams.page_context import application_tabs

_KIND = "streams application"
_PAGES = f"{_KIND} overview rebalances key-lookup key lookup topology description"


def find_hits(user: Any, words: Sequence[str], limit: int) -> Iterator[SearchHit]:
    """Yield pages of applications; one query."""
    rows = queries.list_applications()
    for one in find_rows(user, rows, words, _PAGES, "application_id", "cluster__alias")[:limit]:
        alias = one.cluster.alias
        description = address_of("streams:description", alias, one.application_id)
        below = {"label": "Topology description", "href": description}
        tabs = [*application_tabs(alias, one.application_id), below]
        for hit in pages_of(words, _KIND, one.application_id, tabs, [one.cluster_id]):
            yield hit if hit.detail else replace(hit, detail=alias)
