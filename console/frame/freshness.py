"""How old an answer is, and why it is not newer: shown on every panel."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class Freshness:
    """The state of one kind of collected rows, for example the topics of a cluster.

    `succeeded_at` is None when no round ever succeeded; `failing_since` is None while the last round
    succeeded. `error` says what happened, `hint` what to do about it.
    """

    noun: str
    succeeded_at: datetime | None
    failing_since: datetime | None = None
    error: str = ""
    hint: str = ""
    duration_ms: int | None = None

    @property
    def is_failing(self) -> bool:
        """Say whether the last round failed."""
        return self.failing_since is not None

    def age_s(self, now: datetime) -> float | None:
        """Return the age of the rows, never negative; None when there never were any."""
        if self.succeeded_at is None:
            return None
        return max(0.0, (now - self.succeeded_at).total_seconds())

    def is_stale(self, now: datetime, limit_s: float = 60.0) -> bool:
        """Say whether the rows are too old to act on: failing, never there, or older than `limit_s`."""
        age_s = self.age_s(now)
        return self.is_failing or age_s is None or age_s > limit_s


def oldest(entries: list[Freshness]) -> Freshness | None:
    """Return the entry that a panel made of several kinds of rows has to show: the worst one."""
    return min(entries, key=_goodness, default=None)


def _goodness(entry: Freshness) -> tuple[bool, float]:
    age_key = entry.succeeded_at.timestamp() if entry.succeeded_at else float("-inf")
    return (not entry.is_failing, age_key)
