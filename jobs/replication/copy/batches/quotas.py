"""Brokers that ask to be left alone, because a quota is used up (KIP-219).

A broker answers at once, tells for how long, and reads nothing more from that connection meanwhile: what is
asked before then only waits there, and the broker looks like one that hangs.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass(slots=True)
class Quotas:
    """Who is left alone until when; `rested_ms` is how long somebody waited for that.

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
        """Return for how many seconds a broker is to be left alone; 0: it may be asked."""
        return max(self._until_s.get(broker, 0.0) - self.clock(), 0.0)

    async def wait(self, broker: tuple[str, int]) -> None:
        """Wait until a broker may be asked again."""
        while left_s := self.left_s(broker):
            began = self.clock()
            await asyncio.sleep(left_s)
            self.rested_ms += round((self.clock() - began) * 1000)
