"""Words, severities and definitions of readiness and checkpoints."""

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
    "Now minus the timestamp of the checkpoint's record, of the oldest checkpoint that is behind its group. "
    "The checkpoint of an idle group gets older and stays valid."
)
BEHIND = "Committed offset of the group on the source minus the offset of its checkpoint: an upper bound."
REREAD = (
    "Records that the group reads again when it resumes on the target without a plan: at its own offset "
    "there, else at the checkpoint. A range of certified bounds; a dash: unknown."
)
REPEATED = (
    "Upper bound of the records that the group reads again when a plan sets its certified offset. While a "
    "group commits, its newest commits are newer than the newest offset sync: the bound is lower once the "
    "group has stopped. A dash: unknown."
)
AT_RISK = (
    "Records of the source that the target does not have. They are lost if the source is lost now."
)
AT_RISK_MS = (
    "The newest record of the source minus the newest copied one, by their timestamps: it does not grow "
    "while nothing is produced."
)
HELD = (
    f"A change counts after all rounds of {HOLD.seconds} s have found it (Unknown: "
    f"{UNKNOWN_HOLD.seconds} s)."
)
READY = (
    "Share of the last 30 days with the readiness Ready; times without an evaluation do not count. "
    f"{HELD}"
)

# Where the value of a reason is not a good label.
_REASON_WORDS = {"not_yet": "checkpoint pending"}


def reason_word(reason: str) -> str:
    """Return the label of a checkpoint reason."""
    return _REASON_WORDS.get(reason, reason.replace("_", " "))


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
