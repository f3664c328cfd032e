"""When another answer to "can I fail over now?" counts: only after rounds have found it for a stated time.

The clock is an argument. An answer that comes and goes between two rounds changes nothing; one that differs
from what counts for long counts in the end, whichever it is.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from jobs.replication.checkpoints.obstacles import Readiness

# For so long rounds must have found another answer before it counts.
HOLD = timedelta(seconds=5)
# UNKNOWN says that a number is missing: a broker that restarts must not change the answer.
UNKNOWN_HOLD = timedelta(seconds=30)
# A round may start a little before its time.
_EARLY = timedelta(seconds=1)


@dataclass(frozen=True, slots=True)
class Held:
    """The answer that counts; where the last round found another one: `found`, since when in a row.

    `differs_since` is since when every round found another one than `counts`, whichever it was.
    """

    counts: Readiness
    found: Readiness | None = None
    found_since: datetime | None = None
    differs_since: datetime | None = None

    def __post_init__(self) -> None:
        if (self.found is None) != (self.found_since is None):
            raise ValueError("what was found and since when belong together")


def follow(before: Held | None, found: Readiness, now: datetime) -> Held:
    """Return what counts after a round that found an answer at `now`; the first answer counts at once."""
    if before is None or found is before.counts:
        return Held(found)
    is_same = found is before.found
    after = Held(
        before.counts,
        found,
        before.found_since if is_same else now,
        before.differs_since or now,
    )
    return Held(found) if _counts(after, now) else after


def _counts(held: Held, now: datetime) -> bool:
    hold = UNKNOWN_HOLD if held.found is Readiness.UNKNOWN else HOLD
    return any(
        since is not None and now - since >= span - _EARLY
        for since, span in ((held.found_since, hold), (held.differs_since, UNKNOWN_HOLD))
    )
