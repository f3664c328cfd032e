"""Series over all clusters that a person may see: worst lag, records/s, offline and under-replicated."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from console.availability.status.queries import COUNTS
from console.clusters.models import Cluster
from console.findings.incidents.models import Incident
from console.findings.incidents.queries import list_marks
from console.frame.pages.timerange import TimeRange
from console.frame.security.access import visible
from console.frame.series import Row, Series, longest_rest, read, with_gaps
from console.replication.flows.queries import Flow, rest_s
from console.replication.measurement.queries import LAG
from jobs.availability.status.tally import ScopeKind
from jobs.numbers import largest_of, sum_of

Join = Callable[[Iterable[Any]], Any]
# Each flow and each cluster is a line.
_MAX: Join = lambda values: largest_of(values).value  # noqa: E731
_SUM: Join = lambda values: sum_of(values).value  # noqa: E731


@dataclass(frozen=True, slots=True)
class _Lines:
    """How lines of a series become one: by name of the value. Samples of a line may be `rest_s` apart."""

    series: Series
    joins: Mapping[str, Join]
    rest_s: int = 0


_FLOWS = _Lines(
    replace(LAG, key=("topic", "flow_id")), {"lag_ms": _MAX, "rate_per_s": _SUM}, rest_s()
)
_PARTITIONS = _Lines(
    replace(COUNTS, key=("kind", "name", "cluster_id")), {"offline": _SUM, "under_replicated": _SUM}
)


def read_flows(user: Any, time_range: TimeRange, now: datetime, points: int) -> dict[str, Any]:
    """Return columns `at`, `lag_ms` (worst flow), `rate_per_s` (sum), and `events`."""
    where = {"topic": "", "flow__in": visible(user, Flow.objects.all())}
    return _columns(_FLOWS, where, time_range, now, points, user)


def read_partitions(user: Any, time_range: TimeRange, now: datetime, points: int) -> dict[str, Any]:
    """Return columns `at`, `offline`, `under_replicated` (sums over clusters), and `events`."""
    where = {
        "kind": ScopeKind.CLUSTER,
        "name": "",
        "cluster__in": visible(user, Cluster.objects.all()),
    }
    return _columns(_PARTITIONS, where, time_range, now, points, user)


def _columns(
    lines: _Lines,
    where: Mapping[str, Any],
    time_range: TimeRange,
    now: datetime,
    points: int,
    user: Any,
) -> dict[str, list[Any]]:
    step_s, found = read(lines.series, time_range, now, points, **where)
    kept_s = longest_rest(step_s, lines.rest_s)
    columns: dict[str, list[Any]] = {"at": [], **{name: [] for name in lines.joins}}
    last: dict[Any, tuple[int, Row]] = {}
    for at_s, rows in with_gaps(found, step_s, lines.rest_s):
        last |= {line: (at_s, row) for line, row in (rows or {}).items()}
        # A line whose next sample is not due yet keeps its value.
        held = [row for seen_s, row in last.values() if rows and at_s - seen_s <= kept_s]
        columns["at"].append(at_s)
        for name, join in lines.joins.items():
            columns[name].append(join(row[name] for row in held))
    marks = visible(user, Incident.objects.all())
    return {**columns, "events": [one.to_mapping() for one in list_marks(time_range, marks)]}
