"""Fetch, send, commit: the loops of the batch path between two failures.

Whatever breaks ends the session, and the next one begins at the committed positions: there is no
other way back, so there is no state to repair. Inside, every source broker has a loop that fetches
(`fetcher`), every target broker one that sends (`sender`), one looks after brokers that do not answer
(`leader_monitor`), and this file commits: it lets what is on its way arrive, writes the positions and ends
the transaction.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass

from jobs.cluster.descriptions import TopicPartition
from jobs.cluster.errors import TimedOut
from jobs.replication.copy.batches.fetcher import Fetcher
from jobs.replication.copy.batches.leader_monitor import LeaderMonitor
from jobs.replication.copy.batches.partition import BatchPartition, Reached
from jobs.replication.copy.batches.produce.commit_writer import CommitWriter
from jobs.replication.copy.batches.produce.sender import Sender
from jobs.replication.copy.contract import CopyState

POLL_INTERVAL_S = 0.01
TICK_INTERVAL_S = 0.1
# Longer than a produce request may take, shorter than the broker keeps a transaction open (`delivery`).
COMMIT_WITHIN_S = 45.0
# When nothing waits to be sent, commits come sooner than the interval: after this part of it. When the source
# has nothing left either, who reads committed records is to see them at once: then waited is for a smaller
# part of it, at least for a part of what a commit takes, and so long for each partition, which gets a marker
# and an offset sync (brokers have others to serve). At 1,000 records/s on 4 partitions a commit takes 23 ms,
# and the 99th percentile of what committed readers wait fell from 321 to 218 ms.
IDLE_SHARE = 0.2
SOONEST_SHARE = 0.02
COMMIT_TIMES = 0.25
MARKER_S = 0.002


@dataclass(frozen=True, slots=True)
class Pace:
    """When to stop, what to do meanwhile (about every 10 ms), how long between two commits at most."""

    should_stop: Callable[[], bool]
    tick: Callable[[], None]
    commit_s: float
    clock: Callable[[], float] = time.monotonic


def idle_wait_s(commit_s: float, last_commit_s: float, partitions: int) -> float:
    """Return how long to wait before a commit when everything is copied.

    `commit_s` is the interval, `last_commit_s` how long the last commit took, `partitions` how many have
    something to be committed.
    """
    soonest_s = max(SOONEST_SHARE * commit_s, COMMIT_TIMES * last_commit_s, MARKER_S * partitions)
    return min(IDLE_SHARE * commit_s, soonest_s)


@dataclass(frozen=True, slots=True)
class Loops:
    """The two halves of a session, and who looks after them."""

    fetcher: Fetcher
    sender: Sender
    leader_monitor: LeaderMonitor


class BatchSession:
    """Copies from the committed positions until told to stop or until something breaks.

    `commit_writer` is where positions and offset syncs are written. `committing` are the positions of a
    commit of which nobody knows yet whether it counts. Raises a group of `PartitionsRefused`,
    `SourceChanged` and any `ClusterFault` that no retry inside helps against.
    """

    def __init__(
        self,
        parts: Collection[BatchPartition],
        loops: Loops,
        commit_writer: CommitWriter,
        pace: Pace,
    ) -> None:
        self._parts = parts
        self._fetcher = loops.fetcher
        self._sender = loops.sender
        self._leader_monitor = loops.leader_monitor
        self._commit_writer = commit_writer
        self._pace = pace
        self._dirty_since: float | None = None
        self._commit_began: float | None = None
        self.committing: dict[TopicPartition, Reached] = {}
        self.commit_ms: float | None = None

    def waited_s(self) -> float:
        """Return for how long the target has let something wait."""
        began = self._commit_began
        return max(self._sender.waited_s(), 0.0 if began is None else self._pace.clock() - began)

    async def run(self) -> None:
        """Run until told to stop or until no partition can go on; commits before it returns."""
        tasks: set[asyncio.Task[None]] = set()
        async with asyncio.TaskGroup() as group:
            self._sender.start(group)
            try:
                await self._keep_pace(group, tasks)
            finally:
                self._sender.stop()
                for task in tasks:
                    task.cancel()

    async def _keep_pace(self, group: asyncio.TaskGroup, tasks: set[asyncio.Task[None]]) -> None:
        clock = self._pace.clock
        look_at = 0.0
        await self.commit()  # what is to be noted although nothing was copied
        tasks.add(group.create_task(self._leader_monitor.run()))
        while not self._is_over():
            self._pace.tick()
            if clock() >= look_at:
                self._move_on()
                tasks |= {group.create_task(loop) for loop in self._fetcher.new_loops()}
                tasks |= {group.create_task(loop) for loop in self._sender.new_loops()}
                look_at = clock() + TICK_INTERVAL_S
            if self._is_commit_due():
                await self.commit()
            await asyncio.sleep(POLL_INTERVAL_S)
        await self.commit()

    def _is_over(self) -> bool:
        return self._pace.should_stop() or not any(part.is_open for part in self._parts)

    def _move_on(self) -> None:
        now = self._pace.clock()
        for part in self._parts:
            part.come_back(now)
            part.end_when_done()

    def _is_commit_due(self) -> bool:
        now = self._pace.clock()
        dirty = sum(part.is_dirty for part in self._parts)
        if not dirty:
            self._dirty_since = None
            return False
        if self._dirty_since is None:
            self._dirty_since = now
        wait_s = self._pace.commit_s
        if self._sender.is_idle and not any(part.queue for part in self._parts):
            wait_s = self._idle_wait_s(dirty)
        return now - self._dirty_since >= wait_s

    def _idle_wait_s(self, dirty: int) -> float:
        if any(part.state is CopyState.COPYING for part in self._parts):
            return IDLE_SHARE * self._pace.commit_s
        return idle_wait_s(self._pace.commit_s, (self.commit_ms or 0.0) / 1000, dirty)

    async def commit(self) -> None:
        """Make everything that is sent safe: records first, then positions and syncs, together."""
        if not any(part.is_dirty for part in self._parts):
            return
        began = self._commit_began = self._pace.clock()
        try:
            async with asyncio.timeout(COMMIT_WITHIN_S):
                await self._commit()
        except TimeoutError:
            message = f"A commit was not done within {COMMIT_WITHIN_S:g} s."
            raise TimedOut(message, cluster=self._commit_writer.target_alias) from None
        finally:
            self._commit_began = None
        self._dirty_since = None
        self.commit_ms = (self._pace.clock() - began) * 1000

    async def _commit(self) -> None:
        async with self._sender.paused():
            reached = {part.where: part.reached for part in self._parts if part.is_dirty}
            if reached:
                self.committing = reached
                await self._commit_writer.commit(self._parts, reached)
                self.committing = {}
