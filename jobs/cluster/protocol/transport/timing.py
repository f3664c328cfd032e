"""How long is waited for what, and for how long something is tried again."""

from __future__ import annotations

import asyncio
import math
import random
import time
from collections.abc import Callable
from dataclasses import dataclass

from jobs.cluster.errors import ClusterFault, Remedy

_JITTER = 0.2
# So long the same kind of fault may last where waiting may help; a broker restarts within it.
LASTING_S = 60.0
# A fault so long after the last one does not belong to it: loops try again sooner than that.
QUIET_S = 600.0


@dataclass(frozen=True, slots=True)
class Timing:
    """The waits of a cluster's connections; clock and randomness come in here, for tests.

    `request_timeout_s` is how long an answer may take beyond the time that the request itself asks
    the broker to wait; a broker that hangs is noticed after it. `connect_timeout_s` covers the name
    look-up, TCP, TLS, ApiVersions and SASL together. `metadata_timeout_s` is the share of one broker in
    a question that any broker can answer. `clock` counts seconds and never goes back. Every budget ends at
    `ends_at_s` of that clock at the latest.
    """

    request_timeout_s: float = 30.0
    connect_timeout_s: float = 10.0
    metadata_timeout_s: float = 5.0
    metadata_max_age_s: float = 300.0
    backoff_first_s: float = 0.05
    backoff_longest_s: float = 2.0
    ends_at_s: float = math.inf
    clock: Callable[[], float] = time.monotonic
    # Jitter keeps clients apart; no secret depends on it.
    chance: Callable[[], float] = random.random


class Backoff:
    """A pause that doubles with every failure, up to a longest one, with 20 % of jitter."""

    def __init__(self, timing: Timing) -> None:
        self._timing = timing
        self._failures = 0

    def next_s(self) -> float:
        """Return the pause after one more failure."""
        pause = self._timing.backoff_first_s * 2.0 ** min(self._failures, 30)
        self._failures += 1
        spread = 1 - _JITTER + 2 * _JITTER * self._timing.chance()
        return min(pause, self._timing.backoff_longest_s) * spread

    def reset(self) -> None:
        """Begin with the first pause again: it worked."""
        self._failures = 0


class Patience:
    """How long a loop that asks a cluster again and again waits for what ends its faults.

    What never succeeded ends with the first final fault. What worked may work again: only the same kind of
    fault for `LASTING_S` ends it. A loop that `waits_for_people` does not end while a person has to act.
    """

    def __init__(
        self,
        *,
        waits_for_people: bool,
        has_worked: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._waits_for_people = waits_for_people
        self._has_worked = has_worked
        self._clock = clock
        self._since: tuple[Remedy, float] | None = None
        self._last_s = -math.inf

    def succeeded(self) -> None:
        """Note that it works."""
        self._has_worked, self._since = True, None

    def is_over(self, fault: ClusterFault) -> bool:
        """Return whether the loop must end with this fault."""
        remedy, now_s = fault.remedy, self._clock()
        is_new = now_s - self._last_s >= QUIET_S
        self._last_s = now_s
        if self._since is None or self._since[0] is not remedy or is_new:
            self._since = remedy, now_s
        lasts = now_s - self._since[1] >= LASTING_S
        match remedy:
            case Remedy.FINAL:
                return lasts or not self._has_worked
            case Remedy.DOUBTFUL:
                return lasts and not self._has_worked
            case Remedy.OPERATOR:
                return lasts and not self._waits_for_people
            case _:
                return False


class RetryBudget:
    """The tries of one question within a budget, with pauses between them."""

    def __init__(self, timing: Timing, budget_s: float) -> None:
        self._clock = timing.clock
        self._backoff = Backoff(timing)
        self._ends_at = min(timing.clock() + budget_s, timing.ends_at_s)

    def left_s(self) -> float:
        """Return what is left of the budget; never negative."""
        return max(0.0, self._ends_at - self._clock())

    async def pause(self) -> bool:
        """Wait before the next try; returns False, at once, when the budget does not reach that far."""
        pause_s = self._backoff.next_s()
        if pause_s >= self.left_s():
            return False
        await asyncio.sleep(pause_s)
        return True
