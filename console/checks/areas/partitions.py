"""Partitions: leaders, in-sync replicas, replication factors, elections, stuck offsets."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import lru_cache

from console.availability.status import queries as availability
from console.checks.areas.area import Area, Given, Judged, clock_set_s
from console.clusters import queries as clusters
from console.clusters.models import Cluster, Noun
from console.clusters.status import freshness_of_row
from console.clusters.trouble.stuck import trouble_of
from jobs.availability.status.severity import Severity
from jobs.checks import replicas
from jobs.checks.partitions import (
    STATES,
    ChurnHour,
    ClusterPartitions,
    Election,
    TopicShare,
    UnhealthyPartition,
    unhealthy,
)
from jobs.checks.replicas import UNCLEAN
from jobs.findings import Finding

MOST_STUCK = 500
_OF_STATUS = {one.id for one in (*STATES.values(), *replicas.OF_STATUS)}
_WORDS = {one.value: one.word for one in Severity}
# What a partition may be whose replicas are missing or being added: it is not known which.
_UNSURE = {STATES["at_min_isr"].id, STATES["under_replicated"].id}
_COLUMNS = (
    "cluster_id", "topic", "partition", "severity", "missing_text", "replica_text", "since",
    "is_rf_below_min",
)  # fmt: skip
_States = dict[int, ClusterPartitions]


def judge(given: Given) -> Iterator[Judged]:
    """Judge the partitions of each cluster whose last rounds are fresh."""
    watched = list(clusters.enabled_clusters().prefetch_related("availability_rounds", "rounds"))
    set_s = clock_set_s(given)
    given.memory = {"at_s": given.now.timestamp(), "steady_s": set_s}
    set_at = datetime.fromtimestamp(set_s, UTC) if set_s else None
    all_states = {one.pk: ClusterPartitions(one.pk, one.alias, set_at) for one in watched}
    seen = [one for one in watched if not availability.freshness_of(one).is_stale(given.now)]
    states = {one.pk: all_states[one.pk] for one in seen}
    _read_brokers(states, given)
    unknown = _read_unhealthy(states, {one.pk for one in seen if availability.is_polled(one)})
    _read_replicas(states, given)
    offsets = {one.pk: all_states[one.pk] for one in watched if _has_offsets(one, given)}
    _read_stuck(offsets)
    for cluster in watched:
        codes = _OF_STATUS - unknown[cluster.pk] if cluster.pk in states else set()
        codes |= {replicas.STUCK.id} if cluster.pk in offsets else set()
        state = all_states[cluster.pk]
        found = tuple(_found(state, given))
        yield Judged(cluster, codes - state.unsure, found)


def _found(state: ClusterPartitions, given: Given) -> Iterator[Finding]:
    yield from unhealthy(state, given.settings, given.now)
    yield from replicas.replication_factors(state, given.settings)
    yield from replicas.unclean(state, given.settings, given.now)
    yield from replicas.flapping(state, given.settings)
    yield from replicas.stuck(state, given.settings)


def _has_offsets(cluster: Cluster, given: Given) -> bool:
    row = next((one for one in cluster.rounds.all() if one.noun == Noun.OFFSETS), None)
    return not freshness_of_row(Noun.OFFSETS, row).is_stale(given.now)


def _read_brokers(states: _States, given: Given) -> None:
    for one in availability.list_registrations(states):
        state = states[one.cluster_id]
        state.brokers[one.broker_id] = one.is_there
        if moments := [at for at in (one.last_fenced_at, one.registered_at) if at is not None]:
            state.rejoined[one.broker_id] = max(moments)
    hour = given.now.replace(minute=0, second=0, microsecond=0) - timedelta(hours=1)
    for churn in availability.churn_since(states, hour):
        row = ChurnHour(churn.broker_id, churn.hour, churn.shrinks, churn.expands)
        states[churn.cluster_id].churn.append(row)


def _read_unhealthy(states: _States, polled: set[int]) -> dict[int, set[str]]:
    """Read partitions that are not healthy; return the checks that cannot be judged, by cluster."""
    unknown: dict[int, set[str]] = {pk: set() for pk in states}
    topics = clusters.list_undescribed().filter(cluster__in=polled)
    undescribed = set(topics.values_list("cluster_id", "name"))
    rows = availability.unhealthy_rows(states).values_list(*_COLUMNS)
    for pk, topic, number, severity, missing, replica_ids, since, is_below in rows.iterator():
        if not severity:
            unknown[pk] |= set() if is_below else _UNSURE
            continue
        word, state, brokers = _WORDS[severity], states[pk], _ids(missing)
        if (pk, topic) in undescribed:
            unknown[pk].add(STATES[word].id)
            continue
        if word == Severity.OFFLINE.word:
            # A leader returns with a broker of the ISR, which still names it.
            brokers = tuple(one for one in _ids(replica_ids) if state.is_down(one)) or brokers
        state.unhealthy.append(UnhealthyPartition(topic, number, word, brokers, since))
    return unknown


def _read_replicas(states: _States, given: Given) -> None:
    for pk, topic, below, single in availability.replication_factor_rows(states):
        for found, count in ((states[pk].rf_below_min, below), (states[pk].rf_one, single)):
            found.extend([TopicShare(topic, count)] if count else [])
    set_s = (one.values.get("kept_s", 0) for one in given.settings.by_check.get(UNCLEAN.id, ()))
    since = given.now - timedelta(seconds=max([UNCLEAN.defaults["kept_s"], *set_s]))
    elections = availability.list_unclean().filter(cluster__in=states, at__gte=since)
    for pk, *told in elections.values_list(
        "cluster_id", "topic", "partition", "at", "leader", "isr_before"
    ):
        states[pk].elections.append(Election(*told))


def _read_stuck(states: _States) -> None:
    for row in clusters.list_stuck().filter(cluster__in=states)[:MOST_STUCK]:
        one = trouble_of(row)
        found = Finding(
            replicas.STUCK.id, one.severity, f"{one.what} {one.why}", one.next, str(row),
            row.topic.name, row.partition, since=one.since,
        )  # fmt: skip
        states[row.cluster_id].stuck.append(found)


@lru_cache(maxsize=10_000)
def _ids(text: str) -> tuple[int, ...]:
    return tuple(sorted(int(one) for one in text.strip("|").split("|") if one))


AREA = Area("partitions", judge)
