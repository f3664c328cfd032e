"""Collection rounds: ask a cluster -> apply the rules -> write rows and a freshness row, also on failure."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from functools import partial
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import Exists, Min, OuterRef, Q
from django.utils import timezone

from console.clusters.collection.brokers import save_brokers, save_log_dirs, save_versions
from console.clusters.collection.groups import collect_groups
from console.clusters.collection.requests import ClusterRequests, OpenCluster, open_cluster
from console.clusters.collection.rows import update, write_seen
from console.clusters.collection.stuck import watch_stable_offsets
from console.clusters.collection.topics import collect_topics
from console.clusters.models import Cluster, CollectionRound, Noun, Partition, Topic
from console.clusters.queries import enabled_clusters
from console.frame.claims import is_free
from console.frame.rounds import Clock, Outcome, Rounds, longest_waiting, sentence_about
from jobs.cluster.check import NO_TOPIC
from jobs.cluster.connection import Connection
from jobs.cluster.descriptions import ClusterDescription, OffsetRange, TopicPartition
from jobs.cluster.errors import ClusterFault, RegisteredTwice

# The round for offsets: from where to where every partition reaches.

NO_LEADER = "no leader, so its offsets are unknown"


def collect_offsets(cluster: Cluster, kafka: ClusterRequests, now: datetime) -> Outcome:
    """Ask for the offsets of the partitions of the last topics round, write what changed."""
    stored = {TopicPartition(p.topic.name, p.partition): p for p in _partitions_of(cluster)}
    # A partition without a leader would hold the answer for all others until the time is up.
    asked = [where for where, row in stored.items() if row.leader is not None]
    ranges = kafka.read_offset_ranges(asked) if asked else {}
    seen = {where: _values(row, ranges.get(where)) for where, row in stored.items()}
    watch_stable_offsets(kafka, stored, seen, now)
    with transaction.atomic():
        written = write_seen(Partition, stored, seen, _never, now)
        _save_record_counts(stored, {where.topic for where in written}, now)
    errors = {str(where): values["error"] for where, values in seen.items() if values["error"]}
    missing = sentence_about("partitions without offsets", errors, len(seen))
    return Outcome({"row_count": len(seen)}, missing)


def _partitions_of(cluster: Cluster) -> Iterable[Partition]:
    return Partition.objects.filter(cluster=cluster).select_related("topic")


def _values(row: Partition, answer: OffsetRange | None) -> dict[str, Any]:
    """Return the offsets of a partition; the last known ones, and why, when there is no answer."""
    if answer is None or answer.error:
        why = answer.error if answer else None
        source: Partition | OffsetRange = row
        error = why or (NO_LEADER if row.leader is None else "no answer")
    else:
        source, error = answer, ""
    return {
        "log_start_offset": source.log_start_offset,
        "end_offset": source.end_offset,
        "high_watermark": source.high_watermark,
        "max_timestamp_ms": source.max_timestamp_ms,
        "error": error,
    }


def _save_record_counts(
    stored: Mapping[TopicPartition, Partition], names: set[str], now: datetime
) -> None:
    counts: dict[str, int | None] = {}
    topics: dict[str, Topic] = {}
    for where, row in stored.items():
        if where.topic not in names:
            continue
        topics[where.topic] = row.topic
        before = counts.get(where.topic, 0)
        known = None if before is None or row.record_count is None else before + row.record_count
        counts[where.topic] = known
    for name, topic in topics.items():
        topic.record_count, topic.changed_at = counts[name], now
    if topics:
        update(Topic, list(topics.values()), ["record_count", "changed_at"])


def _never(where: TopicPartition) -> Partition:
    raise KeyError(where)  # only stored partitions are queried


ROUNDS: Mapping[Noun, Rounds[Cluster, CollectionRound]] = {
    noun: Rounds(
        name=noun,
        rows=CollectionRound,
        of="cluster",
        subjects=enabled_clusters,
        every_s=lambda: settings.COLLECT_INTERVAL_S,
        activity="collecting",
        part={"noun": noun},
    )
    for noun in Noun
}


def due_clusters(now: datetime) -> list[int]:
    """Return the ids of enabled clusters with a round that is due, the one that waits longest first."""
    waiting = CollectionRound.objects.filter(~is_free(now), cluster=OuterRef("pk"))
    # With all rounds claimed or resting there is nothing to do; a new cluster has no round at all.
    resting = Q()
    for noun in Noun.values:
        resting &= Q(Exists(waiting.filter(noun=noun)))
    since = enabled_clusters().exclude(resting).annotate(waits_since=Min("rounds__claimed_until"))
    return longest_waiting(since, "waits_since")


def collect_cluster(
    cluster_id: int, clock: Clock = timezone.now, open_cluster: OpenCluster = open_cluster
) -> bool:
    """Run the due rounds of one cluster, one noun after the other over one connection.

    False when there was none: another worker has it, or it is gone or switched off.
    """
    cluster = enabled_clusters().filter(pk=cluster_id).first()
    if cluster is None:
        return False
    claimed: dict[Noun, CollectionRound] = {}
    for noun, rounds in ROUNDS.items():
        row, now = rounds.row_of(cluster), clock()
        if rounds.claim_row(row, now, started_at=now):
            claimed[noun] = row
    if claimed:
        _visit(cluster, claimed, clock, open_cluster)
    return bool(claimed)


def _visit(
    cluster: Cluster,
    claimed: Mapping[Noun, CollectionRound],
    clock: Clock,
    open_cluster: OpenCluster,
) -> None:
    """Run claimed rounds; the first request is always which cluster answers."""
    begun = time.monotonic()
    try:
        connection = cluster.connection()
        with open_cluster(connection) as kafka:
            described = _identify(cluster, connection, kafka)
            for noun, row in claimed.items():
                collect = partial(_collect, noun, cluster, kafka, described, clock)
                ROUNDS[noun].carry_out(row, cluster.alias, collect, clock)
    except Exception as problem:  # noqa: BLE001  logged by `fault_of`
        for noun, row in claimed.items():
            failed = Outcome(fault=ROUNDS[noun].fault_of(problem, cluster.alias))
            ROUNDS[noun].finish(row, cluster.alias, failed, clock(), time.monotonic() - begun)


def _identify(
    cluster: Cluster, connection: Connection, kafka: ClusterRequests
) -> ClusterDescription:
    """Return the cluster that answers; raises when none does or when it is not the registered one."""
    try:
        described = kafka.describe_cluster()
    except ClusterFault as fault:
        _remember_seen_id(cluster, getattr(fault, "found", ""))
        raise
    if connection.cluster_id is None:
        # Saved without a check: the first answer says which cluster it is.
        _refuse_registered(cluster, described.cluster_id)
        unknown = Cluster.objects.filter(pk=cluster.pk, cluster_id="")
        unknown.update(cluster_id=described.cluster_id)
    _remember_seen_id(cluster, "")
    return described


def _collect(
    noun: Noun,
    cluster: Cluster,
    kafka: ClusterRequests,
    described: ClusterDescription,
    clock: Clock,
) -> Outcome:
    now = clock()
    if noun is Noun.BROKERS:
        _drop_findings(cluster, *save_versions(cluster, kafka, now))
        outcome = save_brokers(cluster, described, now)
        save_log_dirs(cluster, kafka, now)
        return outcome
    outcome = _COLLECT[noun](cluster, kafka, now)
    if noun is Noun.TOPICS and outcome.values["row_count"]:
        _drop_findings(cluster, NO_TOPIC)
    return outcome


_COLLECT: Mapping[Noun, Callable[[Cluster, ClusterRequests, datetime], Outcome]] = {
    Noun.TOPICS: collect_topics,
    Noun.OFFSETS: collect_offsets,
    Noun.GROUPS: collect_groups,
}


def _drop_findings(cluster: Cluster, *texts: str) -> None:
    """Remove what the last check said and what a round has seen to be otherwise since."""
    findings = [one for one in cluster.findings if one not in texts]
    if findings != cluster.findings:
        checked = Cluster.objects.filter(pk=cluster.pk, checked_at=cluster.checked_at)
        checked.update(findings=findings)
        cluster.findings = findings


def _remember_seen_id(cluster: Cluster, found: str) -> None:
    if cluster.seen_cluster_id != found:
        Cluster.objects.filter(pk=cluster.pk).update(seen_cluster_id=found)


def _refuse_registered(cluster: Cluster, cluster_id: str) -> None:
    """Raise when this is a cluster of another alias, which who sees this one may not see."""
    if Cluster.objects.filter(cluster_id=cluster_id).exclude(pk=cluster.pk).exists():
        text = f"{cluster.bootstrap_servers} is cluster {cluster_id}, which is registered already."
        raise RegisteredTwice(f"{text} Nothing was read from it.", cluster=cluster.alias)
