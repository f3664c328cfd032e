"""How old an answer is, and why it is not newer: shown on every panel."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from jobs.numbers import format_span_s


class Round(Protocol):
    """A row that tells of the newest round for one kind of rows."""

    succeeded_at: datetime | None
    failing_since: datetime | None
    error: str
    hint: str
    duration_ms: int | None


@dataclass(frozen=True, slots=True)
class Freshness:
    """The state of one kind of collected rows, for example the topics of a cluster.

    `succeeded_at` is None when no round ever succeeded; `failing_since` is None while the last round
    succeeded. `error` says what happened, `hint` what to do about it. `stale_after_s` is the age from which
    rounds came later than they should (`stale_after_s`); None where nothing comes by itself.
    """

    noun: str
    succeeded_at: datetime | None
    failing_since: datetime | None = None
    error: str = ""
    hint: str = ""
    duration_ms: int | None = None
    stale_after_s: float | None = None

    @property
    def is_failing(self) -> bool:
        """Say whether the last round failed."""
        return self.failing_since is not None

    @property
    def reason(self) -> str:
        """Why the rows are not newer, while they are stale."""
        if self.error or self.stale_after_s is None:
            return self.error
        return (
            f"No round has succeeded for longer than {format_span_s(self.stale_after_s)}: the worker does "
            "not run, or has more to do than it can, or the cluster is slow to answer."
        )

    def age_s(self, now: datetime) -> float | None:
        """Return the age of the rows, never negative; None when there never were any."""
        if self.succeeded_at is None:
            return None
        return max(0.0, (now - self.succeeded_at).total_seconds())

    def is_late(self, now: datetime) -> bool:
        """Say whether the last round that succeeded is longer ago than it should be."""
        age_s = self.age_s(now)
        return self.stale_after_s is not None and age_s is not None and age_s > self.stale_after_s

    def is_stale(self, now: datetime) -> bool:
        """Say whether the rows are too old to act on: failing, never there, or late."""
        return self.is_failing or self.succeeded_at is None or self.is_late(now)


# A machine that is busy for a moment makes nothing stale.
_LEAST_STALE_S = 30.0


def stale_after_s(every_s: float, duration_ms: int | None) -> float:
    """Return the age from which rows are late that are read every so often, by rounds that take so long.

    A round that takes long is followed by twice its time of rest, see `console.frame.rounds`.
    """
    return max(_LEAST_STALE_S, 3 * every_s + 4 * (duration_ms or 0) / 1000)


def freshness_of_round(noun: str, row: Round | None, every_s: float | None) -> Freshness:
    """Return how fresh rows are that are read every so often; None: only when there is a cause."""
    if row is None:
        return Freshness(noun, None)
    late = None if every_s is None else stale_after_s(every_s, row.duration_ms)
    told = (row.failing_since, row.error, row.hint, row.duration_ms)
    return Freshness(noun, row.succeeded_at, *told, stale_after_s=late)


def oldest(entries: list[Freshness]) -> Freshness | None:
    """Return the entry that a panel made of several kinds of rows has to show: the worst one."""
    return min(entries, key=_goodness, default=None)


def _goodness(entry: Freshness) -> tuple[bool, float]:
    age_key = entry.succeeded_at.timestamp() if entry.succeeded_at else float("-inf")
    return (not entry.is_failing, age_key)
