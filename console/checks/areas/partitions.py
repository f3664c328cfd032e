"""Partitions: leaders, in-sync replicas, replication factors, elections, stuck offsets."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from functools import lru_cache

from console.availability.status import queries as availability
from console.checks.areas.area import Area, Given, Judged
from console.clusters import queries as clusters
from console.clusters.models import Cluster, Noun
from console.clusters.status import freshness_of_row
from console.clusters.trouble.stuck import trouble_of
from jobs.availability.status.severity import Severity
from jobs.checks import partitions, replicas
from jobs.checks.check import Check
from jobs.checks.partitions import STATES, ClusterPartitions
from jobs.findings import Finding

MOST_STUCK = 500
_OF_STATUS = (
    *STATES.values(),
    replicas.RF_BELOW_MIN,
    replicas.RF_ONE,
    replicas.UNCLEAN,
    replicas.OUT_LONG,
    replicas.FLAPPING,
)
_WORDS = {one.value: one.word for one in Severity}
# What a partition may be whose replicas are missing or being added: it is not known which.
_UNSURE = {STATES["at_min_isr"].id, STATES["under_replicated"].id}
_COLUMNS = (
    "cluster_id", "topic", "partition", "severity", "missing_text", "replica_text", "since",
    "is_rf_below_min",
)  # fmt: skip


def judge(given: Given) -> Iterator[Judged]:
    """Judge the partitions of each cluster whose last rounds are fresh."""
    watched = list(clusters.enabled_clusters().prefetch_related("availability_rounds", "rounds"))
    seen = {one.pk: one for one in watched if _is_fresh(one, given)}
    states = {one.pk: ClusterPartitions(one.pk, one.alias) for one in watched}
    _read_brokers(states, seen, given)
    unknown = _read_unhealthy(states, seen)
    _read_replicas(states, seen, given)
    read = {one.pk for one in watched if _has_offsets(one, given)}
    _read_stuck(states, read)
    for cluster in watched:
        codes = (
            {one.id for one in _OF_STATUS} - unknown[cluster.pk] if cluster.pk in seen else set()
        )
        codes |= {replicas.STUCK.id} if cluster.pk in read else set()
        yield Judged(cluster, codes, tuple(_found(states[cluster.pk], given)))


def _found(state: ClusterPartitions, given: Given) -> Iterator[Finding]:
    yield from partitions.unhealthy(state, given.settings, given.now)
    yield from replicas.replication_factors(state, given.settings)
    yield from replicas.unclean(state, given.settings, given.now)
    yield from replicas.out_long(state, given.settings, given.now)
    yield from replicas.flapping(state, given.settings)
    yield from replicas.stuck(state, given.settings)


def _is_fresh(cluster: Cluster, given: Given) -> bool:
    return not availability.freshness_of(cluster).is_stale(given.now)


def _has_offsets(cluster: Cluster, given: Given) -> bool:
    row = next((one for one in cluster.rounds.all() if one.noun == Noun.OFFSETS), None)
    return not freshness_of_row(Noun.OFFSETS, row).is_stale(given.now)


def _read_brokers(
    states: Mapping[int, ClusterPartitions], seen: Mapping[int, Cluster], given: Given
) -> None:
    for one in availability.list_registrations(seen):
        state = states[one.cluster_id]
        state.brokers[one.broker_id] = one.is_there
        if moments := [at for at in (one.last_fenced_at, one.registered_at) if at is not None]:
            state.rejoined[one.broker_id] = max(moments)
    hour = given.now.replace(minute=0, second=0, microsecond=0) - timedelta(hours=1)
    for churn in availability.churn_since(seen, hour):
        row = partitions.ChurnHour(churn.broker_id, churn.hour, churn.shrinks, churn.expands)
        states[churn.cluster_id].churn.append(row)


def _read_unhealthy(
    states: Mapping[int, ClusterPartitions], seen: Mapping[int, Cluster]
) -> dict[int, set[str]]:
    """Read partitions that are not healthy; return the checks that cannot be judged, by cluster."""
    unknown: dict[int, set[str]] = {pk: set() for pk in states}
    undescribed = set(
        clusters.list_undescribed().filter(cluster__in=seen).values_list("cluster_id", "name")
    )
    polled = {pk for pk, one in seen.items() if availability.is_polled(one)}
    rows = availability.unhealthy_rows(seen).values_list(*_COLUMNS)
    for pk, topic, number, severity, missing, replica_ids, since, is_below in rows.iterator():
        if not severity:
            unknown[pk] |= set() if is_below else _UNSURE
            continue
        word, state = _WORDS[severity], states[pk]
        if pk in polled and (pk, topic) in undescribed:
            unknown[pk].add(STATES[word].id)
            continue
        brokers = _ids(missing)
        if word == "offline":
            # A leader returns with a broker of the ISR, which still names it.
            brokers = tuple(one for one in _ids(replica_ids) if state.is_down(one)) or brokers
        state.unhealthy.append(partitions.UnhealthyPartition(topic, number, word, brokers, since))
    return unknown


def _read_replicas(
    states: Mapping[int, ClusterPartitions], seen: Mapping[int, Cluster], given: Given
) -> None:
    for pk, topic, below, single in availability.replication_factor_rows(seen):
        if below:
            states[pk].rf_below_min.append(partitions.TopicShare(topic, below))
        if single:
            states[pk].rf_one.append(partitions.TopicShare(topic, single))
    kept_s = max(_values(given, replicas.UNCLEAN, "kept_s"))
    elections = availability.list_unclean().filter(
        cluster__in=seen, at__gte=given.now - timedelta(seconds=kept_s)
    )
    for pk, *told in elections.values_list(
        "cluster_id", "topic", "partition", "at", "leader", "isr_before"
    ):
        states[pk].elections.append(partitions.Election(*told))
    for_s = min(_values(given, replicas.OUT_LONG, "for_s"))
    oldest = availability.oldest_absences(given.now - timedelta(seconds=for_s))
    for pk, *told in oldest.filter(cluster__in=seen).values_list(
        "cluster_id", "broker", "topic", "partition", "began_at"
    ):
        states[pk].absences.append(partitions.Absence(*told))


def _read_stuck(states: Mapping[int, ClusterPartitions], read: set[int]) -> None:
    for row in clusters.list_stuck().filter(cluster__in=read)[:MOST_STUCK]:
        one = trouble_of(row)
        said = f"{one.what} {one.why}"
        states[row.cluster_id].stuck.append(
            partitions.StuckOffset(
                row.topic.name, row.partition, one.severity, said, one.next, one.since
            )
        )


def _values(given: Given, check: Check, name: str) -> Sequence[float]:
    """Return the default and every setting of a threshold."""
    rows = given.settings.by_check.get(check.id, ())
    return [check.defaults[name], *(one.values[name] for one in rows if name in one.values)]


@lru_cache(maxsize=10_000)
def _ids(text: str) -> tuple[int, ...]:
    return tuple(sorted(int(one) for one in text.strip("|").split("|") if one))


AREA = Area("partitions", judge)
