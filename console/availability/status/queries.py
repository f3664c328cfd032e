"""Reads of availability: constant numbers of queries, whatever the number of partitions."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db.models import CharField, Count, Max, Min, OuterRef, Q, QuerySet, Subquery, Sum, Value
from django.db.models.functions import Cast, Coalesce, Length, Replace, TruncMinute

# Other rooms read promotions through here, too.
from console.availability.promotion import queries as promotion_queries
from console.availability.status import definitions
from console.availability.status.broker_models import BrokerChurn, BrokerStatus, CountSample, Source
from console.availability.status.models import (
    RAW_STEP_S,
    AvailabilityRound,
    OutOfSyncSpan,
    PartitionStatus,
    PolledMoment,
    Rollup,
    SeveritySpan,
    UncleanElection,
)
from console.clusters import queries as clusters
from console.clusters.models import Cluster
from console.frame.pages.freshness import Freshness, freshness_of_round
from console.frame.pages.timerange import TimeRange
from console.frame.series import HOUR, MINUTE, Series
from jobs.availability.status.peaks import SAMPLED
from jobs.availability.status.severity import Severity
from jobs.availability.status.tally import COUNTED, ScopeKind

# What other rooms call the rows that they read here.
Unclean = UncleanElection
promotions = promotion_queries
Absence = OutOfSyncSpan
Whole = Rollup

CHURN = ("shrinks", "expands", "leaders_won", "leaders_lost", "unclean")
where = clusters.where
COUNTS = Series(
    CountSample,
    ("cluster_id", "kind", "name"),
    dict.fromkeys(SAMPLED, Max),
    lambda: {
        RAW_STEP_S: settings.AVAILABILITY_RAW_H * 3600,
        MINUTE: settings.AVAILABILITY_MINUTES_D * 86_400,
        HOUR: settings.AVAILABILITY_HOURS_D * 86_400,
    },
    lambda: RAW_STEP_S,
)


def list_statuses(cluster: Cluster | None = None) -> QuerySet[PartitionStatus]:
    """Return partitions with their cluster, of one cluster when it is named."""
    return _in(PartitionStatus.objects.select_related("cluster"), cluster)


def get_status(cluster: Cluster, topic: str, partition: int) -> PartitionStatus | None:
    """Return a partition by its topic's name; None when there is none."""
    return list_statuses(cluster).filter(topic=topic, partition=partition).first()


def list_rollups(kind: ScopeKind, cluster: Cluster | None = None) -> QuerySet[Rollup]:
    """Return roll-ups of one kind, of one cluster when it is named."""
    return _in(Rollup.objects.select_related("cluster").filter(kind=kind), cluster)


def whole_of(cluster: Cluster) -> Rollup:
    """Return the counts of a cluster; all 0 before the first round."""
    row = list_rollups(ScopeKind.CLUSTER, cluster).first()
    return row or Rollup(cluster=cluster, kind=ScopeKind.CLUSTER)


def list_clusters() -> QuerySet[Cluster]:
    """Return clusters with their counts (null before the first round), the oldest absence, their rounds."""
    whole = Rollup.objects.filter(cluster=OuterRef("pk"), kind=ScopeKind.CLUSTER)
    counts: dict[str, Any] = {f"{name}_count": Subquery(whole.values(name)[:1]) for name in COUNTED}
    absences = OutOfSyncSpan.objects.filter(cluster=OuterRef("pk"), ended_at=None)
    oldest = absences.order_by().values("cluster").annotate(oldest=Min("began_at"))
    return Cluster.objects.prefetch_related("availability_rounds").annotate(
        **counts,
        worst=Subquery(whole.values("worst")[:1]),
        out_since=Subquery(oldest.values("oldest")),
    )


def get_cluster(alias: str) -> Cluster | None:
    """Return one cluster like `list_clusters`."""
    return list_clusters().filter(alias=alias).first()


def round_of(
    cluster: Cluster, noun: str = AvailabilityRound.Noun.STATUS
) -> AvailabilityRound | None:
    """Return a round of a cluster; no query when they are prefetched."""
    rows = cluster.availability_rounds.all()
    return next((row for row in rows if row.noun == noun), None)


def freshness_of(cluster: Cluster, noun: str = AvailabilityRound.Noun.STATUS) -> Freshness:
    """Return how fresh a kind of rows is."""
    # Lags are queried while replicas are out of sync; without a log, the rounds of topics have the state.
    is_asked = noun == AvailabilityRound.Noun.STATUS
    every_s = (
        max(settings.AVAILABILITY_INTERVAL_S, settings.COLLECT_INTERVAL_S) if is_asked else None
    )
    label = AvailabilityRound.Noun(noun).label
    return freshness_of_round(label, round_of(cluster, noun), every_s)


def is_polled(cluster: Cluster) -> bool:
    """Whether the states of its partitions come from rounds, not from the metadata log."""
    row = round_of(cluster)
    return row is not None and row.source == Source.POLL


