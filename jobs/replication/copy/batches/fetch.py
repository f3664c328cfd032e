"""The fetching half: one loop per source broker, and what the source's errors mean."""

from __future__ import annotations

import asyncio
import time
from collections import defaultdict
from collections.abc import Collection, Coroutine, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from jobs.cluster.descriptions import TopicPartition
from jobs.cluster.errors import ClusterFault
from jobs.cluster.protocol.data.fetch import (
    FetchedPartition,
    FetchPosition,
    FetchSession,
    fetch,
)
from jobs.cluster.protocol.data.fetch_format import FetchLimits
from jobs.cluster.protocol.transport.timing import Backoff, Timing
from jobs.replication.copy.batches.commit import CommitPace
from jobs.replication.copy.batches.leaders import Leaders
from jobs.replication.copy.batches.outgoing import Memory, OutgoingBatch
from jobs.replication.copy.batches.partition import BatchPartition
from jobs.replication.copy.batches.produce import Sender
from jobs.replication.copy.batches.source_resets import SourceResets
from jobs.replication.copy.contract import CopyState
from jobs.replication.copy.quotas import FetchScheduler, Quotas, Throttle
from jobs.waiting import wait_up_to
from jobs.wire.errors import Damaged, OldMagic, RecordFormatError

POLL_INTERVAL_S = 0.1
PARTITION_BYTES = 1024 * 1024
# The answers that are just coming in are this part of what may be held beside them. All source brokers share
# it: what a copier takes must not grow with their number. A broker whose last answer was small is queried for
# less: copiers that have nothing to copy count for nothing, and all may begin at once.
ANSWERS_SHARE, FIRST_BYTES, GROWTH = 3, 2 * 1024 * 1024, 4
SMALLEST_BYTES = 64 * 1024
# What may be fetched and not yet sent of one partition.
PARTITION_ROOM = 2 * 1024 * 1024
WAIT_MS = 500
# While some partitions have no room, the others must not keep the fetch waiting for them.
SHORT_WAIT_MS = 5
# How long a partition is read from the replica that the leader recommends (KIP-392).
PREFERRED_S = 300.0


