"""When counts rose: samples tell the worst moment of a step, partitions and replicas tell when it began."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from console.availability.status.queries import list_absences, list_stretches
from console.clusters.models import Cluster
from console.frame.pages.timerange import TimeRange
from jobs.availability.status.severity import Severity

# Of more beginnings than these in a range the newest count; older rises are drawn where their step begins.
MOST_BEGINS = 20_000
_OF_SEVERITY = {
    Severity.OFFLINE: ("offline", "under_min_isr", "unwritable"),
    Severity.UNDER_MIN_ISR: ("under_min_isr", "unwritable"),
    Severity.AT_MIN_ISR: ("at_min_isr",),
    Severity.UNDER_REPLICATED: (),
}
_OF_ABSENCES = ("under_replicated", "out_of_sync")
Values = Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Rises:
    """The seconds (since 1970) at which something began that a count counts, oldest first."""

    begins: dict[str, list[int]] = field(default_factory=dict)

    def when(self, name: str, more: int, at_s: int, step_s: int) -> int:
        """Return when within a step a count had risen by `more`; the begin of the step where nobody knows."""
        known = self.begins.get(name, [])
        first = bisect_left(known, at_s)
        inside = bisect_left(known, at_s + step_s) - first
        return known[first + min(more, inside) - 1] if inside else at_s

    def points(
        self, at_s: int, step_s: int, row: Values, before: Values | None
    ) -> Iterator[tuple[int, dict[str, int]]]:
        """Yield the points of a step: what fell or stayed at its begin, what rose when it rose."""
        when = {
            name: self.when(name, value - before[name], at_s, step_s)
            if before is not None and value > before[name]
            else at_s
            for name, value in row.items()
        }
        for moment in sorted({at_s, *when.values()}):
            yield (
                moment,
                {
                    name: value if before is None or when[name] <= moment else before[name]
                    for name, value in row.items()
                },
            )


def read_rises(cluster: Cluster, time_range: TimeRange) -> Rises:
    """Return the beginnings in a time range; two queries."""
    inside = {"began_at__gte": time_range.start, "began_at__lte": time_range.end}
    stretches = list_stretches(cluster).select_related(None).filter(**inside)
    absences = list_absences(cluster, is_open=False).select_related(None).filter(**inside)
    found: dict[str, list[int]] = {}
    newest = stretches.order_by("-began_at").values_list("severity", "began_at")
    for severity, at in newest[:MOST_BEGINS]:
        for name in _OF_SEVERITY[Severity(severity)]:
            found.setdefault(name, []).append(int(at.timestamp()))
    missed = absences.order_by("-began_at").values_list("began_at", flat=True)[:MOST_BEGINS]
    for at in missed:
        for name in _OF_ABSENCES:
            found.setdefault(name, []).append(int(at.timestamp()))
    return Rises({name: sorted(times) for name, times in found.items()})
