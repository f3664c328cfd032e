"""When a flow that keeps up commits: the cost of a commit against the time that its readers wait."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Callable

from jobs.waiting import wait_up_to

# While a flow keeps up, commits come sooner than the interval: after a small part of it, at least after a
# part of what a commit takes, and so long for each partition, which gets a marker (brokers have others to
# serve), but never later than the larger part of it.
SOONEST_SHARE, LATEST_SHARE = 0.005, 0.2
COMMIT_TIMES = 0.25
MARKER_S = 0.001
# A commit, with the fetches and produces before it, takes about 4 ms of a core and more of the brokers,
# however few records it makes safe. So many are worth it; fewer wait for others, but no longer than this.
WORTH_RECORDS = 30
LONGEST_GAP_S = 0.11
# A shorter gap saves too little.
SHORTEST_GAP_S = 0.04
# The answers of several brokers come so soon after each other.
GATHER_S = 0.005
# The source is asked so long before the gap is over: what it gives is on the target when the commit begins.
AHEAD_S = 0.02
# The rate of records is a mean over about so long.
RATE_S = 1.0


def soonest_commit_s(commit_s: float, last_commit_s: float, partitions: int) -> float:
    """Return how long a flow that keeps up waits between two commits.

    `commit_s` is the interval, `last_commit_s` how long the last commit took, `partitions` how many have
    something to be committed.
    """
    soonest_s = max(SOONEST_SHARE * commit_s, COMMIT_TIMES * last_commit_s, MARKER_S * partitions)
    return min(LATEST_SHARE * commit_s, soonest_s)


class CommitPace:
    """The gap between two commits of a flow that keeps up; times are seconds of `clock`.

    `readers_wait`: readers of committed records see nothing before the commit. Where few records come, the
    gap is as long as `WORTH_RECORDS` need, and the source is asked again when it is over: one fetch, one
    produce request and one commit instead of one for each record.
    """

    def __init__(
        self,
        commit_s: float,
        *,
        readers_wait: bool = True,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._commit_s = commit_s
        self._readers_wait = readers_wait
        self._clock = clock
        self._rate = 0.0
        self._last_commit_s = 0.0
        self._committed_at = -math.inf
        self._committed = asyncio.Event()

    @property
    def gap_s(self) -> float:
        """How long the gap is at the rate of now; 0: commits are not held back."""
        if not self._readers_wait:
            return 0.0
        gap_s = min(LONGEST_GAP_S, LATEST_SHARE * self._commit_s)
        if self._rate > 0:
            gap_s = min(gap_s, WORTH_RECORDS / self._rate)
        return gap_s if gap_s >= SHORTEST_GAP_S else 0.0

    def committed(self, records: int, took_s: float) -> None:
        """Take note of a commit of so many records."""
        now = self._clock()
        passed_s = max(now - self._committed_at, 0.001)
        self._rate += (1 - math.exp(-passed_s / RATE_S)) * (records / passed_s - self._rate)
        self._last_commit_s, self._committed_at = took_s, now
        self._committed.set()
        self._committed.clear()

    def due_in_s(self, dirty_since: float, partitions: int, *, keeps_up: bool) -> float:
        """Return in how many seconds a commit is due, 0 or less for now.

        `dirty_since` is when the first of `partitions` had something to be committed. Under a backlog, and
        where readers do not wait, it is the interval, or its larger part.
        """
        now = self._clock()
        if not keeps_up:
            return self._commit_s - (now - dirty_since)
        if not self._readers_wait:
            return LATEST_SHARE * self._commit_s - (now - dirty_since)
        soonest_s = soonest_commit_s(self._commit_s, self._last_commit_s, partitions)
        gap_s = self.gap_s
        if not gap_s:
            return soonest_s - (now - dirty_since)
        until_gap_s = max(gap_s, soonest_s) - (now - self._committed_at)
        return max(until_gap_s, GATHER_S - (now - dirty_since))

    async def rest(self, *, has_fetched: bool) -> None:
        """Wait until it is worth asking the source again; `has_fetched`: the last answer brought some."""
        gap_s = self.gap_s
        if not gap_s:
            return
        if has_fetched and self._until_asking_s() <= 0:
            # What it brought belongs to the commit that is about to begin.
            await wait_up_to(self._committed.wait(), gap_s)
        rest_s = self._until_asking_s()
        if rest_s > 0:
            await asyncio.sleep(rest_s)

    def _until_asking_s(self) -> float:
        return self._committed_at + self.gap_s - AHEAD_S - self._clock()
