"""Error budget and burn rate of an objective, from steps of measured time. Pure.

Terms of Google's SRE workbook, chapter 5: a target of 99.9 % has a budget of 0.1 % of the time; a burn rate
of 1 spends it in exactly the period. Time that was not measured is neither good nor bad.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

HOUR_S, SIX_HOURS_S, PERIOD_S = 3600, 6 * 3600, 30 * 86_400
WINDOWS_S = (HOUR_S, SIX_HOURS_S, PERIOD_S)


class ObjectiveKind(StrEnum):
    """RPO: time in which the target is at most so far behind.

    AVAILABILITY: time in which partitions are available, for clients or for writes with acks=all.
    """

    RPO = "rpo"
    AVAILABILITY = "availability"


@dataclass(frozen=True, slots=True)
class Step:
    """Measured time from `at_s` (Unix seconds) on; the three parts together are the length of the step."""

    at_s: int
    good_s: float
    bad_s: float
    unknown_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Window:
    """What steps within the last `window_s` add up to, in seconds."""

    window_s: int
    good_s: float = 0.0
    bad_s: float = 0.0
    unknown_s: float = 0.0

    @property
    def known_s(self) -> float:
        return self.good_s + self.bad_s

    @property
    def achieved(self) -> float | None:
        """Return the share of good time (0 to 1); None: nothing was measured."""
        return self.good_s / self.known_s if self.known_s else None

    @property
    def not_measured_s(self) -> float:
        """Time without a measurement, also where there is no step."""
        return max(0.0, self.window_s - self.known_s)


@dataclass(frozen=True, slots=True)
class Status:
    """An objective now. `target` is a share below 1 (0.999)."""

    target: float
    hour: Window
    six_hours: Window
    period: Window

    @property
    def budget_s(self) -> float:
        """Bad time that the whole period allows."""
        return (1 - self.target) * self.period.window_s

    @property
    def budget_left_s(self) -> float | None:
        """What is left of it; negative when it is spent. None: nothing was measured."""
        return self.budget_s - self.period.bad_s if self.period.known_s else None

    @property
    def budget_left(self) -> float | None:
        """The same as a share of the budget; 1: nothing is spent."""
        left = self.budget_left_s
        return None if left is None else left / self.budget_s

    def burn(self, window: Window) -> float | None:
        """Return how many times faster than allowed the budget burns; None: nothing was measured."""
        return window.bad_s / window.known_s / (1 - self.target) if window.known_s else None

    @property
    def burns(self) -> tuple[float | None, ...]:
        """The burn rates of the windows, the shortest first."""
        return tuple(self.burn(one) for one in (self.hour, self.six_hours, self.period))

    @property
    def overspent_s(self) -> float:
        """Bad time beyond the budget; 0 while the budget lasts."""
        return max(0.0, self.period.bad_s - self.budget_s)


def status_of(steps: Iterable[Step], target: float, now_s: int) -> Status:
    """Return the status at a time; steps that begin before a window do not count in it."""
    sums = {window: [0.0, 0.0, 0.0] for window in WINDOWS_S}
    for one in steps:
        for window, parts in sums.items():
            if now_s - window <= one.at_s < now_s:
                parts[0] += one.good_s
                parts[1] += one.bad_s
                parts[2] += one.unknown_s
    windows = [Window(window, *parts) for window, parts in sums.items()]
    return Status(target, *windows)
