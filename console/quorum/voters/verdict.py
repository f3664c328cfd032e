"""The status of a quorum in a word: the same on every page and in the API."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from jobs.severity import Severity

if TYPE_CHECKING:
    from console.quorum.models import MetadataLog

UNKNOWN = "Unknown"


@dataclass(frozen=True, slots=True)
class Verdict:
    """Severity and text; `why` is empty where findings are the reason."""

    severity: str
    word: str
    why: str = ""


def verdict_of(log: MetadataLog, now: datetime) -> Verdict:
    """Return the verdict on a log of `queries.list_logs`; what was not checked is unknown.

    Of an imported log the findings that had ended by its end count too: it is read for what was in it.
    """
    count: int = getattr(log, "open_count", 0)
    worst = Severity.of_rank(getattr(log, "worst_rank", None) or Severity.HEALTHY.rank)
    if count:
        return Verdict(worst.value, f"{count} finding{'' if count == 1 else 's'}")
    why = why_unknown(log, now)
    if why:
        return Verdict(Severity.UNKNOWN.value, UNKNOWN, why)
    return Verdict(worst.value, "Healthy" if worst is Severity.HEALTHY else "Info")


def why_unknown(log: MetadataLog, now: datetime) -> str:
    """Return why a quorum was not checked; empty when it was."""
    if log.is_imported:
        return _why_import_unknown(log)
    status = getattr(log, "status", None) if log.pk else None
    if status is not None and status.failing_since:
        return f"Not checked: the quorum cannot be described. {status.error}"
    if status is None or status.succeeded_at is None:
        return "Not checked yet: the quorum was not described."
    if log.freshness.is_stale(now):
        return "Not checked: the last description is stale."
    return str(status.unjudged)


def _why_import_unknown(log: MetadataLog) -> str:
    if log.failing_since:
        return log.error
    if log.heard_at is None:
        return "Not checked yet: crosslog is reading the log."
    if log.last_at is None:
        return "Not checked: none of its records has a time."
    return (
        ""
        if log.judged_at
        else "Not checked: an earlier version of crosslog imported it. Read it again."
    )
