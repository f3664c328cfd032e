"""Fetch, send, commit: the loops of the batch path between two failures.

Whatever breaks ends the session, and the next one begins at the committed positions: there is no
other way back, so there is no state to repair. Inside, every source broker has a loop that fetches
(`fetching`), every target broker one that sends (`sending`), and this file commits: it lets what is
on its way arrive, writes the positions and ends the transaction.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass

from jobs.cluster.descriptions import TopicPartition
from jobs.replication.batches.batch_partition import BatchPartition
from jobs.replication.batches.fetching import Fetching
from jobs.replication.batches.ledger import Ledger
from jobs.replication.batches.sending import Sending

LOOK_S = 0.01
BROKERS_S = 0.5
# Commits come this much sooner than the interval when nothing waits to be sent: who reads committed
# records then sees them at once, and a marker more costs nothing that anybody waits for.
IDLE_SHARE = 0.2


@dataclass(frozen=True, slots=True)
class Pace:
    """When to stop, what to do meanwhile (about every 10 ms), how long between two commits at most."""

    should_stop: Callable[[], bool]
    tick: Callable[[], None]
    commit_s: float
    clock: Callable[[], float] = time.monotonic


class BatchSession:
    """Copies from the committed positions until told to stop or until something breaks.

    `ledger` is where positions and offset syncs are written. Raises `PartitionsRefused`, any
    `ClusterFault` that no retry inside helps against, and `BatchError` never: a partition whose bytes
    are bad is set apart.
    """

    def __init__(
        self,
        parts: Collection[BatchPartition],
        fetching: Fetching,
        sending: Sending,
        ledger: Ledger,
        pace: Pace,
    ) -> None:
        self._parts = parts
        self._fetching = fetching
        self._sending = sending
        self._ledger = ledger
        self._pace = pace
        self._dirty_since: float | None = None
        self.is_committing = False
        self.committing: dict[TopicPartition, int] = {}
        self.commit_ms: float | None = None

    async def run(self, until: float) -> None:
        """Run until a time (monotonic) at the latest; commits before it returns."""
        tasks: set[asyncio.Task[None]] = set()
        async with asyncio.TaskGroup() as group:
            self._sending.start(group)
            try:
                await self._keep_pace(group, tasks, until)
            finally:
                self._sending.stop()
                for task in tasks:
                    task.cancel()

    async def _keep_pace(
        self, group: asyncio.TaskGroup, tasks: set[asyncio.Task[None]], until: float
    ) -> None:
        clock = self._pace.clock
        look_for_brokers_at = 0.0
        while not self._is_over(until):
            self._pace.tick()
            if clock() >= look_for_brokers_at:
                tasks |= {group.create_task(loop) for loop in self._fetching.new_loops()}
                tasks |= {group.create_task(loop) for loop in self._sending.new_loops()}
                look_for_brokers_at = clock() + BROKERS_S
            if self._is_commit_due():
                await self.commit()
            await asyncio.sleep(LOOK_S)
        await self.commit()

    def _is_over(self, until: float) -> bool:
        retry_at = min(
            (p.retry_at for p in self._parts if p.retry_at is not None), default=math.inf
        )
        is_left = all(not p.record_path_reason for p in self._parts) and any(
            part.is_open for part in self._parts
        )
        return self._pace.should_stop() or not is_left or self._pace.clock() >= min(until, retry_at)

    def _is_commit_due(self) -> bool:
        now = self._pace.clock()
        if not any(part.is_dirty for part in self._parts):
            self._dirty_since = None
            return False
        if self._dirty_since is None:
            self._dirty_since = now
        is_idle = self._sending.is_idle and not any(part.queue for part in self._parts)
        wait_s = self._pace.commit_s * (IDLE_SHARE if is_idle else 1.0)
        return now - self._dirty_since >= wait_s

    async def commit(self) -> None:
        """Make everything that is sent safe: records first, then positions and syncs, together."""
        began = self._pace.clock()
        async with self._sending.paused():
            positions = {p.where: p.position for p in self._parts if p.is_dirty}
            if positions:
                self.is_committing, self.committing = True, positions
                await self._ledger.commit(self._parts, positions)
                self.is_committing = False
        self._dirty_since = None
        if positions:
            self.commit_ms = (self._pace.clock() - began) * 1000
