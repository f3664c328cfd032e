"""The status words of crosslog and their order: pages, reports, findings, the API and metrics use these."""

from __future__ import annotations

from enum import StrEnum


class Severity(StrEnum):
    """How bad something is, best first; `unknown`: not judged.

    Words of releases up to 0.5 are read as well: `Severity("crit")` is CRITICAL.
    """

    UNKNOWN = "unknown"
    HEALTHY = "healthy"
    INFO = "info"
    WARNING = "warning"
    CRITICAL = "critical"

    @property
    def rank(self) -> int:
        """The place in the order: 0 for unknown, 4 for critical."""
        return _LADDER.index(self)

    @classmethod
    def of_rank(cls, rank: int) -> Severity:
        """Return the severity of a rank."""
        return _LADDER[rank]

    @property
    def word(self) -> str:
        """The word on pages and in reports."""
        return self.value.capitalize()

    @classmethod
    def _missing_(cls, value: object) -> Severity | None:
        return _OF_BEFORE.get(str(value))


_LADDER = list(Severity)
# The words of releases up to 0.5.
_OF_BEFORE = {
    "none": Severity.UNKNOWN,
    "ok": Severity.HEALTHY,
    "notice": Severity.INFO,
    "warn": Severity.WARNING,
    "risk": Severity.CRITICAL,
    "crit": Severity.CRITICAL,
}
FINDING_SEVERITIES = (Severity.INFO, Severity.WARNING, Severity.CRITICAL)
