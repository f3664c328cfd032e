"""A limit on bytes per second."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

BURST_S = 1.0


@dataclass(slots=True)
class Throttle:
    """Tells how long to rest after taking bytes; `per_s` None is no limit.

    What was not used is kept for a second at most.
    """

    per_s: float | None
    clock: Callable[[], float]
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
