"""Which incidents a route sends, and when. Pure."""

from __future__ import annotations

from enum import StrEnum


class GroupBy(StrEnum):
    """Which incidents are one message."""

    INCIDENT = "incident"
    CHECK = "check"
    CLUSTER = "cluster"
    ALL = "all"

    @property
    def label(self) -> str:
        return _LABELS[self]


_LABELS = {
    GroupBy.INCIDENT: "Each incident",
    GroupBy.CHECK: "Incidents of a check",
    GroupBy.CLUSTER: "Incidents of a cluster",
    GroupBy.ALL: "All incidents",
}


def every_day() -> list[int]:
    """Return all weekdays; 0 is Monday."""
    return list(range(7))
