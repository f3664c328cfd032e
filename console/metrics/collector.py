"""What Prometheus gets, read from the database in a constant number of queries; Kafka is never asked."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from itertools import chain
from typing import Any

from django.conf import settings
from django.db.models import Case, Count, F, Max, QuerySet, Sum, When, Window
from django.db.models.functions import RowNumber
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from console.clusters import queries as clusters
from console.clusters.counted import UNKNOWN, on_step
from console.clusters.models import CollectionRound
from console.frame.pages.freshness import Freshness
from console.metrics import definition as counters
from console.metrics import definitions as known
from console.metrics.definition import Definition
from console.metrics.incidents import alert_samples
from console.metrics.samples import (
    Sample,
    Scope,
    availability_samples,
    engine_samples,
    promotion_samples,
    quorum_samples,
)
from console.replication.flows import queries as replication
from console.replication.flows.queries import Flow
from console.runs import queries as runs
from jobs.availability.status.severity import Severity
from jobs.replication.checkpoints.obstacles import Readiness
from jobs.version import VERSION

# A flow that is not measured any more copies all the same.
_UP = {"running", "degraded", "stale"}
# What is counted of a flow, see console.replication.measurement.store; 0 before its first run.
_COUNTERS = {
    counters.FLOW_RECORDS_TOTAL: "records",
    counters.FLOW_BYTES_TOTAL: "bytes",
    counters.FLOW_COMMITS_TOTAL: "commits",
    counters.FLOW_RETRIES_TOTAL: "retries",
}
_FLOW_NAMES = ("flow__name", "flow__source__alias", "flow__target__alias")


@dataclass(frozen=True, slots=True)
class Limits:
    """How many series at most: topics and partitions of each flow, groups of each cluster."""

    topics: int
    partitions: int
    groups: int

    @classmethod
    def from_settings(cls) -> Limits:
        """Return the limits that the environment sets."""
        return cls(settings.METRICS_TOPICS, settings.METRICS_PARTITIONS, settings.METRICS_GROUPS)


class KafkaState(Collector):
    """The newest rows of every room; what is unknown has no sample."""

    def __init__(self, now: datetime, limits: Limits, scope: Scope = lambda rows: rows) -> None:
        self._now = now
        self._limits = limits
        self._scope = scope

    def collect(self) -> Iterator[Metric]:
        """Return every metric with its samples."""
        families = {each.name: _family(each) for each in known.DEFINITIONS}
        for definition, labels, value in self.samples():
            if value is not None:
                families[definition.name].add_metric(labels, value)
        yield from families.values()

    def samples(self) -> Iterable[Sample]:
        """Return all samples; a value of None is unknown."""
        flows = replication.with_status(self._scope(replication.list_flows()), self._now)
        return chain(
            [(known.BUILD, (VERSION,), 1)],
            *(_of_flow(flow, self._now) for flow in flows),
            self._of_engines(),
            self._of_looks(),
            self._of_failover(),
            self._of_topics(),
            self._of_partitions(),
            self._of_clusters(),
            self._of_groups(),
            quorum_samples(self._scope, self._now),
            availability_samples(self._scope, self._now),
            promotion_samples(self._scope, self._now),
            alert_samples(self._scope, self._now),
            self._of_runs(),
            engine_samples(self._scope),
        )

    def _of_engines(self) -> Iterator[Sample]:
        """Return how the tasks of each flow work: two queries, over the rows of all partitions."""
        rows = self._scope(replication.list_partitions()).order_by()
        paths = rows.exclude(path="").values_list(*_FLOW_NAMES, "path").annotate(Count("pk"))
        for *names, path, number in paths:
            yield known.FLOW_PATHS, (*names, path), number
        numbers = rows.values(*_FLOW_NAMES).annotate(
            rate=Sum("bytes_per_s"),
            commit=Max("commit_ms"),
            rested=Max("throttled_ms"),
            quotas=Max("quota_ms"),
            again=Sum("retries"),
        )
        for row in numbers:
            names = [row[name] for name in _FLOW_NAMES]
            yield known.FLOW_BYTES, tuple(names), row["rate"]
            yield known.FLOW_COMMIT, tuple(names), _seconds(row["commit"])
            yield known.FLOW_THROTTLED, tuple(names), _seconds(row["rested"])
            yield known.FLOW_QUOTAS, tuple(names), _seconds(row["quotas"])
            yield known.FLOW_RETRIES, tuple(names), row["again"]

    def _of_looks(self) -> Iterator[Sample]:
        """Return how long ago each flow was looked at for findings."""
        looks = self._scope(replication.list_watches()).values_list(*_FLOW_NAMES, "finished_at")
        for *names, finished_at in looks:
            yield known.FLOW_LOOKED, tuple(names), (self._now - finished_at).total_seconds()

    def _of_failover(self) -> Iterator[Sample]:
        """Return the answers of flows and of their worst groups: three queries."""
        for row in self._scope(replication.answers.list_answers().exclude(succeeded_at=None)):
            yield from _of_answer(row, self._now)
        rows = self._scope(replication.answers.list_groups()).select_related(
            "flow__source", "flow__target"
        )
        covered = rows.exclude(readiness=Readiness.NOT_COVERED)
        for row in _worst_groups(covered, self._limits.groups):
            labels = (*_names(row.flow), row.group)
            yield known.GROUP_READY, labels, row.rank
            age_s = replication.answers.age_s(row.checkpoint_at, self._now)
            yield known.GROUP_CHECKPOINT_AGE, labels, age_s
            yield known.GROUP_CHECKPOINT_LAG, labels, row.behind
            yield known.GROUP_CHECKPOINT_LAG_UNKNOWN, labels, row.behind_unknown_count
            yield known.GROUP_REREAD, labels, row.reread_hi
        yield known.LEFT_OUT, ("flow groups",), _left_out(covered, "flow", self._limits.groups)

    def _of_topics(self) -> Iterator[Sample]:
        rows = self._scope(replication.list_topics())
        rows = rows.select_related("flow__source", "flow__target")
        for row in _furthest_behind(rows, "flow", self._limits.topics):
            labels = (*_names(row.flow), row.topic)
            yield known.TOPIC_LAG, labels, row.lag
            yield known.TOPIC_LAG_UNKNOWN, labels, row.unknown_count
            yield known.TOPIC_LAG_TIME, labels, _seconds(row.lag_ms)
            yield known.TOPIC_RATE, labels, row.rate_per_s
        yield known.LEFT_OUT, ("topics",), _left_out(rows, "flow", self._limits.topics)

    def _of_partitions(self) -> Iterator[Sample]:
        if not self._limits.partitions:
            return
        rows = self._scope(replication.list_partitions())
        rows = rows.select_related("flow__source", "flow__target")
        for row in _furthest_behind(rows, "flow", self._limits.partitions):
            labels = (*_names(row.flow), row.topic, str(row.partition))
            yield known.PARTITION_LAG, labels, row.lag
            yield known.PARTITION_LAG_TIME, labels, _seconds(row.lag_ms)

    def _of_clusters(self) -> Iterator[Sample]:
        for cluster in self._scope(clusters.list_clusters()):
            yield from _of_cluster(cluster, self._now)
        partitions = self._scope(clusters.list_partitions()).order_by()
        is_unsure = Case(When(on_step(UNKNOWN), then=True), default=False)
        partitions = partitions.values_list("cluster__alias", "severity", is_unsure)
        for alias, severity, unsure, number in partitions.annotate(number=Count("pk")):
            yield known.PARTITIONS, (alias, UNKNOWN if unsure else Severity(severity).word), number

    def _of_groups(self) -> Iterator[Sample]:
        rows = self._scope(clusters.list_groups())
        for row in _furthest_behind(rows, "cluster", self._limits.groups):
            labels = (row.cluster.alias, row.group_id)
            yield known.GROUP_LAG, labels, row.lag
            yield known.GROUP_LAG_UNKNOWN, labels, row.unknown_count
            yield known.GROUP_LAG_TIME, labels, _seconds(row.lag_ms)
        yield known.LEFT_OUT, ("groups",), _left_out(rows, "cluster", self._limits.groups)

    def _of_runs(self) -> Iterator[Sample]:
        rows = self._scope(runs.list_runs()).order_by().values_list("kind", "state")
        for kind, state, number in rows.annotate(number=Count("pk")):
            yield known.RUNS, (kind, state), number


def _family(definition: Definition) -> GaugeMetricFamily | CounterMetricFamily:
    kind = CounterMetricFamily if definition.is_counter else GaugeMetricFamily
    return kind(definition.name, definition.help, labels=definition.labels)


def _of_flow(flow: Flow, now: datetime) -> Iterator[Sample]:
    names = _names(flow)
    yield known.FLOW_WANTED, names, int(flow.is_wanted)
    yield known.FLOW_UP, names, int(flow.status.state in _UP)
    yield known.FLOW_LAG, names, flow.lag
    yield known.FLOW_LAG_UNKNOWN, names, flow.unknown_count if flow.measured_at else None
    yield known.FLOW_LAG_TIME, names, _seconds(flow.lag_ms)
    yield known.FLOW_RATE, names, flow.rate_per_s
    yield known.FLOW_ETA, names, flow.eta_s
    yield known.FLOW_PAUSED, names, sum(flow.held_back.values())
    yield known.FLOW_FAILURES, names, flow.failures
    yield from _of_checkpoints(flow, names)
    if not flow.is_watched:
        for definition, counted in _COUNTERS.items():
            yield definition, names, flow.counted.get("total", {}).get(counted, 0)
    for state, number in flow.states.items():
        yield known.FLOW_PARTITIONS, (*names, state), number
    for entry in replication.freshness_of(flow):
        labels = (*names, entry.noun.lower().replace(" ", "_"))
        yield known.FLOW_AGE, labels, entry.age_s(now)
        yield known.FLOW_STALE, labels, int(entry.is_stale(now))
        yield known.FLOW_SUCCESS, labels, _timestamp(entry)


def _of_answer(row: Any, now: datetime) -> Iterator[Sample]:
    names = _names(row.flow)
    for step in Readiness:
        if step is not Readiness.NOT_COVERED:
            yield known.FAILOVER_READY, (*names, step.value), int(row.readiness == step)
        yield known.FAILOVER_GROUPS, (*names, step.value), row.counts.get(step.value, 0)
    yield known.CHECKPOINT_AGE, names, replication.answers.age_s(row.checkpoint_at, now)
    yield known.CHECKPOINT_LAG, names, row.behind
    yield known.CHECKPOINT_LAG_UNKNOWN, names, row.behind_unknown_count
    yield known.REREAD, names, row.reread_hi
    yield known.AT_RISK, names, row.rpo_records
    yield known.AT_RISK_TIME, names, _seconds(row.rpo_ms)
    yield known.CHECKPOINTS_AGE, names, replication.answers.age_s(row.succeeded_at, now)


def _worst_groups(rows: QuerySet[Any], limit: int) -> QuerySet[Any]:
    """Return the groups of each flow that are least ready, of those the ones with the largest lag."""
    order = [F("rank").desc(), F("behind").desc(nulls_last=True), F("pk").asc()]
    place = Window(RowNumber(), partition_by=F("flow"), order_by=order)
    placed: QuerySet[Any] = rows.order_by().annotate(place=place)
    return placed.filter(place__lte=limit)


def _of_checkpoints(flow: Flow, names: tuple[str, str, str]) -> Iterator[Sample]:
    told = flow.checkpoint_writing
    if not told or not flow.emit_checkpoints_interval_s or told["at_ms"] is None:
        return
    yield known.FLOW_CHECKPOINTS_AT, names, _seconds(told["at_ms"])
    yield known.FLOW_CHECKPOINTS, (*names, "told"), told["told"]
    yield known.FLOW_CHECKPOINTS, (*names, "exact"), told["exact"]
    yield known.FLOW_CHECKPOINTS, (*names, "unknown"), sum(told["without"].values())


def _of_cluster(cluster: Any, now: datetime) -> Iterator[Sample]:
    alias = cluster.alias
    yield known.BROKERS, (alias, "live"), cluster.live_count
    yield known.BROKERS, (alias, "missing"), cluster.dead_count
    yield known.TOPICS, (alias,), cluster.topic_count
    yield known.GROUPS, (alias,), cluster.group_count
    yield known.UNDER_REPLICATED, (alias,), cluster.under_replicated_count
    yield known.OFFLINE, (alias,), cluster.offline_count
    known_of = {entry.noun: entry for entry in clusters.freshness_of(cluster)}
    for row in cluster.rounds.all():
        yield from _of_round(cluster, row, known_of[row.noun], now)


def _of_round(
    cluster: Any, row: CollectionRound, fresh: Freshness, now: datetime
) -> Iterator[Sample]:
    labels = (cluster.alias, row.noun)
    if row.finished_at is not None:
        yield known.COLLECTION_UP, labels, int(row.failing_since is None)
    yield known.COLLECTION_AGE, labels, fresh.age_s(now)
    if cluster.is_enabled:
        yield known.COLLECTION_STALE, labels, int(fresh.is_stale(now))
    yield known.COLLECTION_SUCCESS, labels, _timestamp(fresh)
    yield known.COLLECTION_TIME, labels, _seconds(row.duration_ms)


def _furthest_behind(rows: QuerySet[Any], owner: str, limit: int) -> QuerySet[Any]:
    """Return the `limit` rows of each owner with the most lag; those without a known lag come last."""
    order = [F("lag").desc(nulls_last=True), F("pk").asc()]
    place = Window(RowNumber(), partition_by=F(owner), order_by=order)
    placed: QuerySet[Any] = rows.order_by().annotate(place=place)
    return placed.filter(place__lte=limit)


def _left_out(rows: QuerySet[Any], owner: str, limit: int) -> int:
    counted = rows.order_by().values_list(owner).annotate(number=Count("pk"))
    return sum(max(0, number - limit) for _, number in counted)


def _names(flow: Any) -> tuple[str, str, str]:
    return flow.name, flow.source.alias, flow.target.alias


def _seconds(ms: int | None) -> float | None:
    return None if ms is None else ms / 1000


def _timestamp(entry: Freshness) -> float | None:
    return entry.succeeded_at.timestamp() if entry.succeeded_at else None
