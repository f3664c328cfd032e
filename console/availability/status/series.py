"""Counts of partitions over time, downsampled for charts."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from console.availability.status.queries import COUNTS, list_absences, list_stretches, list_unclean
from console.clusters.models import Cluster
from console.findings.incidents.queries import OF_CLUSTER, list_marks
from console.frame.pages.state_timeline import Event, in_order
from console.frame.pages.timerange import TimeRange
from console.frame.series import MOST_POINTS, Row, read, with_gaps
from jobs.availability.status.peaks import SAMPLED
from jobs.availability.status.severity import Severity
from jobs.availability.status.tally import ScopeKind
from jobs.severity import Severity as Look

MOST_EVENTS = 60


def read_counts(
    cluster: Cluster, time_range: TimeRange, now: datetime, points: int = MOST_POINTS
) -> dict[str, list[Any]]:
    """Return columns `at` (Unix seconds), the counts of `SAMPLED`, and `events`; at most eight queries.

    Each step tells its worst moment, from the second in which it was reached. A stretch without samples is
    one row of nulls.
    """
    step_s, found = _steps(cluster, ScopeKind.CLUSTER, time_range, now, points)
    lines = ((at_s, rows and rows[""]) for at_s, rows in with_gaps(found, step_s))
    columns = _columns(SAMPLED, lines, step_s, read_rises(cluster, time_range))
    return {**columns, "events": events_of(cluster, time_range)}


def read_parts(
    cluster: Cluster,
    kind: ScopeKind,
    measure: str,
    time_range: TimeRange,
    now: datetime,
    points: int = MOST_POINTS,
) -> dict[str, list[Any]]:
    """Return columns `at` and one per broker or rack with a sample, by its name."""
    step_s, whole = _steps(cluster, ScopeKind.CLUSTER, time_range, now, points)
    parts = _steps(cluster, kind, time_range, now, points)[1]
    names = sorted({name for rows in parts.values() for name in rows}, key=_by_number)
    begins = read_rises(cluster, time_range).begins
    # A count of a broker or rack rises when that of the cluster does: there are no start times per part.
    rises = Rises({name: sorted(set(begins.get(measure, ()))) for name in names})
    # A part without a sample where the cluster has one had no unhealthy partition.
    none: Row = dict.fromkeys(SAMPLED, 0)
    lines = (
        (at_s, rows and {name: parts.get(at_s, {}).get(name, none)[measure] for name in names})
        for at_s, rows in with_gaps(whole, step_s)
    )
    columns = _columns(names, lines, step_s, rises)
    return {**columns, "events": events_of(cluster, time_range)}


def _columns(
    names: Iterable[str], lines: Iterable[tuple[int, Row | None]], step_s: int, rises: Rises
) -> dict[str, list[Any]]:
    columns: dict[str, list[Any]] = {"at": [], **{name: [] for name in names}}
    before: Row | None = None
    for at_s, row in lines:
        gap = [(at_s, dict.fromkeys(names))]
        points = gap if row is None else rises.points(at_s, step_s, row, before)
        for moment, values in points:
            columns["at"].append(moment)
            for name, value in values.items():
                columns[name].append(value)
        before = row
    return columns


def events_of(cluster: Cluster, time_range: TimeRange) -> list[dict[str, Any]]:
    """Return unclean elections, begins of stretches without a leader, and incidents, newest ones first."""
    return [event.to_mapping() for event in list_events(cluster, time_range)]


def list_events(cluster: Cluster, time_range: TimeRange) -> list[Event]:
    """Return the same as events, oldest first; three queries."""
    found = list_marks(time_range, cluster=cluster, subject_kind__in=OF_CLUSTER)
    found += [
        Event(row.at, "Unclean election", f"{row.name}: leader {row.leader}", Look.CRITICAL)
        for row in list_unclean(cluster, time_range).select_related(None)[:MOST_EVENTS]
    ]
    offline = list_stretches(cluster, time_range, Severity.OFFLINE).select_related(None)
    begun = offline.filter(began_at__gte=time_range.start).order_by("-began_at")
    found += [
        Event(row.began_at, "Without a leader", row.name, Look.CRITICAL)
        for row in begun[:MOST_EVENTS]
    ]
    return in_order(found, MOST_EVENTS)


def _steps(
    cluster: Cluster, kind: ScopeKind, time_range: TimeRange, now: datetime, points: int
) -> tuple[int, dict[int, dict[str, Row]]]:
    return read(COUNTS, time_range, now, points, cluster=cluster, kind=kind)


def _by_number(name: str) -> tuple[int, str]:
    return (int(name) if name.isdecimal() else 0, name)


# When counts rose: samples tell the worst moment of a step, partitions and replicas tell when it began.

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
        """Return when within a step a count had risen by `more`; the start of the step if unknown."""
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
