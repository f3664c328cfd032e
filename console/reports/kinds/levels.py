"""The console's severities as levels of reports."""

from __future__ import annotations

from collections.abc import Mapping

from console.frame.pages.states import Severity
from jobs.reports.document import Level

LEVELS: Mapping[Severity, Level] = {
    Severity.OK: Level.OK,
    Severity.NOTICE: Level.OK,
    Severity.WARN: Level.WARNING,
    Severity.RISK: Level.WARNING,
    Severity.CRIT: Level.CRITICAL,
    Severity.NONE: Level.NONE,
}
SEVERITY_WORDS: Mapping[Severity, str] = {
    Severity.OK: "Healthy",
    Severity.NOTICE: "Notice",
    Severity.WARN: "Warning",
    Severity.RISK: "Risk",
    Severity.CRIT: "Critical",
    Severity.NONE: "Unknown",
}
