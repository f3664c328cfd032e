"""Reads of clusters and of what was last seen of them. Constant numbers of queries."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from datetime import datetime
from functools import reduce
from operator import or_
from typing import Any

from django.db.models import (
    Case,
    Count,
    Exists,
    IntegerField,
    Max,
    OuterRef,
    Q,
    QuerySet,
    Subquery,
    Sum,
    When,
)
from django.db.models.functions import Coalesce

from console.clusters.counted import in_count
from console.clusters.models import (
    Broker,
    Cluster,
    CollectionRound,
    Group,
    GroupOffset,
    Noun,
    Partition,
    Topic,
)
from console.clusters.status import ClusterStatus, freshness_of_row, judge_cluster
from console.clusters.trouble import seen_elsewhere
from console.frame.pages.freshness import Freshness, oldest
from console.frame.security.access import clusters_of
from jobs.availability.status.severity import Counted
from jobs.availability.status.severity import Severity as PartitionSeverity
from jobs.cluster.admin.groups import CONSUMERS
from jobs.replication.flow.lag import LagStatus


def list_clusters() -> QuerySet[Cluster]:
    """Return all clusters with what is counted on them and their rounds, in two queries.

    Adds live_count, dead_count (brokers), topic_count, partition_count, under_replicated_count,
    unsure_count, offline_count, worst (severity of the worst topic) and group_count; null before the first
    round that succeeded. What other rooms know of its partitions is in `trouble.seen_elsewhere`.
    """
    topics, brokers = Topic.objects.all(), Broker.objects.all()
    return Cluster.objects.prefetch_related("rounds").annotate(
        live_count=_of(Noun.BROKERS, brokers.filter(is_live=True), Count("pk")),
        dead_count=_of(Noun.BROKERS, brokers.filter(is_live=False), Count("pk")),
        topic_count=_of(Noun.TOPICS, topics, Count("pk")),
        partition_count=_of(Noun.TOPICS, topics, Sum("partition_count")),
        under_replicated_count=_of(Noun.TOPICS, topics, Sum("under_replicated_count")),
        unsure_count=_of(Noun.TOPICS, topics, Sum("unsure_count")),
        offline_count=_of(Noun.TOPICS, topics, Sum("offline_count")),
        worst=_of(Noun.TOPICS, topics, Max("severity")),
        group_count=_of(Noun.GROUPS, Group.objects.all(), Count("pk")),
        **seen_elsewhere.newer_counts(),
    )


def enabled_clusters() -> QuerySet[Cluster]:
    """Return the clusters that are queried."""
    return Cluster.objects.filter(is_enabled=True)


def with_collection() -> QuerySet[Cluster]:
    """Return all clusters with their rounds and brokers, in three queries."""
    return Cluster.objects.prefetch_related("rounds", "brokers").order_by("pk")


def collection_status(cluster: Cluster, now: datetime) -> tuple[ClusterStatus, list[str]]:
    """Return how the rounds of a cluster of `with_collection` are, whatever they saw, and of what.

    The nouns are those whose last round failed, else those that are late. No query.
    """
    rounds = sorted(cluster.rounds.all(), key=lambda row: Noun.values.index(row.noun))
    status = judge_cluster(cluster, rounds, PartitionSeverity.OK, 0, now)
    failing = [row.noun for row in rounds if row.failing_since]
    late = [row.noun for row in rounds if freshness_of_row(row.noun, row).is_late(now)]
    return status, failing or late


def where(alias: str, **_: Any) -> Collection[int]:
    """Return the cluster of an address, for the guard of pages and routes."""
    return clusters_of(Cluster.objects.filter(alias=alias))


def get_cluster(alias: str) -> Cluster | None:
    """Return one cluster like `list_clusters`; None when there is none."""
    return list_clusters().filter(alias=alias).first()


def status_of(cluster: Any, now: datetime) -> ClusterStatus:
    """Return how a cluster of `list_clusters` is doing; no query."""
    seen, dead = seen_elsewhere.seen_partitions(cluster), cluster.dead_count or 0
    return judge_cluster(
        cluster, cluster.rounds.all(), seen.worst, dead, now, is_followed=seen.is_followed
    )


def with_status(clusters: Iterable[Cluster], now: datetime) -> list[Any]:
    """Return clusters of `list_clusters` with `status`, `freshness`, `seen` (its oldest part); no query."""
    found: list[Any] = list(clusters)
    for cluster in found:
        cluster.status = status_of(cluster, now)
        cluster.freshness = freshness_of(cluster)
        cluster.seen = oldest(cluster.freshness)
    return found


def freshness_of(cluster: Cluster) -> list[Freshness]:
    """Return how fresh each noun's rows are; no query when the rounds are prefetched."""
    rounds = {row.noun: row for row in cluster.rounds.all()}
    return [freshness_of_row(noun, rounds.get(noun)) for noun in Noun.values]


