"""Reads a topic of offset syncs from where an archive stands, over new leaders, new topics and cut logs."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import NamedTuple

from jobs.cluster.descriptions import TopicPartition
from jobs.cluster.errors import ClusterFault
from jobs.cluster.protocol.cluster import RawCluster
from jobs.cluster.protocol.data.fetch import FetchedPartition, FetchPosition, fetch
from jobs.cluster.protocol.data.fetch_format import FetchLimits
from jobs.cluster.protocol.data.offsets import EARLIEST, LATEST, list_offsets
from jobs.cluster.protocol.errors import LeaderMoved, OffsetOutOfRange
from jobs.cluster.protocol.metadata import TopicMetadata
from jobs.replication.offset_syncs.archive_manifest import Gap, GapKind, Manifest, Source
from jobs.replication.offset_syncs.archive_writer import Increment
from jobs.replication.offset_syncs.batches import TakenSyncs, take_syncs
from jobs.wire.uuids import id_text

# MirrorMaker 2 writes all of them to one partition.
PARTITION = 0
STEP_BYTES = 4 << 20
WAIT_MS = 500

RECREATED = "The topic of offset syncs was deleted and created again."
DELETED = (
    "The log begins behind the next offset to read: records were deleted before they were read."
)
CUT = "The log was cut (an unclean leader election): what was read from its end is gone."
COMPACTED = "Compaction removed offset syncs before they were read."


class Step(NamedTuple):
    """What one request brought; `is_at_end`: the end of the topic was reached."""

    increment: Increment
    is_at_end: bool


@dataclass(slots=True)
class SyncsReader:
    """Reads one topic; knows where it is, and goes on from there after a fault.

    `next_offset` is None before anything was read; `leader_epoch` is that of the last batch, -1 for not
    known. `is_first`: nothing was ever read, so nothing can be missing.
    """

    cluster: RawCluster
    topic: str
    next_offset: int | None = None
    leader_epoch: int = -1
    topic_id: str | None = None
    is_first: bool = True

    @classmethod
    def after(cls, cluster: RawCluster, topic: str, manifest: Manifest) -> SyncsReader:
        """Go on where an archive stands; of another topic everything is read."""
        source = manifest.source
        if source is None or manifest.next_offset is None:
            return cls(cluster, topic)
        if source.topic != topic:
            return cls(cluster, topic, is_first=False)
        place = (manifest.next_offset, manifest.leader_epoch, source.topic_id)
        return cls(cluster, topic, *place, is_first=False)

    @property
    def where(self) -> TopicPartition:
        """The partition that is read."""
        return TopicPartition(self.topic, PARTITION)

    async def step(self, wait_ms: int = WAIT_MS) -> Step:
        """Read the next syncs, waiting for some at the end; raises `ClusterFault`, also without the topic.

        What is missing is told as a gap, and reading goes on behind it.
        """
        try:
            return await self._step(wait_ms)
        except ClusterFault:
            await self.look_again()
            raise

    async def _step(self, wait_ms: int) -> Step:
        topic = (await self.cluster.metadata([self.topic])).topics[self.topic]
        if topic.error is not None:
            raise topic.error
        lost = None
        if self.next_offset is None or self.topic_id != id_text(topic.topic_id):
            lost = await self._begin(topic)
        fetched = await self.fetch(topic, wait_ms)
        if fetched.diverging_epoch is not None:
            return self._gap_only(await self._start_over(CUT))
        if isinstance(fetched.error, OffsetOutOfRange):
            return self._gap_only(await self._start_over(await self._why_out_of_range()))
        if fetched.error is not None:
            raise fetched.error
        return self._take(fetched, lost)

    async def _begin(self, topic: TopicMetadata) -> Gap | None:
        """Go to the beginning of a topic that was never read, or is another one than before."""
        was_first, before = self.is_first, self.next_offset or 0
        self.next_offset = await self._listed(EARLIEST)
        self.topic_id, self.leader_epoch, self.is_first = id_text(topic.topic_id), -1, False
        return None if was_first else gap_of(GapKind.LOST, (before, None), RECREATED)

    async def _start_over(self, reason: str) -> Gap:
        """Read everything again that the log has now."""
        before, self.next_offset = self.next_offset or 0, await self._listed(EARLIEST)
        self.leader_epoch = -1
        return gap_of(GapKind.LOST, (before, max(before, self.next_offset)), reason)

    async def _why_out_of_range(self) -> str:
        return DELETED if (self.next_offset or 0) < await self._listed(EARLIEST) else CUT

    async def _listed(self, moment: int) -> int:
        found = (await list_offsets(self.cluster, {self.where: moment}, read_committed=True))[
            self.where
        ]
        if isinstance(found, ClusterFault):
            raise found
        return found.offset or 0

    async def end(self) -> int:
        """Return the last stable offset; raises `ClusterFault`."""
        return await self._listed(LATEST)

    async def fetch(self, topic: TopicMetadata, wait_ms: int) -> FetchedPartition:
        """Ask the leader for what comes next; errors of the partition stand in the answer."""
        partition = topic.partitions.get(PARTITION)
        if partition is None or partition.leader is None:
            text = f"Reading {self.where}: it has no leader now."
            raise LeaderMoved(text, cluster=self.cluster.alias)
        position = FetchPosition(
            self.topic,
            topic.topic_id,
            PARTITION,
            self.next_offset or 0,
            partition.leader_epoch,
            self.leader_epoch,
            STEP_BYTES,
        )
        limits = FetchLimits(wait_ms, 1, STEP_BYTES, read_committed=True)
        answer = await fetch(self.cluster, partition.leader, [position], limits)
        if self.where not in answer.partitions:
            raise LeaderMoved(f"Reading {self.where}: no answer.", cluster=self.cluster.alias)
        return answer.partitions[self.where]

    async def look_again(self) -> None:
        """Ask for leaders and topic ids again, as far as anybody answers."""
        try:
            await self.cluster.metadata(newer_than=await self.cluster.metadata())
        except ClusterFault:
            return

    def _take(self, fetched: FetchedPartition, lost: Gap | None) -> Step:
        taken = take_syncs(fetched.records, self.next_offset or 0, fetched.aborted)
        self.next_offset = taken.next_offset
        if taken.leader_epoch >= 0:
            self.leader_epoch = taken.leader_epoch
        end = fetched.last_stable_offset
        is_at_end = end is None or self.next_offset >= end
        read_at_ms = _now_ms() if is_at_end else None
        return Step(
            increment_of(taken, self._source(), self.leader_epoch, lost, read_at_ms), is_at_end
        )

    def _gap_only(self, gap: Gap) -> Step:
        nothing = TakenSyncs(self.next_offset or 0)
        return Step(increment_of(nothing, self._source(), -1, gap), is_at_end=False)

    def _source(self) -> Source:
        return Source(self.cluster.alias, self.topic, self.topic_id)


def increment_of(
    taken: TakenSyncs,
    source: Source,
    leader_epoch: int = -1,
    lost: Gap | None = None,
    read_at_ms: int | None = None,
) -> Increment:
    """Return what was taken as an increment for the archive; a loss is worse than a hole."""
    gap = lost
    if gap is None and taken.missing is not None:
        gap = gap_of(GapKind.COMPACTED, taken.missing, COMPACTED)
    return Increment(
        source,
        taken.names,
        taken.rows,
        taken.next_offset,
        refused=taken.refused,
        gap=gap,
        holes=taken.holes,
        leader_epoch=leader_epoch,
        newest_at_ms=taken.newest_at_ms,
        read_at_ms=read_at_ms,
    )


def gap_of(kind: GapKind, span: tuple[int, int | None], reason: str) -> Gap:
    """Return a gap that was seen now."""
    return Gap(kind, *span, before=0, at_ms=_now_ms(), reason=reason)


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
