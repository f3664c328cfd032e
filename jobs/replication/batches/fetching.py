"""The fetching half: one loop per source broker, and what the source's surprises mean."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections import defaultdict
from collections.abc import Collection, Coroutine, Iterator
from typing import Any

from jobs.cluster.descriptions import TopicPartition
from jobs.cluster.errors import ClusterFault
from jobs.cluster.raw.errors import FaultKind, kind_of
from jobs.cluster.raw.fetch import FetchedPartition, FetchPosition, fetch
from jobs.cluster.raw.fetch_format import FetchLimits
from jobs.cluster.raw.offsets import EARLIEST, LATEST, list_offsets
from jobs.cluster.raw.timing import Backoff, Timing
from jobs.replication.batches.batch_partition import BatchPartition
from jobs.replication.batches.leaders import Leaders
from jobs.replication.batches.sending import Sending
from jobs.replication.batches.throttle import Throttle
from jobs.replication.copier import PartitionState
from jobs.wire.errors import BatchError

RETRY_S = 10.0
LOOK_S = 0.1
PARTITION_BYTES = 1024 * 1024
ANSWER_BYTES = 16 * 1024 * 1024
# What may be fetched and not yet sent: of one partition, and of all of a task.
PARTITION_ROOM = 2 * 1024 * 1024
ROOM = 32 * 1024 * 1024
WAIT_MS = 500
# While some partitions have no room, the others must not keep the fetch waiting for them.
SHORT_WAIT_MS = 5
# How long a partition is read from the replica that the leader recommends (KIP-392).
PREFERRED_S = 300.0


class SourceChanged(Exception):
    """The source lost records that were fetched and not committed: begin again at what is committed."""

    def __init__(self, where: TopicPartition) -> None:
        super().__init__(f"the log of {where} was cut on the source")


class Fetching:
    """Fetches what partitions have room for and queues what comes of it."""

    def __init__(
        self,
        source: Leaders,
        parts: Collection[BatchPartition],
        *,
        read_committed: bool,
        throttle: Throttle,
        sending: Sending,
    ) -> None:
        self._source = source
        self._parts = parts
        self._read_committed = read_committed
        self._throttle = throttle
        self._sending = sending
        self._brokers: dict[int, list[BatchPartition]] = {}
        self._preferred: dict[BatchPartition, tuple[int, float]] = {}
        self.throttled_ms = 0

    def new_loops(self) -> Iterator[Coroutine[Any, Any, None]]:
        """Yield a loop for every broker that serves partitions and has none yet."""
        read_from: dict[int, list[BatchPartition]] = defaultdict(list)
        for part in self._parts:
            broker = self._broker_of(part)
            if broker is not None:
                read_from[broker].append(part)
        new = read_from.keys() - self._brokers.keys()
        self._brokers = {**{broker: [] for broker in self._brokers}, **read_from}
        for broker in new:
            yield self._fetch_from(broker)

    def _broker_of(self, part: BatchPartition) -> int | None:
        preferred = self._preferred.get(part)
        if preferred is not None and preferred[1] > time.monotonic():
            return preferred[0]
        return self._source.leader(part.where)

    async def _fetch_from(self, broker: int) -> None:
        backoff = Backoff(Timing())
        while True:
            wanted, all_wanted = self._wanted(broker)
            if not wanted:
                await self._wait_for_room()
                continue
            try:
                taken = await self._fetch(broker, wanted, WAIT_MS if all_wanted else SHORT_WAIT_MS)
            except ClusterFault as fault:
                if not fault.retriable:
                    raise
                await self._away(wanted, fault, backoff)
                continue
            backoff.forget()
            rest_s = self._throttle.rest_s(taken)
            if rest_s:
                self.throttled_ms += int(rest_s * 1000)
                await asyncio.sleep(rest_s)

    async def _wait_for_room(self) -> None:
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._sending.room(), LOOK_S)

    async def _offset_of(self, where: TopicPartition, at: int) -> int | None:
        found = (await list_offsets(self._source.cluster, {where: at}, read_committed=False))[where]
        return None if isinstance(found, ClusterFault) else found.offset

    def _wanted(self, broker: int) -> tuple[list[BatchPartition], bool]:
        """Return the partitions to fetch, and whether none was left out for want of room."""
        served = [p for p in self._brokers[broker] if p.is_open and p.retry_at is None]
        if sum(part.queued_bytes for part in self._parts) >= ROOM:
            return [], False
        wanted = [part for part in served if part.queued_bytes < PARTITION_ROOM]
        return wanted, len(wanted) == len(served)

    async def _fetch(self, broker: int, wanted: list[BatchPartition], wait_ms: int) -> int:
        answer = await fetch(
            self._source.cluster,
            broker,
            [self._position_of(part) for part in wanted],
            FetchLimits(
                max_wait_ms=wait_ms,
                min_bytes=1,
                max_bytes=ANSWER_BYTES,
                read_committed=self._read_committed,
            ),
        )
        by_place = {part.where: part for part in wanted}
        taken = 0
        for where, fetched in answer.partitions.items():
            part = by_place[where]
            taken += len(fetched.records)
            await self._take(part, fetched)
        self._sending.wake()
        return taken

    def _position_of(self, part: BatchPartition) -> FetchPosition:
        return FetchPosition(
            topic=part.where.topic,
            topic_id=self._source.topic_id(part.where.topic),
            partition=part.where.partition,
            offset=part.fetched,
            leader_epoch=self._source.leader_epoch(part.where),
            last_fetched_epoch=part.leader_epoch,
            max_bytes=PARTITION_BYTES,
        )

    async def _take(self, part: BatchPartition, fetched: FetchedPartition) -> None:
        if fetched.error is not None:
            await self._surprised(part, fetched.error)
        elif fetched.diverging_epoch is not None:
            if part.is_dirty:
                raise SourceChanged(part.where)
            part.diverged(fetched.diverging_epoch.end_offset)
        elif fetched.preferred_read_replica is not None:
            self._preferred[part] = (fetched.preferred_read_replica, time.monotonic() + PREFERRED_S)
        else:
            self._queue(part, fetched)

    def _queue(self, part: BatchPartition, fetched: FetchedPartition) -> None:
        end = fetched.last_stable_offset if self._read_committed else fetched.high_watermark
        part.end_offset = end
        try:
            taken = part.intake.take(fetched.records, part.fetched, fetched.aborted)
        except BatchError as error:
            part.fail(f"{part.where}: {error}. Nothing from there on was copied.")
            return
        if taken.stopped_at is not None:
            part.needs_record_path(f"its batch at offset {taken.stopped_at} has an old format")
        part.receive(taken)
        is_at_end = end is not None and part.fetched >= end
        part.state = PartitionState.CAUGHT_UP if is_at_end else PartitionState.COPYING
        part.reason = ""

    async def _surprised(self, part: BatchPartition, fault: ClusterFault) -> None:
        """Take an error of one partition: look again, go on elsewhere, or set it aside."""
        kind = kind_of(fault)
        self._preferred.pop(part, None)
        if kind is FaultKind.RESET_POSITION:
            await self._find_position(part)
        elif kind in (FaultKind.REFRESH_METADATA, FaultKind.RETRY):
            part.retries += 1
            await self._source.refresh()
        else:
            part.set_aside(f"{fault.message} {fault.hint}", time.monotonic() + RETRY_S)

    async def _find_position(self, part: BatchPartition) -> None:
        """Go on at the log start when retention was faster; stop when the log became shorter."""
        start = await self._offset_of(part.where, EARLIEST)
        end = await self._offset_of(part.where, LATEST)
        if start is None or end is None:
            return  # nobody answered: the next fetch says so again
        if part.fetched < start:
            part.skip_to(start)
            return
        part.fail(
            f"{part.where} ends at offset {end} but was copied up to {part.fetched}: its log was "
            "truncated or the topic was created again."
        )

    async def _away(
        self, wanted: list[BatchPartition], fault: ClusterFault, backoff: Backoff
    ) -> None:
        """A broker does not answer: say so, look for other leaders, and try again a little later."""
        for part in wanted:
            part.state, part.reason = PartitionState.RETRYING, f"{fault} {fault.hint}"
            part.retries += 1
            self._preferred.pop(part, None)
        await asyncio.sleep(backoff.next_s())
        try:
            await self._source.refresh()
        except ClusterFault as other:
            if not other.retriable:
                raise