def freshness_of_noun(cluster: Cluster, noun: Noun) -> Freshness:
    """Return how fresh the rows of one noun are."""
    rounds = {row.noun: row for row in cluster.rounds.all()}
    return freshness_of_row(noun, rounds.get(noun))


def partial_answers(cluster: Cluster) -> list[CollectionRound]:
    """Return the rounds that succeeded although some of the answer was missing."""
    return [row for row in cluster.rounds.all() if row.error and row.failing_since is None]


def count_partitions(cluster: Cluster) -> dict[Counted, int]:
    """Return how many partitions are in each of Kafka's counts."""
    found = Partition.objects.filter(cluster=cluster).aggregate(
        **{one.value: Count("pk", filter=in_count(one)) for one in Counted}
    )
    return {one: found[one.value] for one in Counted}


def list_brokers(cluster: Cluster | None = None) -> QuerySet[Broker]:
    """Return brokers with their cluster, of one cluster when it is named."""
    return _in(Broker.objects.select_related("cluster"), cluster)


def list_topics(cluster: Cluster | None = None) -> QuerySet[Topic]:
    """Return topics with their cluster, of one cluster when it is named."""
    return _in(Topic.objects.select_related("cluster"), cluster)


def get_topic(cluster: Cluster, name: str) -> Topic | None:
    """Return one topic; None when there is none."""
    return list_topics(cluster).filter(name=name).first()


def list_partitions(
    cluster: Cluster | None = None, topic: Topic | None = None
) -> QuerySet[Partition]:
    """Return partitions with cluster and topic, of one cluster or topic when it is named."""
    partitions = _in(Partition.objects.select_related("cluster", "topic"), cluster)
    return partitions if topic is None else partitions.filter(topic=topic)


def brokers_of_offline_partitions(now: datetime) -> dict[tuple[int, str, int], frozenset[int]]:
    """Return which brokers of offline partitions are down, by cluster, topic and number; three queries.

    Clusters whose topics were not collected lately are left out.
    """
    rounds = CollectionRound.objects.filter(noun=Noun.TOPICS)
    seen = [
        row.cluster_id for row in rounds if not freshness_of_row(Noun.TOPICS, row).is_stale(now)
    ]
    rows = Partition.objects.filter(severity=PartitionSeverity.OFFLINE, cluster__in=seen).order_by()
    live = set(
        Broker.objects.filter(is_live=True).order_by().values_list("cluster_id", "broker_id")
    )
    return {
        (cluster, topic, number): frozenset(b for b in replicas if (cluster, b) not in live)
        for cluster, topic, number, replicas in rows.values_list(
            "cluster_id", "topic__name", "partition", "replicas"
        )
    }


def list_groups(cluster: Cluster | None = None, topic: Topic | None = None) -> QuerySet[Group]:
    """Return groups with their cluster; with a topic, those that have a commit or a member there."""
    groups = _in(Group.objects.select_related("cluster"), cluster)
    if topic is None:
        return groups
    there = GroupOffset.objects.filter(group__cluster=topic.cluster_id, topic=topic.name)
    return groups.filter(pk__in=there.values("group"))


def list_undescribed() -> QuerySet[Topic]:
    """Return topics whose last description failed: what is known of their partitions is older."""
    return Topic.objects.exclude(error="")


