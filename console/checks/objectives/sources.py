"""The steps of objectives, from what the rooms recorded."""

from __future__ import annotations

from collections.abc import Collection
from datetime import UTC, datetime
from functools import cached_property
from typing import Any

from django.conf import settings
from django.db.models import Count, Min

from console.availability import queries as availability
from console.availability.status import queries as status
from console.clusters.models import Cluster
from console.findings.objectives.models import CountsAs, Objective
from console.frame.pages.timerange import TimeRange
from console.frame.series import longest_rest
from console.replication.flows import queries as flows
from console.replication.measurement import queries as measurement
from jobs.availability.status.severity import Severity
from jobs.availability.status.tally import ScopeKind
from jobs.objectives.measuring import Interval, above, measure
from jobs.objectives.objective import Step
from jobs.patterns.matching import Matcher, glob_expression

_LEAST = {
    CountsAs.OFFLINE.value: Severity.OFFLINE,
    CountsAs.UNDER_MIN_ISR.value: Severity.UNDER_MIN_ISR,
}
# States of a flow in which a person wants nothing to be replicated.
_AT_REST = frozenset({"paused", "stopped", "stopping", "deleting"})


class FlowSource:
    """Samples of the lag in time of a flow as a whole, "" as topic.

    The lag is the time of the newest source record minus that of the last replicated one: how old the records
    at risk are. The check `flow_rpo` takes the same distance from its answer of now, of which only the worst
    of each minute is kept. A sample without it, or with partitions without a lag, is unknown. So is the time
    in which a person paused or stopped the flow, as far as it is seen now: samples of a pause that is over
    count, and so does the lag after it.
    """

    def __init__(self, flow: flows.Flow, now: datetime) -> None:
        self._flow, self._now = flow, now

    def known(self) -> Interval | None:
        """Return from when to when there is data (Unix seconds); None: there is none."""
        first = measurement.list_lag_samples(self._flow).filter(topic="").aggregate(at=Min("at_s"))
        return None if first["at"] is None else (first["at"], self._now.timestamp())

    def steps(self, objective: Objective, start_s: int, end_s: int) -> list[Step]:
        gap_s = longest_rest(settings.FLOW_INTERVAL_S, flows.rest_s())
        rows = measurement.list_lag_samples(self._flow).filter(
            topic="", at_s__gte=start_s - gap_s, at_s__lt=end_s
        )
        names = ("at_s", "lag_ms", "unknown_count")
        until = min(float(end_s), self._rests_from)
        samples = [
            (float(at_s), None if unknown else lag_ms)
            for at_s, lag_ms, unknown in rows.order_by("at_s", "pk").values_list(*names)
            if at_s < until
        ]
        known, bad = above(samples, objective.limit_ms or 0, gap_s, until)
        return measure(start_s, end_s, known, bad)

    @cached_property
    def _rests_from(self) -> float:
        """From when on it is not to replicate."""
        state = self._flow.status
        if state.state.value not in _AT_REST:
            return float("inf")
        return state.since.timestamp() if state.since else float("-inf")


class ClusterSource:
    """Spans of the partitions of a cluster, as the report of availability counts them.

    Bad time is the time without a leader (or under min ISR) of the partitions that match, divided by how
    many there are now. What was not watched is unknown; steps after the last round wait for the next one.
    """

    def __init__(self, cluster: Cluster, now: datetime) -> None:
        self._cluster, self._now = cluster, now
        self._watches: dict[tuple[datetime, datetime], availability.Watch] = {}

    def known(self) -> Interval | None:
        watch = self._watch(self._now, self._now)
        if watch.known_from is None or watch.known_until is None:
            return None
        return watch.known_from.timestamp(), watch.known_until.timestamp()

    def steps(self, objective: Objective, start_s: int, end_s: int) -> list[Step]:
        start, end = (datetime.fromtimestamp(at_s, UTC) for at_s in (start_s, end_s))
        watched = availability.watched_in(self._watch(start, end), start, end)
        matcher = Matcher((glob_expression(objective.topic_pattern or "*"),))
        topics = {name: count for name, count in self._topics.items() if matcher.matches(name)}
        partitions = sum(topics.values())
        if watched is None or not partitions:
            return measure(start_s, end_s, (), ())
        known = [(begin / 1000, until / 1000) for begin, until in watched.watched]
        rows = status.list_stretches(
            self._cluster, TimeRange(start, end), _LEAST[objective.counts_as]
        )
        spans = rows.order_by().values_list("topic", "began_at", "ended_at").annotate(Count("pk"))
        bad = [
            (began.timestamp(), ended.timestamp() if ended else end_s, count / partitions)
            for topic, began, ended, count in spans
            if topic in topics
        ]
        return measure(start_s, end_s, known, bad)

    def _watch(self, start: datetime, end: datetime) -> availability.Watch:
        if (span := (start, end)) not in self._watches:
            read = availability.read_watch(self._cluster, self._log, start, end, self._now)
            self._watches[span] = read
        return self._watches[span]

    @cached_property
    def _log(self) -> Any:
        return availability.log_told(self._cluster)

    @cached_property
    def _topics(self) -> dict[str, int]:
        rows = status.list_rollups(ScopeKind.TOPIC, self._cluster).order_by()
        return dict(rows.values_list("name", "partitions"))


Source = FlowSource | ClusterSource


def sources_of(
    objectives: Collection[Objective], now: datetime
) -> dict[tuple[int | None, int | None], Source]:
    """Return the sources of objectives, by flow and cluster."""
    wanted = {one.flow_id for one in objectives} - {None}
    found: dict[tuple[int | None, int | None], Source] = {}
    rows = flows.list_flows().filter(pk__in=wanted) if wanted else ()
    for flow in flows.with_status(rows, now):
        found[flow.pk, None] = FlowSource(flow, now)
    for one in objectives:
        if one.cluster_id is not None:
            found.setdefault((None, one.cluster_id), ClusterSource(one.cluster, now))
    return found