def method_of(row: AvailabilityRound | None) -> str:
    """Return the source and its resolution as text."""
    if row is None or not row.source:
        return ""
    if row.source == "log":
        return "metadata log, with causes"
    every = "" if not row.interval_ms else f", every {max(round(row.interval_ms / 1000), 1)} s"
    return f"polling{every}; changes between two polls are not recorded"


def list_absences(
    cluster: Cluster | None = None, *, is_open: bool = True
) -> QuerySet[OutOfSyncSpan]:
    """Return absences of replicas from the ISR; by default only ongoing ones."""
    rows = _in(OutOfSyncSpan.objects.select_related("cluster"), cluster)
    return rows.filter(ended_at=None) if is_open else rows


def absences_by_minute(
    clusters: Collection[int], time_range: TimeRange
) -> QuerySet[OutOfSyncSpan, Mapping[str, Any]]:
    """Return how many replicas left the ISR by cluster, broker, cause and minute, newest first.

    Each minute counts as a whole; `at` is when the first of it began, which is within the time range.
    """
    end = time_range.end.replace(second=0, microsecond=0) + timedelta(minutes=1)
    is_after = Q(ended_at=None) | Q(ended_at__gte=time_range.start)
    rows = OutOfSyncSpan.objects.filter(is_after, cluster__in=clusters)
    rows = rows.filter(began_at__gte=time_range.start, began_at__lt=end)
    by_minute = rows.annotate(minute=TruncMinute("began_at")).order_by()
    return (
        by_minute.values("cluster_id", "cluster__alias", "broker", "cause", "minute")
        .annotate(at=Min("began_at"), partitions=Count("pk"), topics=Count("topic", distinct=True))
        .filter(at__lt=time_range.end)
        .order_by("-at", "broker", "cause")
    )


def list_unclean(
    cluster: Cluster | None = None, time_range: TimeRange | None = None
) -> QuerySet[UncleanElection]:
    """Return unclean elections, within a time range when one is given."""
    rows = _in(UncleanElection.objects.select_related("cluster"), cluster)
    if time_range is None:
        return rows
    return rows.filter(at__gte=time_range.start, at__lte=time_range.end)


def list_stretches(
    cluster: Cluster | None = None,
    time_range: TimeRange | None = None,
    least: Severity = Severity.UNDER_REPLICATED,
) -> QuerySet[SeveritySpan]:
    """Return intervals of at least a severity that overlap a time range."""
    rows = _in(SeveritySpan.objects.select_related("cluster"), cluster)
    rows = rows.filter(severity__gte=least.value)
    if time_range is None:
        return rows
    goes_on = Q(ended_at=None) | Q(ended_at__gte=time_range.start)
    return rows.filter(goes_on, began_at__lte=time_range.end)


def list_brokers(
    cluster: Cluster | None = None, time_range: TimeRange | None = None
) -> QuerySet[BrokerStatus]:
    """Return brokers with their counts, the oldest absence, and their churn in a time range."""
    own = Rollup.objects.filter(
        cluster=OuterRef("cluster"), kind=ScopeKind.BROKER, name=OuterRef("as_text")
    )
    absences = OutOfSyncSpan.objects.filter(
        cluster=OuterRef("cluster"), broker=OuterRef("broker_id"), ended_at=None
    )
    oldest = absences.order_by().values("broker").annotate(oldest=Min("began_at"))
    churn = BrokerChurn.objects.filter(cluster=OuterRef("cluster"), broker_id=OuterRef("broker_id"))
    if time_range is not None:
        hour = time_range.start.replace(minute=0, second=0, microsecond=0)
        churn = churn.filter(hour__gte=hour, hour__lte=time_range.end)
    summed = churn.order_by().values("broker_id")
    rows = _in(BrokerStatus.objects.select_related("cluster"), cluster)
    told: QuerySet[BrokerStatus] = rows.annotate(
        as_text=Cast("broker_id", CharField()),
        partition_count=Coalesce(Subquery(own.values("partitions")[:1]), 0),
        out_of_sync_count=Coalesce(Subquery(own.values("out_of_sync")[:1]), 0),
        leader_count=Coalesce(Subquery(own.values("leaders")[:1]), 0),
        out_since=Subquery(oldest.values("oldest")),
        **{
            name: Coalesce(Subquery(summed.annotate(total=Sum(name)).values("total")), 0)
            for name in CHURN
        },
    )
    return told


def unhealthy_rows(clusters_: Collection[int]) -> QuerySet[PartitionStatus]:
    """Return partitions of clusters whose severity is not OK, or not known."""
    is_meant = Q(severity__gt=0) | Q(is_unsure=True)
    return PartitionStatus.objects.filter(is_meant, cluster__in=clusters_).order_by()


