"""Fetch, send, commit: the loops of the batch path between two failures.

Whatever breaks ends the session, and the next one begins at the committed positions: there is no
other way back, so there is no state to repair. Inside, every source broker has a loop that fetches
(`fetch`), every target broker one that sends (`produce`), one watches brokers that do not answer and
partitions without a leader, and one commits: it lets what is on its way arrive, writes the positions and
ends the transaction.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Collection

from jobs.cluster.descriptions import TopicPartition
from jobs.cluster.errors import TimedOut
from jobs.replication.copy.batches.commit import CommitPace, CommitWriter
from jobs.replication.copy.batches.fetch import Fetcher
from jobs.replication.copy.batches.leaders import Leaders
from jobs.replication.copy.batches.partition import BatchPartition, Reached
from jobs.replication.copy.batches.produce import Sender
from jobs.waiting import wait_up_to

# How often is looked at least while nothing is to be committed, and while something is there for it.
IDLE_INTERVAL_S, DIRTY_INTERVAL_S = 0.25, 0.05
MOVE_ON_INTERVAL_S = 0.25
LEADERS_INTERVAL_S = 0.5
# A fetch that finds nothing is answered after half a second; another leader is elected after nine.
SLOW_ANSWER_S = 3.0
# How often is looked at least whether a commit is due while something is there for it, and so much longer
# for each partition that is looked at: under a backlog it is due as soon as the flow keeps up.
LOOK_INTERVAL_S, LOOK_S, LONGEST_LOOK_S = 0.002, 10e-6, 0.01
# Longer than a produce request may take, shorter than the broker keeps a transaction open (`transactions`).
COMMIT_WITHIN_S = 45.0


class BatchSession:
    """Copies from the committed positions until told to stop or until something breaks.

    `commit_writer` is where positions and offset syncs are written. `committing` are the positions of a
    commit of which it is not known yet whether it counts. Raises a group of `PartitionsRefused`,
    `SourceChanged` and any `ClusterFault` that no retry inside helps against.
    """

    def __init__(
        self,
        parts: Collection[BatchPartition],
        fetcher: Fetcher,
        sender: Sender,
        commit_writer: CommitWriter,
        commits: CommitPace,
        should_stop: Callable[[], bool],
    ) -> None:
        self._parts = parts
        self._fetcher = fetcher
        self._sender = sender
        self._commit_writer = commit_writer
        self._commits = commits
        self._should_stop = should_stop
        self._dirty_since: float | None = None
        self._due_in_s = 0.0
        self._owing: list[BatchPartition] = []
        self._commit_began: float | None = None
        self.committing: dict[TopicPartition, Reached] = {}
        self.commit_ms: float | None = None

    def waited_s(self) -> float:
        """Return for how long the target has let something wait."""
        began = self._commit_began
        return max(self._sender.waited_s(), 0.0 if began is None else time.monotonic() - began)

    def wake(self) -> None:
        """Look at once whether it is over."""
        self._sender.wake_session()

    async def run(self) -> None:
        """Run until a stop or until no partition can be copied; commits before it returns."""
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
        move_on_at, seen = 0.0, (0, 0)
        await self.commit()  # what is to be noted although nothing was copied
        tasks.add(group.create_task(self._watch_leaders()))
        while not self._is_over():
            if time.monotonic() >= move_on_at or seen != self._versions():
                seen = self._versions()
                self._move_on()
                tasks |= {group.create_task(loop) for loop in self._fetcher.new_loops()}
                tasks |= {group.create_task(loop) for loop in self._sender.new_loops()}
                move_on_at = time.monotonic() + MOVE_ON_INTERVAL_S
            if self._is_commit_due():
                await self.commit()
            await self._rest()
        await self.commit(is_last=True)

    def _versions(self) -> tuple[int, int]:
        return self._fetcher.source.version, self._sender.target.version

    async def _rest(self) -> None:
        """Wait a moment; where there is nothing to be committed, until something is sent."""
        if self._dirty_since is None:
            await wait_up_to(self._sender.room(), IDLE_INTERVAL_S)
        else:
            look_s = min(LOOK_INTERVAL_S + LOOK_S * len(self._parts), LONGEST_LOOK_S)
            is_calm = self._commits.gap_s > 0
            await asyncio.sleep(
                min(max(self._due_in_s, 0.0), look_s if not is_calm else DIRTY_INTERVAL_S)
            )

    def _is_over(self) -> bool:
        return self._should_stop() or not any(part.is_open for part in self._parts)

    def _move_on(self) -> None:
        now = time.monotonic()
        for part in self._parts:
            part.come_back(now)
            part.end_when_done()
        self._owing = [part for part in self._parts if part.is_open and part.syncs.owes(now)]

    def _is_commit_due(self) -> bool:
        now = time.monotonic()
        dirty = self._fetcher.dirty()
        if not dirty:
            self._dirty_since = None
            return bool(self._owing)
        if self._dirty_since is None:
            self._dirty_since = now
        self._due_in_s = self._commits.due_in_s(
            self._dirty_since, len(dirty), keeps_up=all(part.keeps_up for part in dirty)
        )
        return self._due_in_s <= 0

    async def commit(self, *, is_last: bool = False) -> None:
        """Make everything that is sent safe: records first, then positions and syncs, together."""
        if not self._to_commit(is_last=is_last):
            return
        began = self._commit_began = time.monotonic()
        try:
            async with asyncio.timeout(COMMIT_WITHIN_S):
                records = await self._commit(is_last=is_last)
        except TimeoutError:
            message = f"A commit was not done within {COMMIT_WITHIN_S:g} s."
            raise TimedOut(message, cluster=self._commit_writer.target_alias) from None
        finally:
            self._commit_began = None
        self._dirty_since, self._owing = None, []
        took_s = time.monotonic() - began
        self.commit_ms = took_s * 1000
        self._commits.committed(records, took_s)

    async def _commit(self, *, is_last: bool) -> int:
        """Commit, and return how many records that made safe."""
        async with self._sender.paused():
            parts = self._to_commit(is_last=is_last)
            records = sum(part.count.records - part.safe.records for part in parts)
            reached = {part.where: part.reached for part in parts}
            if reached:
                self.committing = reached
                await self._commit_writer.commit(parts, reached, is_last=is_last)
                self.committing = {}
            return records

    def _to_commit(self, *, is_last: bool) -> list[BatchPartition]:
        now = time.monotonic()
        some = dict.fromkeys((*self._fetcher.dirty(), *self._owing))
        looked_at = self._parts if is_last else some
        return [part for part in looked_at if part.has_to_commit(now, is_last=is_last)]

    async def _watch_leaders(self) -> None:
        """Read metadata again while something is missing, so that loops and requests follow the leaders.

        Raises `LeaderMoved` when a request waits for a former leader.
        """
        seen, blocked = (0, 0), dict[BatchPartition, str]()
        while True:
            await asyncio.sleep(LEADERS_INTERVAL_S)
            is_late = self._sender.waited_s() > SLOW_ANSWER_S
            is_late = is_late or any(self._fetcher.overdue(SLOW_ANSWER_S))
            if not (blocked or is_late) and seen == self._versions():
                continue
            seen = self._versions()
            blocked = self._find_blocked()
            for part in self._parts:
                part.blocked = blocked.get(part, "")
            if self._is_source_missing():
                await self._fetcher.source.request_refresh()
            if self._is_target_missing():
                await self._sender.target.request_refresh()
                self._sender.check_leaders()

    def _find_blocked(self) -> dict[BatchPartition, str]:
        """Return why partitions do not move; nothing that a request's own answer tells."""
        found = {}
        for broker, late_s, wanted in self._fetcher.overdue(SLOW_ANSWER_S):
            alias = self._fetcher.source.cluster.alias
            why = f"Broker {broker} of {alias} has not answered a fetch for {late_s:.0f} s."
            found.update(dict.fromkeys(wanted, why))
        for part in self._parts:
            if self._fetcher.source.leader(part.where) is None:
                found[part] = _leaderless(self._fetcher.source, str(part.where))
            elif self._sender.target.leader(part.remote) is None:
                found[part] = _leaderless(self._sender.target, str(part.remote))
        return found

    def _is_source_missing(self) -> bool:
        return any(self._fetcher.overdue(SLOW_ANSWER_S)) or any(
            part.is_open and self._fetcher.source.leader(part.where) is None for part in self._parts
        )

    def _is_target_missing(self) -> bool:
        return self._sender.waited_s() > SLOW_ANSWER_S or any(
            part.is_open and self._sender.target.leader(part.remote) is None for part in self._parts
        )


def _leaderless(leaders: Leaders, name: str) -> str:
    return (
        f"{name} on {leaders.cluster.alias} has no leader now: its brokers are down, or an election is "
        "in progress."
    )
