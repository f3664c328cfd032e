"""Search hits of the own account, of users and of the audit log."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from django.urls import reverse

from console.frame.pages.search import SearchHit

_PAGES = (
    ("account", "Tokens", "accounts:tokens", "api"),
    ("account", "Change password", "accounts:password", ""),
    ("users", "Users and roles", "accounts:people", "people accounts rights"),
    ("users", "New user", "accounts:new-person", "add person account"),
    ("users", "Audit log", "accounts:audit", "trail history"),
)


def find_hits(user: Any, words: Sequence[str], limit: int) -> Iterator[SearchHit]:
    """Yield the pages of accounts; no query."""
    for kind, label, route, also in _PAGES:
        yield SearchHit(kind, label, reverse(route), also=also)
