"""The figures of the availability report."""

from __future__ import annotations

from jobs.reports.document import Figure
from jobs.reports.kinds.clusters.availability_recorded import ClusterAvailability
from jobs.reports.kinds.clusters.partition_time import TimeTotals
from jobs.reports.values import ValueType

MINUTES_UNDER = "Leaderless time included: writes with acks=all are refused."
_SHARE = (
    "1 - leaderless partition time / partition time. Partition time is the watched time of each partition "
    "from its creation, or from when it was first seen, to its deletion; what was not watched is left out."
)
_WRITE_SHARE = (
    "The same for producers with acks=all: time under min ISR counts as leaderless time does. A partition "
    "with more min.insync.replicas than replicas asks for all of them."
)


def figures_of(
    cluster: ClusterAvailability, before: ClusterAvailability | None
) -> tuple[Figure, ...]:
    """Return the figures of a cluster, with those of the period before."""
    now, then = cluster.totals, before.totals if before else None
    href = cluster.href

    def of(label: str, name: str, type_: ValueType, definition: str) -> Figure:
        return Figure(label, _of(now, name), type_, definition, href, _of(then, name))

    return (
        of("Availability", "availability", ValueType.AVAILABILITY, _SHARE),
        of(
            "Availability for writes with acks=all",
            "write_availability",
            ValueType.AVAILABILITY,
            _WRITE_SHARE,
        ),
        of(
            "Leaderless partition time",
            "leaderless_ms",
            ValueType.DURATION_MS,
            "Time without a leader, of all partitions together.",
        ),
        of(
            "Partition time under min ISR",
            "under_min_isr_ms",
            ValueType.DURATION_MS,
            f"Of all partitions together. {MINUTES_UNDER}",
        ),
        of(
            "Time with a leaderless partition",
            "any_leaderless_ms",
            ValueType.DURATION_MS,
            "Time in which at least one partition had no leader.",
        ),
        of(
            "Time with a partition under min ISR",
            "any_under_min_isr_ms",
            ValueType.DURATION_MS,
            "Time in which at least one partition was leaderless or under min ISR.",
        ),
        of(
            "Partitions",
            "partitions",
            ValueType.COUNT,
            "Partitions with watched time in the period.",
        ),
        Figure(
            "Outages",
            cluster.span_count if now else None,
            ValueType.COUNT,
            "Spans of one partition leaderless or under min ISR that touch the period.",
            href,
            before.span_count if before and then else None,
        ),
        Figure(
            "Unclean leader elections",
            cluster.unclean_count if now else None,
            ValueType.COUNT,
            "A leader that was not in sync was elected: acknowledged records may be lost. Only the metadata "
            "log tells them.",
            href,
            before.unclean_count if before and then else None,
        ),
        Figure(
            "Out-of-sync spans",
            sum(one.spans for one in cluster.brokers) if now else None,
            ValueType.COUNT,
            "Spans of a replica outside of the ISR that began in the period.",
            cluster.brokers_href,
            sum(one.spans for one in before.brokers) if before and then else None,
        ),
    )


def _of(totals: TimeTotals | None, name: str) -> object:
    return getattr(totals, name) if totals is not None else None
