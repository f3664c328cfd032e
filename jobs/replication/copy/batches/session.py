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
from jobs.replication.copy.batches.commit_pace import CommitPace
from jobs.replication.copy.batches.fetcher import Fetcher
from jobs.replication.copy.batches.leader_monitor import LeaderMonitor
from jobs.replication.copy.batches.partition import BatchPartition, Reached
from jobs.replication.copy.batches.produce.commit_writer import CommitWriter
from jobs.replication.copy.batches.produce.sender import Sender
from jobs.waiting import wait_up_to

TICK_INTERVAL_S = 0.05
MOVE_ON_INTERVAL_S = 0.1
# How often is looked at least whether a commit is due while something is there for it, and so much longer
# for each partition that is looked at: under a backlog it is due as soon as the flow keeps up.
LOOK_INTERVAL_S, LOOK_S, LONGEST_LOOK_S = 0.002, 10e-6, 0.01
# Longer than a produce request may take, shorter than the broker keeps a transaction open (`delivery`).
COMMIT_WITHIN_S = 45.0


@dataclass(frozen=True, slots=True)
class Pace:
    """When to stop, what to do meanwhile (about every 50 ms), how long between two commits."""

    should_stop: Callable[[], bool]
    tick: Callable[[], None]
    commits: CommitPace
    clock: Callable[[], float] = time.monotonic


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
        self._due_in_s = 0.0
        self._is_owing = False
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
        tick_at = move_on_at = 0.0
        await self.commit()  # what is to be noted although nothing was copied
        tasks.add(group.create_task(self._leader_monitor.run()))
        while not self._is_over():
            if clock() >= tick_at:
                self._pace.tick()
                tick_at = clock() + TICK_INTERVAL_S
            if clock() >= move_on_at:
                self._move_on()
                tasks |= {group.create_task(loop) for loop in self._fetcher.new_loops()}
                tasks |= {group.create_task(loop) for loop in self._sender.new_loops()}
                move_on_at = clock() + MOVE_ON_INTERVAL_S
            if self._is_commit_due():
                await self.commit()
            await self._rest()
        await self.commit(is_last=True)

    async def _rest(self) -> None:
        """Wait a moment; where there is nothing to be committed, until something is sent."""
        if self._dirty_since is None:
            await wait_up_to(self._sender.room(), TICK_INTERVAL_S)
        else:
            look_s = min(LOOK_INTERVAL_S + LOOK_S * len(self._parts), LONGEST_LOOK_S)
            is_calm = self._pace.commits.gap_s > 0
            await asyncio.sleep(
                min(max(self._due_in_s, 0.0), look_s if not is_calm else TICK_INTERVAL_S)
            )

    def _is_over(self) -> bool:
        return self._pace.should_stop() or not any(part.is_open for part in self._parts)

    def _move_on(self) -> None:
        now = self._pace.clock()
        for part in self._parts:
            part.come_back(now)
            part.end_when_done()
        self._is_owing = any(part.is_open and part.syncs.owes(now) for part in self._parts)

    def _is_commit_due(self) -> bool:
        now = self._pace.clock()
        dirty = [part for part in self._parts if part.is_dirty]
        if not dirty:
            self._dirty_since = None
            return self._is_owing
        if self._dirty_since is None:
            self._dirty_since = now
        self._due_in_s = self._pace.commits.due_in_s(
            self._dirty_since, len(dirty), keeps_up=all(part.keeps_up for part in dirty)
        )
        return self._due_in_s <= 0

    async def commit(self, *, is_last: bool = False) -> None:
        """Make everything that is sent safe: records first, then positions and syncs, together."""
        if not self._to_commit(is_last=is_last):
            return
        began = self._commit_began = self._pace.clock()
        try:
            async with asyncio.timeout(COMMIT_WITHIN_S):
                records = await self._commit(is_last=is_last)
        except TimeoutError:
            message = f"A commit was not done within {COMMIT_WITHIN_S:g} s."
            raise TimedOut(message, cluster=self._commit_writer.target_alias) from None
        finally:
            self._commit_began = None
        self._dirty_since, self._is_owing = None, False
        took_s = self._pace.clock() - began
        self.commit_ms = took_s * 1000
        self._pace.commits.committed(records, took_s)

    async def _commit(self, *, is_last: bool) -> int:
        """Commit, and return how many records that made safe."""
        async with self._sender.paused():
            parts = self._to_commit(is_last=is_last)
            records = sum(part.count.records - part.safe.records for part in parts)
            reached = {part.where: part.reached for part in parts}
            if reached:
                self.committing = reached
                await self._commit_writer.commit(self._parts, reached, is_last=is_last)
                self.committing = {}
            return records

    def _to_commit(self, *, is_last: bool) -> list[BatchPartition]:
        now = self._pace.clock()
        return [part for part in self._parts if part.has_to_commit(now, is_last=is_last)]
