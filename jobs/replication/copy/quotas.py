"""Throughput and order of copying: broker quotas, the limit of a flow, topic priorities."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field

from jobs.cluster.descriptions import TopicPartition


@dataclass(slots=True)
class Quotas:
    """Brokers that throttle this client, because a quota is used up (KIP-219), and until when.

    A broker answers at once, tells for how long, and reads nothing more from that connection meanwhile: what
    is requested before then only waits there, and the broker looks like one that hangs. `rested_ms` is how
    long was waited for that.

    Brokers are named by alias of their cluster and id; `clock` is a monotonic one, in seconds.
    """

    clock: Callable[[], float]
    rested_ms: int = 0
    _until_s: dict[tuple[str, int], float] = field(default_factory=dict)

    def told(self, broker: tuple[str, int], throttle_ms: int) -> None:
        """Take note of what a broker asked for; 0 is nothing."""
        until = self.clock() + throttle_ms / 1000
        self._until_s[broker] = max(self._until_s.get(broker, 0.0), until)

    def left_s(self, broker: tuple[str, int]) -> float:
        """Return for how many seconds a broker throttles this client; 0: it may be queried."""
        return max(self._until_s.get(broker, 0.0) - self.clock(), 0.0)

    async def wait(self, broker: tuple[str, int]) -> None:
        """Wait until a broker may be asked again."""
        while left_s := self.left_s(broker):
            began = self.clock()
            await asyncio.sleep(left_s)
            self.rested_ms += round((self.clock() - began) * 1000)


BURST_S = 1.0
# What is taken at once: little, so that the rests between are short and a turn of one partition does not
# use up the turns of others.
AT_ONCE_S = 0.25
# A rest is taken in pieces, so that a higher limit counts at once.
POLL_INTERVAL_S = 0.2


@dataclass(slots=True)
class Throttle:
    """A limit on bytes per second, which may change at any time; `per_s` None is no limit.

    What was not used is kept for a second at most. `rested_ms` is how long it made somebody wait.
    """

    per_s: float | None
    clock: Callable[[], float]
    rested_ms: int = 0
    _left: float = 0.0
    _at: float = field(default=0.0)

    def __post_init__(self) -> None:
        self._at = self.clock()
        self._left = (self.per_s or 0.0) * BURST_S

    def rest_s(self, taken_bytes: int) -> float:
        """Return how many seconds to take nothing after these bytes."""
        if self.per_s is None:
            return 0.0
        now = self.clock()
        self._left = min(self._left + (now - self._at) * self.per_s, self.per_s * BURST_S)
        self._at = now
        self._left -= taken_bytes
        return max(-self._left / self.per_s, 0.0)

    def most_bytes(self, most: int, least: int) -> int:
        """Return how much to take at once, so that rests stay short."""
        return most if self.per_s is None else max(min(most, int(self.per_s * AT_ONCE_S)), least)

    async def rest(self, taken_bytes: int) -> None:
        """Take nothing for as long as these bytes ask for."""
        rest_s = self.rest_s(taken_bytes)
        while rest_s > 0:
            began = self.clock()
            await asyncio.sleep(min(rest_s, POLL_INTERVAL_S))
            self.rested_ms += round((self.clock() - began) * 1000)
            rest_s = self.rest_s(0)


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
    """Chooses whom to fetch when not everything can be copied at once: higher priorities go first.

    Turns are counted in bytes: one more in priority is twice as much. A partition waits only for partitions
    of a higher priority that have records left to copy; between equal ones there are no turns. A partition
    that was passed over often and long enough has a turn whatever the count says. A broker fills its answer
    in the order of asking, and the first may fill it alone: so the one that got least of its share comes
    for first.
    """

    def __init__(self, priorities: Mapping[str, int] | None = None) -> None:
        self._priorities: Mapping[str, int] = {}
        self._accounts: dict[TopicPartition, _FetchedShare] = {}
        self.prefer(priorities or {})

    def prefer(self, priorities: Mapping[str, int]) -> None:
        """Use these priorities, by topic; a topic that is not named has 0."""
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
