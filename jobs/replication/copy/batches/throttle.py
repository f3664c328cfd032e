"""A limit on bytes per second, which may change at any time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

BURST_S = 1.0
# What is taken at once: little, so that the rests between are short and a turn of one partition does not
# use up the turns of others.
AT_ONCE_S = 0.25
# A rest is taken in pieces, so that a higher limit counts at once.
POLL_INTERVAL_S = 0.2


@dataclass(slots=True)
class Throttle:
    """Tells how long to rest after taking bytes; `per_s` None is no limit.

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
