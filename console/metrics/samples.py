"""The metrics of availability, promotions, quorums and engines: a constant number of queries each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Any

from django.db.models import Count, QuerySet, Sum

from console.availability.status import queries
from console.availability.status.queries import promotions
from console.clusters.counted import UNKNOWN
from console.metrics import definition as counters
from console.metrics import definitions as known
from console.metrics.definition import Definition
from console.quorum import queries as quorums
from console.quorum.queries import Log
from console.runs.engines import queries as engines
from console.runs.engines.models import EngineKind
from jobs.availability.status.severity import Counted, Severity
from jobs.availability.status.tally import STATE_COUNTS, ScopeKind

Sample = tuple[Definition, tuple[str, ...], float | int | None]
# From all rows to those that the scraper may see.
Scope = Callable[[QuerySet[Any]], QuerySet[Any]]


def availability_samples(scope: Scope, now: datetime) -> Iterator[Sample]:
    """Yield the samples of all clusters that were looked at."""
    kept = _unclean(scope)
    for cluster in scope(queries.list_clusters()):
        yield from _of_cluster(cluster, now)
        yield from _of_elections(cluster, kept.get(cluster.alias, 0))
    brokers = scope(queries.list_rollups(ScopeKind.BROKER))
    for alias, broker, count in brokers.values_list("cluster__alias", "name", "out_of_sync"):
        yield known.OUT_OF_SYNC, (alias, broker), count


def _unclean(scope: Scope) -> dict[str, int]:
    rows = scope(queries.list_unclean()).order_by().values_list("cluster__alias")
    return dict(rows.annotate(number=Count("pk")))


def _of_elections(cluster: Any, kept: int) -> Iterator[Sample]:
    """Yield how many elections were unclean: 0 is known where the metadata log is followed.

    Without that zero an alert about growth would not see the first one.
    """
    row = queries.round_of(cluster)
    pruned = row.unclean_pruned if row is not None else 0
    if kept or pruned or (row is not None and row.log_id is not None):
        yield known.UNCLEAN, (cluster.alias,), kept
        yield counters.UNCLEAN_TOTAL, (cluster.alias,), kept + pruned


def _of_cluster(cluster: Any, now: datetime) -> Iterator[Sample]:
    row = queries.round_of(cluster)
    if cluster.partitions_count is None or row is None:
        return
    counts = {one: getattr(cluster, f"{name}_count") for one, name in STATE_COUNTS.items()}
    counts[Severity.OK] = cluster.partitions_count - sum(counts.values()) - cluster.unsure_count
    for severity, count in sorted(counts.items()):
        yield known.AVAILABILITY, (cluster.alias, severity.word), count
    yield known.AVAILABILITY, (cluster.alias, UNKNOWN), cluster.unsure_count
    for one in Counted:
        yield known.AVAILABILITY_COUNTS, (cluster.alias, one), getattr(cluster, f"{one}_count")
    yield known.RF_BELOW_MIN, (cluster.alias,), cluster.rf_below_min_count
    since = cluster.out_since
    age_s = 0.0 if since is None else max((now - since).total_seconds(), 0.0)
    yield known.OUT_OF_SYNC_AGE, (cluster.alias,), age_s
    fresh = queries.freshness_of(cluster)
    yield known.AVAILABILITY_AGE, (cluster.alias, row.source), fresh.age_s(now)


def promotion_samples(scope: Scope, now: datetime) -> Iterator[Sample]:
    """Yield the samples of clusters whose observers were judged."""
    stopped = {row.cluster_id for row in promotions.list_stops() if row.is_on}
    alias_of = {}
    for row in scope(promotions.list_rounds().exclude(succeeded_at=None)):
        alias_of[row.cluster_id] = row.cluster.alias
        yield known.OBSERVERS_IN_ISR, (row.cluster.alias,), row.observers_in_isr
        is_on = None in stopped or row.cluster_id in stopped
        yield known.PROMOTION_STOPPED, (row.cluster.alias,), int(is_on)
    for definition, rows in (
        (known.PROMOTIONS_HELD, promotions.list_held()),
        (known.PROMOTION_PROMOTERS, promotions.living_loops(now)),
    ):
        counted = scope(rows).order_by().values_list("cluster").annotate(number=Count("pk"))
        numbers = dict(counted)
        for cluster, alias in alias_of.items():
            yield definition, (alias,), numbers.get(cluster, 0)
    actions = scope(promotions.list_actions()).order_by().values_list("cluster__alias", "state")
    for alias, state, number in actions.annotate(number=Count("pk")):
        yield known.PROMOTIONS, (alias, state), number


def quorum_samples(scope: Scope, now: datetime) -> Iterator[Sample]:
    """Yield the samples of all quorums of registered clusters."""
    elections = scope(quorums.list_elections()).order_by().values_list("log__name")
    elected = dict(elections.annotate(number=Count("pk")))
    without = _seconds_without(scope)
    for log in scope(quorums.list_logs().filter(cluster__isnull=False)):
        yield from _of_log(log, now)
        yield known.QUORUM_JUDGED, (log.name,), int(quorums.is_judged(log, now))
        if log.heard_at is not None:
            elected.setdefault(log.name, 0)
            yield counters.QUORUM_ELECTIONS_TOTAL, (log.name,), elected[log.name]
            yield counters.QUORUM_WITHOUT_TOTAL, (log.name,), without.get(log.name, 0.0)
    for name, number in elected.items():
        yield known.QUORUM_ELECTIONS, (name,), number


def _seconds_without(scope: Scope) -> dict[str, float]:
    """Return the time without an active controller by log: before elections, and silences without one."""
    elections = scope(quorums.list_elections().filter(gap_ms__gt=0)).order_by()
    found = {
        name: ms / 1000
        for name, ms in elections.values_list("log__name").annotate(ms=Sum("gap_ms"))
    }
    silences = scope(quorums.list_silences()).order_by()
    for name, start, end in silences.values_list("log__name", "from_at", "to_at"):
        found[name] = found.get(name, 0.0) + (end - start).total_seconds()
    return found


def _of_log(log: Log, now: datetime) -> Iterator[Sample]:
    names = (log.name,)
    if log.heard_at is not None:
        yield known.METADATA_OFFSET, names, log.next_offset
        yield known.METADATA_BEHIND, names, _seconds(log.behind_ms)
    status = quorums.status_of(log)
    if status is None or status.succeeded_at is None:
        return
    yield known.QUORUM_LEADER, names, status.leader_id
    yield known.QUORUM_EPOCH, names, status.leader_epoch
    yield known.QUORUM_VOTERS, (*names, "voter"), status.voter_count
    yield known.QUORUM_VOTERS, (*names, "observer"), status.observer_count
    yield known.QUORUM_MARK, names, status.high_watermark
    yield known.QUORUM_LAG, names, status.worst_lag
    yield known.QUORUM_LAG_TIME, names, _seconds(status.worst_lag_ms)
    yield known.QUORUM_AGE, names, max((now - status.succeeded_at).total_seconds(), 0.0)


def engine_samples(scope: Scope) -> Iterator[Sample]:
    """Yield the samples of live engines of flows that have reported."""
    live = engines.list_engines().filter(kind=EngineKind.FLOWS, ended_at=None)
    for row in scope(live.filter(progress__isnull=False)):
        names, told = (row.host, row.name), row.progress
        yield counters.ENGINE_FLOWS, names, row.flow_count
        states = Counter(slot["state"] for slot in told.get("slots") or ())
        for state in ("running", "starting", "lost"):
            yield counters.ENGINE_SLOTS, (*names, state), states[state]
        cpu_percent = told.get("cpu_percent")
        yield counters.ENGINE_CPU, names, None if cpu_percent is None else cpu_percent / 100
        yield counters.ENGINE_MEMORY, names, told.get("rss_bytes")
        yield counters.ENGINE_IN_FLIGHT, names, told.get("in_flight_bytes")
        yield counters.ENGINE_RESTARTS_TOTAL, names, told.get("restarts")


def _seconds(ms: int | None) -> float | None:
    return None if ms is None else ms / 1000