def replication_factor_rows(
    clusters_: Collection[int],
) -> QuerySet[PartitionStatus, tuple[int, str, int, int]]:
    """Return topics with partitions of RF < min ISR or RF 1: cluster, topic, and how many of each."""
    bars = Length("replica_text") - Length(Replace("replica_text", Value("|"), Value("")))
    is_single = Q(bars=2)
    rows = PartitionStatus.objects.filter(cluster__in=clusters_).order_by().annotate(bars=bars)
    counted = rows.filter(Q(is_rf_below_min=True) | is_single).values("cluster_id", "topic")
    return counted.annotate(
        below=Count("pk", filter=Q(is_rf_below_min=True)), single=Count("pk", filter=is_single)
    ).values_list("cluster_id", "topic", "below", "single")


def churn_since(clusters_: Collection[int], hour: datetime) -> QuerySet[BrokerChurn]:
    """Return the ISR and leadership changes of brokers, by hour, from an hour on."""
    return BrokerChurn.objects.filter(cluster__in=clusters_, hour__gte=hour)


def logged_brokers(now: datetime) -> dict[int, list[Any]]:
    """Return the brokers, with `partition_count`, of clusters whose metadata log was read to its end.

    Without those whose round failed or is late. Two queries, by cluster.
    """
    rounds = AvailabilityRound.objects.filter(
        noun=AvailabilityRound.Noun.STATUS, source=Source.LOG, cluster__is_enabled=True
    )
    every_s = settings.AVAILABILITY_INTERVAL_S
    found: dict[int, list[Any]] = {
        row.cluster_id: []
        for row in rounds
        if not freshness_of_round("Partitions", row, every_s).is_stale(now)
    }
    own = Rollup.objects.filter(
        cluster=OuterRef("cluster"),
        kind=ScopeKind.BROKER,
        name=Cast(OuterRef("broker_id"), CharField()),
    )
    rows = BrokerStatus.objects.filter(cluster__in=found, source=Source.LOG)
    count = Coalesce(Subquery(own.values("partitions")[:1]), 0)
    for row in rows.annotate(partition_count=count):
        found[row.cluster_id].append(row)
    return found


def is_live_of(clusters: Collection[int]) -> dict[tuple[int, int], bool | None]:
    """Return whether brokers are alive (null: unknown), by cluster and id; one query."""
    rows = BrokerStatus.objects.filter(cluster__in=clusters)
    found = rows.values_list("cluster_id", "broker_id", "is_there")
    return {(cluster, broker): is_there for cluster, broker, is_there in found}


def with_churn_series(rows: Iterable[Any], now: datetime, hours: int = 24) -> list[Any]:
    """Set `restless` of brokers: ISR changes in each of the last hours; one query."""
    found = list(rows)
    hour = now.replace(minute=0, second=0, microsecond=0)
    start = hour.timestamp() - (hours - 1) * 3600
    counted: dict[tuple[int, int], dict[int, int]] = {}
    clusters_of = {row.cluster_id for row in found}
    churn = BrokerChurn.objects.filter(
        cluster__in=clusters_of, hour__gte=datetime.fromtimestamp(start, hour.tzinfo)
    )
    for one in churn:
        place = int((one.hour.timestamp() - start) // 3600)
        hours_of = counted.setdefault((one.cluster_id, one.broker_id), {})
        hours_of[place] = one.shrinks + one.expands
    for row in found:
        own = counted.get((row.cluster_id, row.broker_id), {})
        row.restless = [own.get(place, 0) for place in range(hours)]
    return found


def list_registrations(clusters_: Collection[int]) -> QuerySet[BrokerStatus]:
    """Return brokers of clusters without counts."""
    return BrokerStatus.objects.filter(cluster__in=clusters_)


def racks_of(cluster: Cluster) -> dict[str, list[int]]:
    """Return the brokers of each rack; one query."""
    found: dict[str, list[int]] = {}
    rows = BrokerStatus.objects.filter(cluster=cluster).exclude(rack="")
    for rack, broker in rows.order_by("rack", "broker_id").values_list("rack", "broker_id"):
        found.setdefault(rack, []).append(broker)
    return found


def with_replica(brokers: Collection[int], field: str = "replica_text") -> Q:
    """Return the condition that one of these brokers has a replica (or, by `missing_text`, misses)."""
    found = Q(pk__in=[])
    for broker in brokers:
        found |= Q(**{f"{field}__contains": f"|{broker}|"})
    return found


def list_samples(cluster: Cluster, step_s: int) -> QuerySet[CountSample]:
    """Return the counts of a whole cluster by steps of one length, oldest first.

    The cluster has a sample for every step in which it was watched.
    """
    rows = CountSample.objects.filter(cluster=cluster, kind=ScopeKind.CLUSTER, name="")
    return rows.filter(step_s=step_s).order_by("at_s")


def list_polled(cluster: Cluster) -> QuerySet[PolledMoment]:
    """Return the changes of partitions that polls saw."""
    return PolledMoment.objects.filter(cluster=cluster)


def cause_words(cause: str, broker: int | None = None) -> str:
    """Return the cause of an interval as text."""
    return definitions.cause_words(cause, broker)


def _in(rows: QuerySet[Any], cluster: Cluster | None) -> QuerySet[Any]:
    return rows if cluster is None else rows.filter(cluster=cluster)
