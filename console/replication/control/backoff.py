"""When a flow's run is started again after it ended: pure rules."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from console.runs.models import Run, RunState

# A run that lived this long has worked: its end is the first failure of a new row of failures.
HEALTHY_AFTER = timedelta(seconds=60)
LONGEST_WAIT_S = 60


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the end of a run means: failures in a row, why, since when, and when to try again."""

    failures: int
    failure: str
    failing_since: datetime | None
    next_try_at: datetime


def judge_end(run: Run, failures: int, failing_since: datetime | None, now: datetime) -> Verdict:
    """Return what follows from the end of `run`, the newest of a flow that should be running.

    An end that was asked for is no failure; everything else is, also a success: a flow has no end.
    """
    ended_at = run.finished_at or now
    if run.state == RunState.CANCELLED or run.cancel_requested_at is not None:
        return Verdict(0, "", None, ended_at)
    count = 1 if has_worked(run, ended_at) else failures + 1
    since = failing_since if count > 1 and failing_since else ended_at
    wait = timedelta(seconds=wait_s(count))
    return Verdict(count, run.error or "The run ended by itself.", since, ended_at + wait)


def has_worked(run: Run, now: datetime) -> bool:
    """Return whether the run lived, and reported, long enough to forget the failures before it."""
    if run.started_at is None or run.reported_at is None:
        return False
    return now - run.started_at >= HEALTHY_AFTER


def wait_s(failures: int) -> int:
    """Return how long to wait after this many failures in a row: 1, 2, 4 ... 60 s."""
    # The shift is bounded so that a flow that failed for weeks does not count in huge numbers.
    return min(1 << min(failures - 1, 10), LONGEST_WAIT_S)
