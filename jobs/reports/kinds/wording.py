"""Words that the kinds of reports share."""

from __future__ import annotations

from collections.abc import Iterable

from jobs.numbers import format_count
from jobs.reports.document import Level, Verdict

_ORDER = (Level.CRITICAL, Level.WARNING, Level.NONE, Level.OK)


def counted(count: int, noun: str) -> str:
    """Return a count with its noun: `1 partition`, `2,000 partitions`."""
    return f"{format_count(count)} {noun}{'' if count == 1 else 's'}"


def worst_first(verdicts: Iterable[Verdict]) -> tuple[Verdict, ...]:
    """Return verdicts by severity; those of one severity in their order."""
    return tuple(sorted(verdicts, key=lambda one: _ORDER.index(one.level)))


def failed_analysis(error: str, href: str) -> Verdict:
    """Return what is said where an analysis of an archived metadata log has no answer."""
    text = (
        f"The analysis of the archived metadata log failed: {error} These figures are from the database "
        "of crosslog, as far as it reaches."
    )
    return Verdict(Level.WARNING, "Incomplete", text, href)
