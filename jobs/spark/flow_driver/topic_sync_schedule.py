"""When the remote topics of a running flow are made to follow their source topics."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from jobs.cluster.client import ClusterClient
from jobs.cluster.descriptions import TopicDescription
from jobs.replication.flow.spec import FlowSpec
from jobs.replication.topics.changes import PARTITIONS
from jobs.replication.topics.sync import TopicSync, sync_topics

# MirrorMaker 2 looks every ten minutes; asking is cheap, and nothing is written that is right already.
SYNC_INTERVAL_S = 60.0
MOST_TOLD = 50


@dataclass(slots=True)
class TopicSyncSchedule:
    """Syncs once at the beginning and then about once a minute; `last` is what came of it."""

    every_s: float = SYNC_INTERVAL_S
    clock: Callable[[], float] = time.monotonic
    last: TopicSync | None = None
    _due_at: float = 0.0

    def sync_if_due(
        self,
        flow: FlowSpec,
        source: ClusterClient,
        target: ClusterClient,
        topics: Sequence[TopicDescription],
    ) -> bool:
        """Make the remote topics follow, if it is time; returns whether one of them grew. Raises nothing."""
        if self.clock() < self._due_at:
            return False
        known = self.last.overrides if self.last else None
        found = sync_topics(source, target, flow, topics, datetime.now(UTC), known)
        self._due_at = self.clock() + self.every_s
        self.last = found
        return any(change.key == PARTITIONS for change in found.changes)

    def request_sync(self) -> None:
        """Let the next survey make the topics follow: the settings changed."""
        self._due_at = 0.0

    def to_mapping(self) -> dict[str, Any] | None:
        """Return JSON values, at most 50 of each kind; None before the first sync."""
        if self.last is None:
            return None
        told = self.last.to_mapping()
        return {k: v[:MOST_TOLD] if isinstance(v, list) else v for k, v in told.items()}
