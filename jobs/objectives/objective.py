"""Error budget and burn rate of an objective, from steps of measured time. Pure.

Terms of Google's SRE workbook, chapter 5: a target of 99.9 % has a budget of 0.1 % of the time; a burn rate
of 1 spends it in exactly the period. Time that was not measured is neither good nor bad.
"""

from __future__ import annotations

from dataclasses import dataclass

# The last steps, an hour, six hours, and the period of the budget.
WINDOWS_S = (600, 3600, 6 * 3600, 30 * 86_400)


@dataclass(frozen=True, slots=True)
class Step:
    """Measured time of the step that begins at `at_s` (Unix seconds); the rest of it is not known."""

    at_s: int
    good_s: float
    bad_s: float


@dataclass(frozen=True, slots=True)
class Window:
    """What steps within the last `window_s` add up to, in seconds."""

    window_s: int
    good_s: float = 0.0
    bad_s: float = 0.0

    @property
    def known_s(self) -> float:
        return self.good_s + self.bad_s

    @property
    def achieved(self) -> float | None:
        """Return the share of good time (0 to 1); None: nothing was measured."""
        return self.good_s / self.known_s if self.known_s else None

    @property
    def not_measured_s(self) -> float:
        """Time without a measurement; it spends no budget."""
        return max(0.0, self.window_s - self.known_s)


@dataclass(frozen=True, slots=True)
class Status:
    """An objective now. `target` is a share below 1 (0.999)."""

    target: float
    recent: Window
    hour: Window
    six_hours: Window
    period: Window

    @property
    def allowed(self) -> float:
        """The share of bad time that the target allows, without what subtraction leaves."""
        return round(1 - self.target, 9)

    @property
    def budget_s(self) -> float:
        """Bad time that the whole period allows."""
        return self.allowed * self.period.window_s

    @property
    def budget_left_s(self) -> float | None:
        """What is left of it; negative when it is spent. None: nothing was measured."""
        return round(self.budget_s - self.period.bad_s, 3) if self.period.known_s else None

    @property
    def budget_left(self) -> float | None:
        """The same as a share of the budget; 1: nothing is spent."""
        left = self.budget_left_s
        return None if left is None else left / self.budget_s

    def burn(self, window: Window) -> float | None:
        """Return how many times faster than allowed the budget burns; None: nothing was measured."""
        return window.bad_s / window.known_s / self.allowed if window.known_s else None

    @property
    def burns(self) -> dict[str, float | None]:
        """The burn rates by window, the shortest first."""
        windows = {"1h": self.hour, "6h": self.six_hours, "30d": self.period}
        return {name: self.burn(one) for name, one in windows.items()}

    @property
    def overspent_s(self) -> float:
        """Bad time beyond the budget; 0 while the budget lasts."""
        return max(0.0, -(self.budget_left_s or 0.0))
