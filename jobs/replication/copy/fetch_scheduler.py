"""Whose turn it is to be fetched when not everything can be copied at once: higher priorities go first.

Turns are counted in bytes: one more in priority is twice as much. A partition waits only for partitions of
a higher priority that have records left to copy; between equal ones, and when nobody waits, there are no
turns. Nobody starves: who was passed over often and long enough has a turn whatever the count says.

A broker fills its answer in the order of asking, and the first may fill it alone: so who got least of its
share is asked for first, not who is most urgent.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from jobs.cluster.descriptions import TopicPartition

# How far a lower priority may get ahead of its share: about one fetch of a partition.
AHEAD_BYTES = 1024 * 1024
# Twice as much for each step up to here; beyond it a step changes nothing.
MOST_STEPS = 6
STARVING_ROUNDS = 16
STARVING_S = 5.0


@dataclass(slots=True)
class _FetchedShare:
    """What one partition got: bytes, and since when and for how many rounds it got none."""

    bytes: float = 0.0
    passed_over: int = 0
    since_s: float = 0.0

    def is_starving(self, now_s: float) -> bool:
        return self.passed_over >= STARVING_ROUNDS and now_s - self.since_s >= STARVING_S


class FetchScheduler:
    """Chooses among partitions that have room for more; without priorities it chooses all of them."""

    def __init__(self, priorities: Mapping[str, int] | None = None) -> None:
        self._priorities: Mapping[str, int] = {}
        self._accounts: dict[TopicPartition, _FetchedShare] = {}
        self.prefer(priorities or {})

    def prefer(self, priorities: Mapping[str, int]) -> None:
        """Go on with these priorities, by topic; a topic that is not named has 0."""
        if priorities != self._priorities:
            self._priorities = dict(priorities)
            self._accounts.clear()

    def choose(
        self,
        candidates: Sequence[TopicPartition],
        waiting: Collection[TopicPartition],
        now_s: float,
    ) -> list[TopicPartition]:
        """Return those candidates whose turn it is, who got least of its share first.

        `waiting` are all partitions with records left to copy, also those that have no room just now;
        `now_s` is a monotonic clock.
        """
        if not any(self._priorities.values()):
            return list(candidates)
        self._admit({*candidates, *waiting}, now_s)
        chosen = [where for where in candidates if self._may(where, waiting, now_s)]
        return sorted(chosen, key=self._order)

    def fetched(self, where: TopicPartition, size_bytes: int, now_s: float) -> None:
        """Note what a partition got."""
        account = self._accounts.get(where)
        if account is not None and size_bytes:
            account.bytes += size_bytes
            account.passed_over, account.since_s = 0, now_s

    def _admit(self, partitions: Collection[TopicPartition], now_s: float) -> None:
        """Open accounts; who comes later, or comes back, has no claim on what others got before."""
        self._accounts = {w: a for w, a in self._accounts.items() if w in partitions}
        share = min((self._share(where) for where in self._accounts), default=0.0)
        for where in partitions:
            if where not in self._accounts:
                self._accounts[where] = _FetchedShare(share * self._weight(where), 0, now_s)

    def _may(
        self, where: TopicPartition, waiting: Collection[TopicPartition], now_s: float
    ) -> bool:
        higher = [other for other in waiting if self._priority(other) > self._priority(where)]
        account = self._accounts[where]
        own_share = self._share(where)
        ahead = max((self._behind(other, own_share) for other in higher), default=0.0)
        if ahead <= AHEAD_BYTES:
            return True
        account.passed_over += 1
        return account.is_starving(now_s)

    def _order(self, where: TopicPartition) -> tuple[bool, float, int]:
        passed_over = self._accounts[where].passed_over
        return passed_over < STARVING_ROUNDS, self._share(where), -self._priority(where)

    def _behind(self, other: TopicPartition, share: float) -> float:
        """Return how many bytes a partition would have to get to have the same share."""
        return share * self._weight(other) - self._accounts[other].bytes

    def _share(self, where: TopicPartition) -> float:
        return self._accounts[where].bytes / self._weight(where)

    def _priority(self, where: TopicPartition) -> int:
        return self._priorities.get(where.topic, 0)

    def _weight(self, where: TopicPartition) -> float:
        lowest = min(0, *self._priorities.values())
        return float(2 ** min(self._priority(where) - lowest, MOST_STEPS))
