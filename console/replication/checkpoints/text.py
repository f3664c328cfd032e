"""How answers and checkpoints are told to people: words, severities, definitions."""

from __future__ import annotations

from jobs.numbers import DASH, format_count
from jobs.replication.checkpoints.obstacles import HOLD, UNKNOWN_HOLD, Readiness
from jobs.severity import Severity

SEVERITIES = {
    Readiness.READY: Severity.HEALTHY,
    Readiness.WARNING: Severity.WARNING,
    Readiness.UNKNOWN: Severity.UNKNOWN,
    Readiness.BLOCKED: Severity.CRITICAL,
    Readiness.NOT_COVERED: Severity.UNKNOWN,
}
WORDS = {
    Readiness.READY: "Ready",
    Readiness.WARNING: "Warning",
    Readiness.UNKNOWN: "Unknown",
    Readiness.BLOCKED: "Blocked",
    Readiness.NOT_COVERED: "Not covered",
}
AGE = (
    "Now minus the timestamp of the checkpoint's record; of the oldest one that its group has left behind. "
    "While a group rests its checkpoint grows old and is still right."
)
BEHIND = (
    "The group's committed offset on the source minus the checkpoint's: at most so many records."
)
REREAD = (
    "What is read again when the group goes on by itself: at its own offset on the target, else at the "
    "checkpoint. Between the certified bounds; a dash: nobody knows."
)
REPEATED = (
    "What is read again at most when a plan lets the group go on at the certified place. While a group "
    "commits, the plan finds commits that are newer than the newest offset sync, of which less is certain: "
    "the bound is lower once the group has stopped. A dash: not known."
)
AT_RISK = "Records of the source that the target does not have: lost if the source is lost now."
AT_RISK_MS = (
    "The newest record of the source minus the newest copied one, by their timestamps: it does not grow "
    "while nothing is written."
)
HELD = (
    f"A change counts once all rounds for {HOLD.seconds} s have found it (Unknown: "
    f"{UNKNOWN_HOLD.seconds} s)."
)
READY = (
    "The share of the last 30 days in which the answer was Ready; times without an answer do not count. "
    f"{HELD}"
)


def repeated_of(stopped: int | None, coming: int | None) -> str:
    """Return what a plan repeats at most: 0, or 0 once stopped, 409 while committing, or a dash."""
    if stopped is None or stopped == coming:
        return format_count(stopped)
    committing = "not known" if coming is None else format_count(coming)
    return f"{format_count(stopped)} once stopped, {committing} while committing"


def span_of(lo: int | None, hi: int | None) -> str:
    """Return two bounds as people read them: 4, 0 to 120, at least 17, or a dash."""
    if lo is None:
        return DASH
    if hi is None:
        return f"at least {format_count(lo)}"
    return format_count(lo) if lo == hi else f"{format_count(lo)} to {format_count(hi)}"