def answer_bytes(room_bytes: int, brokers: int, last_bytes: int) -> int:
    """Return how much one of so many source brokers may answer at once, while all of them are answering.

    `room_bytes` is what the copier may hold, `last_bytes` the size of the last answer of this broker.
    """
    share = max(room_bytes // ANSWERS_SHARE // max(brokers, 1), PARTITION_BYTES)
    return min(share, max(GROWTH * last_bytes, FIRST_BYTES))


@dataclass(frozen=True, slots=True)
class FetchOptions:
    """How to fetch: with which isolation, how fast, whom to leave alone, whose turn it is, how often.

    `memory` is for what was fetched.
    """

    read_committed: bool
    throttle: Throttle
    quotas: Quotas
    turns: FetchScheduler
    commits: CommitPace
    memory: Memory


class Fetcher:
    """Fetches what partitions have room for and queues what comes of it."""

    def __init__(
        self,
        source: Leaders,
        parts: Collection[BatchPartition],
        reading: FetchOptions,
        sender: Sender,
    ) -> None:
        self.source = source
        self._parts = parts
        self._reading = reading
        self._sender = sender
        self._source_resets = SourceResets(source)
        self._brokers: dict[int, list[BatchPartition]] = {}
        self._preferred: dict[BatchPartition, tuple[int, float]] = {}
        self._asked: dict[int, tuple[float, list[BatchPartition]]] = {}
        self._memory = reading.memory
        self._last_bytes: dict[int, int] = {}
        self._moved = dict.fromkeys(parts)
        self._sessions: dict[int, tuple[FetchSession, int]] = {}

    def dirty(self) -> list[BatchPartition]:
        """Return the partitions with something that a commit would make safe."""
        moved = [part for part in self._moved if part.queue or part.is_dirty]
        self._moved = dict.fromkeys(moved)
        return [part for part in moved if part.is_dirty]

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

    def overdue(self, after_s: float) -> Iterator[tuple[int, float, list[BatchPartition]]]:
        """Yield brokers that have not answered for so long, how long it is, and what was requested."""
        for broker, (since_s, wanted) in self._asked.items():
            late_s = time.monotonic() - since_s
            if late_s > after_s:
                yield broker, late_s, wanted

    def _broker_of(self, part: BatchPartition) -> int | None:
        preferred = self._preferred.get(part)
        if preferred is not None and preferred[1] > time.monotonic():
            return preferred[0]
        return self.source.leader(part.where)

    async def _fetch_from(self, broker: int) -> None:
        backoff = Backoff(Timing())
        has_fetched = False
        while True:
            await self._let_commit()
            if not any(part.state is CopyState.COPYING for part in self._parts):
                await self._reading.commits.rest(has_fetched=has_fetched)
            has_fetched = False
            wanted, all_wanted = self._wanted(broker)
            if not wanted:
                await self._wait_for_room()
                continue
            try:
                filtered = await self._fetch(
                    broker, wanted, WAIT_MS if all_wanted else SHORT_WAIT_MS
                )
            except ClusterFault as fault:
                if not fault.retriable:
                    raise
                await self._away(wanted, fault, backoff)
                continue
            backoff.reset()
            has_fetched = filtered > 0
            await self._reading.quotas.wait((self.source.cluster.alias, broker))
            await self._reading.throttle.rest(filtered)

    async def _let_commit(self) -> None:
        """Fetch nothing during a commit where nothing waits: what comes meanwhile comes in one piece then.

        Then it is few large batches instead of many small ones, in one request instead of several.
        """
        if self._sender.is_paused and not any(p.state is CopyState.COPYING for p in self._parts):
            await wait_up_to(self._sender.opened(), POLL_INTERVAL_S)

    async def _wait_for_room(self) -> None:
        await wait_up_to(self._sender.room(), POLL_INTERVAL_S)

    def _wanted(self, broker: int) -> tuple[list[BatchPartition], bool]:
        """Return the partitions to fetch, and whether none was left out for want of room.

        A broker fills its answer in the order of asking, so who came first comes last next time.
        """
        here = self._brokers[broker]
        if here:
            here.append(here.pop(0))
        served = [part for part in here if part.is_wanted]
        if not self._has_room():
            return [], False
        wanted = {part.where: part for part in served if part.queued_bytes < PARTITION_ROOM}
        waiting = [part.where for part in self._parts if part.state is CopyState.COPYING]
        now = time.monotonic()
        chosen = self._reading.turns.choose(list(wanted), waiting, now)
        return [wanted[where] for where in chosen], len(chosen) == len(served)

    def _has_room(self) -> bool:
        room = self._memory.room_bytes
        if self._memory.used_bytes < room:
            return True
        queued = sum(part.queued_bytes for part in self._parts)
        if 2 * queued < self._memory.used_bytes:
            self._move_together()
        return self._memory.used_bytes < room

    def _move_together(self) -> None:
        """Copy what is queued out of large answers of which little is left."""
        for part in self._parts:
            for outgoing in part.queue:
                outgoing.batch = memoryview(bytes(outgoing.batch))
                outgoing.hold(self._memory.hold(len(outgoing.batch)))

    async def _fetch(self, broker: int, wanted: list[BatchPartition], wait_ms: int) -> int:
        asked = {part.where: (part, part.fetched) for part in wanted}
        session = self._session_of(broker, asked)
        news = [
            part
            for part in wanted
            if session is None or session.is_news(part.where, part.fetched, part.leader_epoch)
        ]
        brokers = sum(map(bool, self._brokers.values()))
        share = answer_bytes(self._memory.room_bytes, brokers, self._last_bytes.get(broker, 0))
        most = self._reading.throttle.most_bytes(share, SMALLEST_BYTES)
        self._asked[broker] = (time.monotonic(), wanted)
        try:
            answer = await fetch(
                self.source.cluster,
                broker,
                [self._position_of(part, most) for part in news],
                FetchLimits(
                    max_wait_ms=wait_ms,
                    min_bytes=1,
                    max_bytes=most,
                    read_committed=self._reading.read_committed,
                ),
                session=session,
            )
        finally:
            del self._asked[broker]
        self._reading.quotas.told((self.source.cluster.alias, broker), answer.throttle_ms)
        size = sum(len(one.records) for one in answer.partitions.values())
        held, self._last_bytes[broker] = self._memory.hold(size), size
        for where, fetched in answer.partitions.items():
            part, offset = asked[where]
            self._moved[part] = None
            self._reading.turns.fetched(where, len(fetched.records), time.monotonic())
            # Meanwhile another broker may have answered, or somebody may have moved the position.
            if part.fetched == offset and part.is_wanted:
                for outgoing in self._take(part, fetched):
                    own = self._memory.hold(len(outgoing.batch)) if outgoing.is_packed else held
                    outgoing.hold(own)
        await self._source_resets.resolve()
        self._moved |= dict.fromkeys(asked[where][0] for where in answer.partitions)
        self._sender.wake()
        return size

    def _session_of(
        self, broker: int, asked: Mapping[TopicPartition, tuple[BatchPartition, int]]
    ) -> FetchSession | None:
        """Return the fetch session of a broker; under a backlog none: the order of asking counts then."""
        if not all(part.state is CopyState.CAUGHT_UP for part, _ in asked.values()):
            return None
        session, version = self._sessions.get(broker, (FetchSession(), 0))
        is_same = version == self.source.version and session.positions.keys() == asked.keys()
        if not (is_same and session.epoch):
            session.restart()
        self._sessions[broker] = (session, self.source.version)
        return session

    def _position_of(self, part: BatchPartition, most_bytes: int) -> FetchPosition:
        if part.topic_id is None:
            part.topic_id = self.source.topic_id(part.where.topic)
        return FetchPosition(
            topic=part.where.topic,
            topic_id=part.topic_id,
            partition=part.where.partition,
            offset=part.fetched,
            leader_epoch=self.source.leader_epoch(part.where),
            last_fetched_epoch=part.leader_epoch,
            max_bytes=min(PARTITION_BYTES, most_bytes),
        )

    def _take(self, part: BatchPartition, fetched: FetchedPartition) -> Sequence[OutgoingBatch]:
        if fetched.error is not None:
            self._preferred.pop(part, None)
            self._source_resets.add(part, fetched.error)
        elif fetched.diverging_epoch is not None:
            self._source_resets.diverge(part, fetched.diverging_epoch.end_offset)
        elif fetched.preferred_read_replica is not None:
            until = time.monotonic() + PREFERRED_S
            self._preferred[part] = (fetched.preferred_read_replica, until)
        else:
            return self._queue(part, fetched)
        return ()

    def _queue(self, part: BatchPartition, fetched: FetchedPartition) -> Sequence[OutgoingBatch]:
        committed = self._reading.read_committed
        end = fetched.last_stable_offset if committed else fetched.high_watermark
        filtered = part.batch_filter.filter(fetched.records, part.fetched, fetched.aborted)
        part.receive(filtered)
        if filtered.problem is not None:
            _stop(part, filtered.next_offset, filtered.problem)
        part.was_fetched(end)
        return filtered.batches

    async def _away(
        self, wanted: list[BatchPartition], fault: ClusterFault, backoff: Backoff
    ) -> None:
        """A broker does not answer: say so, look for other leaders, and try again a little later."""
        for part in wanted:
            part.state, part.reason = CopyState.RETRYING, f"{fault} {fault.hint}"
            part.retries += 1
            self._preferred.pop(part, None)
        await asyncio.sleep(backoff.next_s())
        await self.source.request_refresh()


def _stop(part: BatchPartition, offset: int, problem: RecordFormatError) -> None:
    """End before bytes that cannot be taken; the record path reads what is only old or large."""
    if isinstance(problem, OldMagic):
        part.stop_at(offset, f"its batch at offset {offset} has an old format", needs_records=True)
    elif isinstance(problem, Damaged):
        part.stop_at(
            offset,
            f"{part.where} is damaged on the source: {problem}. Everything before offset {offset} is "
            "copied, nothing from there on. Compare the replicas of the partition with "
            "kafka-dump-log.sh: another one may be whole.",
        )
    else:
        part.stop_at(offset, f"at offset {offset} a {problem}", needs_records=True)
