"""Looks after brokers that do not answer and partitions that nobody leads, and says so."""

from __future__ import annotations

import asyncio
from collections.abc import Collection

from jobs.replication.copy.batches.fetching import Fetching
from jobs.replication.copy.batches.leaders import Leaders
from jobs.replication.copy.batches.partition import BatchPartition
from jobs.replication.copy.batches.produce.sending import Sending

LOOK_S = 0.5
# A fetch that finds nothing is answered after half a second; another leader is elected after nine.
LATE_S = 3.0


class Lookout:
    """Reads metadata again while something is missing, so that loops and requests follow the leaders."""

    def __init__(
        self,
        source: Leaders,
        target: Leaders,
        parts: Collection[BatchPartition],
        fetching: Fetching,
        sending: Sending,
    ) -> None:
        self._source = source
        self._target = target
        self._parts = parts
        self._fetching = fetching
        self._sending = sending

    async def keep(self) -> None:
        """Look until cancelled; raises `LeaderMoved` when a request waits for a former leader."""
        while True:
            await asyncio.sleep(LOOK_S)
            blocked = self._find_blocked()
            for part in self._parts:
                part.blocked = blocked.get(part, "")
            if self._is_source_missing():
                await self._source.look_again()
            if self._is_target_missing():
                await self._target.look_again()
                self._sending.check_leaders()

    def _find_blocked(self) -> dict[BatchPartition, str]:
        """Return why partitions do not move; nothing that a request's own answer tells."""
        found = {}
        for broker, late_s, wanted in self._fetching.overdue(LATE_S):
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
        return any(self._fetching.overdue(LATE_S)) or any(
            part.is_open and self._source.leader(part.where) is None for part in self._parts
        )

    def _is_target_missing(self) -> bool:
        return self._sending.waited_s() > LATE_S or any(
            part.is_open and self._target.leader(part.remote) is None for part in self._parts
        )


def _leaderless(leaders: Leaders, name: str) -> str:
    return (
        f"{name} on {leaders.cluster.alias} has no leader now: its brokers are down, or an election is "
        "going on."
    )
