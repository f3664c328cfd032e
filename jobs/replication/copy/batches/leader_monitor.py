"""Looks after brokers that do not answer and partitions that nobody leads, and says so."""

from __future__ import annotations

import asyncio
from collections.abc import Collection

from jobs.replication.copy.batches.fetcher import Fetcher
from jobs.replication.copy.batches.leaders import Leaders
from jobs.replication.copy.batches.partition import BatchPartition
from jobs.replication.copy.batches.produce.sender import Sender

POLL_INTERVAL_S = 0.5
# A fetch that finds nothing is answered after half a second; another leader is elected after nine.
SLOW_ANSWER_S = 3.0


class LeaderMonitor:
    """Reads metadata again while something is missing, so that loops and requests follow the leaders."""

    def __init__(
        self,
        source: Leaders,
        target: Leaders,
        parts: Collection[BatchPartition],
        fetcher: Fetcher,
        sender: Sender,
    ) -> None:
        self._source = source
        self._target = target
        self._parts = parts
        self._fetcher = fetcher
        self._sender = sender

    async def run(self) -> None:
        """Look until cancelled; raises `LeaderMoved` when a request waits for a former leader."""
        while True:
            await asyncio.sleep(POLL_INTERVAL_S)
            blocked = self._find_blocked()
            for part in self._parts:
                part.blocked = blocked.get(part, "")
            if self._is_source_missing():
                await self._source.request_refresh()
            if self._is_target_missing():
                await self._target.request_refresh()
                self._sender.check_leaders()

    def _find_blocked(self) -> dict[BatchPartition, str]:
        """Return why partitions do not move; nothing that a request's own answer tells."""
        found = {}
        for broker, late_s, wanted in self._fetcher.overdue(SLOW_ANSWER_S):
            alias = self._source.cluster.alias
            why = f"Broker {broker} of {alias} has not answered a fetch for {late_s:.0f} s."
            found.update(dict.fromkeys(wanted, why))
        for part in self._parts:
            if self._source.leader(part.where) is None:
                found[part] = _leaderless(self._source, str(part.where))
            elif self._target.leader(part.remote) is None:
                found[part] = _leaderless(self._target, str(part.remote))
        return found

    def _is_source_missing(self) -> bool:
        return any(self._fetcher.overdue(SLOW_ANSWER_S)) or any(
            part.is_open and self._source.leader(part.where) is None for part in self._parts
        )

    def _is_target_missing(self) -> bool:
        return self._sender.waited_s() > SLOW_ANSWER_S or any(
            part.is_open and self._target.leader(part.remote) is None for part in self._parts
        )


def _leaderless(leaders: Leaders, name: str) -> str:
    return (
        f"{name} on {leaders.cluster.alias} has no leader now: its brokers are down, or an election is "
        "going on."
    )
