"""How bad the state of a partition is: one ladder, from well to worst."""

from __future__ import annotations

from enum import IntEnum


class Severity(IntEnum):
    """The ladder: under-replicated, at-min-ISR, under-min-ISR, offline.

    AT_MIN_ISR is used only when a replica is missing: the next loss stops writes with acks=all.
    """

    OK = 0
    UNDER_REPLICATED = 1
    AT_MIN_ISR = 2
    UNDER_MIN_ISR = 3
    OFFLINE = 4

    @property
    def word(self) -> str:
        """The word for programs and people: `under_min_isr`."""
        return self.name.lower()


def partition_severity(
    *, leader: int | None, replicas: int, isr: int, min_insync_replicas: int | None
) -> Severity:
    """Return where a partition stands, from the numbers of its replicas and in-sync replicas.

    Without a known `min_insync_replicas` the two middle steps cannot be told. A broker never asks
    for more in-sync replicas than there are replicas (`Partition.effectiveMinIsr`).
    """
    if leader is None:
        return Severity.OFFLINE
    least = None if min_insync_replicas is None else min(min_insync_replicas, replicas)
    if least is not None and isr < least:
        return Severity.UNDER_MIN_ISR
    if isr >= replicas:
        return Severity.OK
    return Severity.AT_MIN_ISR if isr == least else Severity.UNDER_REPLICATED