def list_stuck() -> QuerySet[Partition]:
    """Return partitions whose last stable offset a transaction holds for too long, the longest first."""
    rows = Partition.objects.select_related("cluster", "topic")
    return rows.filter(cluster__is_enabled=True, open_transaction__is_too_long=True).order_by(
        "open_transaction__seen_ms", "pk"
    )


def commit_offsets(path: str = "") -> Q:
    """Return the condition that a group commits offsets as consumers do; the others are never moved."""
    return Q(**{f"{path}protocol__in": CONSUMERS})


def get_group(cluster: Cluster, group_id: str) -> Group | None:
    """Return one group; None when there is none."""
    return list_groups(cluster).filter(group_id=group_id).first()


def list_group_offsets(group: Group | None = None) -> QuerySet[GroupOffset]:
    """Return where groups stand per partition, of one group when it is named."""
    offsets = GroupOffset.objects.select_related("group", "group__cluster")
    return offsets if group is None else offsets.filter(group=group)


def consumer_groups(clusters: Iterable[Cluster]) -> QuerySet[Group]:
    """Return the groups of clusters that commit offsets, also those of Kafka Streams."""
    return Group.objects.filter(
        commit_offsets() | Q(type="streams"), cluster__in=list(clusters)
    ).order_by("pk")


def topics_ending(
    clusters: Iterable[int], endings: Iterable[str]
) -> Iterable[tuple[int, str, int | None]]:
    """Return cluster, name and records of the topics whose names end so; one query."""
    wanted = reduce(or_, (Q(name__endswith=one) for one in endings))
    rows = Topic.objects.filter(wanted, cluster__in=list(clusters)).order_by()
    return rows.values_list("cluster_id", "name", "record_count")


def all_group_ids(clusters: Iterable[int]) -> Iterable[tuple[int, str, str]]:
    """Return cluster, id and error of the groups of clusters; one query."""
    rows = Group.objects.filter(cluster__in=list(clusters)).order_by()
    return rows.values_list("cluster_id", "group_id", "error")


def dated_commits(clusters: Iterable[Cluster]) -> dict[int, datetime | None]:
    """Return since when no commit of a group has moved, by its key; None where one could not be read."""
    unread = Count("pk", filter=Q(committed_offset=None, lag_status=LagStatus.UNKNOWN))
    rows = GroupOffset.objects.filter(group__cluster__in=list(clusters)).order_by()
    found = rows.values_list("group_id").annotate(at=Max("committed_since"), unread=unread)
    return {pk: None if count else at for pk, at, count in found}


def waiting_offsets(clusters: Iterable[Cluster]) -> QuerySet[GroupOffset]:
    """Return the offsets of groups behind which records wait, or were deleted."""
    waits = Q(lag__gt=0) | Q(lag_status=LagStatus.BEHIND_LOG_START)
    return GroupOffset.objects.filter(waits, group__cluster__in=list(clusters)).order_by()


def leaderless_partitions(clusters: Iterable[Cluster]) -> QuerySet[Partition]:
    """Return the partitions that have no leader."""
    return Partition.objects.filter(
        cluster__in=list(clusters), leader=None, severity=PartitionSeverity.OFFLINE
    ).order_by()


def _in(rows: QuerySet[Any], cluster: Cluster | None) -> QuerySet[Any]:
    return rows if cluster is None else rows.filter(cluster=cluster)


def _of(noun: Noun, rows: QuerySet[Any], number: Any) -> Case:
    """Return a number over rows of the cluster as a part of the cluster's query.

    0 is for a round that found nothing; before the first such round the number is null.
    """
    own = rows.filter(cluster=OuterRef("pk")).order_by().values("cluster")
    counted = Subquery(own.annotate(number=number).values("number"), output_field=IntegerField())
    read = CollectionRound.objects.filter(
        cluster=OuterRef("pk"), noun=noun, succeeded_at__isnull=False
    )
    return Case(When(Exists(read), then=Coalesce(counted, 0)), default=None)
