"""Which topics belong to a Streams application, by their names (`streams_topics`) and settings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeAlias

from jobs.wire.topics.streams_topics import (
    changelog_store,
    internal_topics,
    is_repartition,
    own_topics,
)

__all__ = [
    "CLEANUP_POLICY", "COMPACTION_LAG", "StoreKind", "changelog_store", "internal_topics", "is_repartition",
    "own_topics", "store_kind",
]  # fmt: skip

StoreKind: TypeAlias = Literal["key-value", "window or session", "versioned"]

CLEANUP_POLICY, COMPACTION_LAG = "cleanup.policy", "min.compaction.lag.ms"
# A versioned store keeps its history this much longer than it has to.
_VERSIONED_LAG_MS = 24 * 60 * 60 * 1000


def store_kind(settings: Mapping[str, str]) -> StoreKind | None:
    """Return what kind of store a changelog with these settings backs; None: none that Streams makes.

    A guess: settings can be given per store. Source: InternalTopicConfig and its subclasses.
    """
    policy = {one.strip() for one in settings.get(CLEANUP_POLICY, "").split(",")}
    if policy == {"compact", "delete"}:
        return "window or session"
    if policy != {"compact"}:
        return None
    lag = settings.get(COMPACTION_LAG, "")
    is_versioned = lag.isascii() and lag.isdigit() and int(lag) > _VERSIONED_LAG_MS
    return "versioned" if is_versioned else "key-value"
