"""Who leads the partitions of a flow right now, from one snapshot of a cluster's metadata."""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from uuid import UUID

from jobs.cluster.descriptions import TopicPartition
from jobs.cluster.errors import ClusterFault
from jobs.cluster.protocol.cluster import RawCluster
from jobs.cluster.protocol.errors import LeaderMoved
from jobs.cluster.protocol.metadata import ClusterMetadata

# Elections take longer than this, so asking more often tells nothing new.
REFRESH_S = 0.1


class Leaders:
    """The newest metadata of some topics; `learn` comes first. `version` counts how often it was read."""

    def __init__(self, cluster: RawCluster, topics: Collection[str]) -> None:
        self.cluster = cluster
        self._topics = frozenset(topics)
        self._known: ClusterMetadata | None = None
        self.version = 0

    async def learn(self) -> None:
        """Read the metadata, if it was not read before; raises `ClusterFault`."""
        self._known = await self.cluster.metadata(self._topics)
        self.version += 1

    async def refresh(self) -> None:
        """Read it again, a tenth of a second after the last time at the earliest; raises `ClusterFault`."""
        known = self._known
        if known is not None:
            age_s = self.cluster.timing.clock() - known.read_at_s
            await asyncio.sleep(max(REFRESH_S - age_s, 0.0))
        self._known = await self.cluster.metadata(self._topics, newer_than=known)
        self.version += 1

    async def request_refresh(self) -> None:
        """Refresh, unless no broker answers now; raises `ClusterFault` for what is not retriable."""
        try:
            await self.refresh()
        except ClusterFault as fault:
            if not fault.retriable:
                raise

    def leader(self, where: TopicPartition) -> int | None:
        """Return the broker that leads a partition, None while none is known to."""
        return self._known.leader(where) if self._known else None

    def leader_epoch(self, where: TopicPartition) -> int:
        """Return the epoch of that leader, -1 when it is not known."""
        found = self._known.partition(where) if self._known else None
        return found.leader_epoch if found else -1

    def topic_id(self, topic: str) -> UUID | None:
        """Return a topic's id, None when it is not known."""
        found = self._known.topics.get(topic) if self._known else None
        return found.topic_id if found else None

    async def need_leader(self, where: TopicPartition) -> int:
        """Return the leader, after one look for it where it is not known; raises `LeaderMoved`."""
        if self.leader(where) is None:
            await self.refresh()
        leader = self.leader(where)
        if leader is None:
            raise LeaderMoved(f"{where} has no leader.", cluster=self.cluster.alias)
        return leader
