"""Reads of quorums: logs with what was last said of them, voters, elections and findings."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Count, Exists, F, Max, Min, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Coalesce

from console.clusters.models import Broker, Cluster
from console.frame.pages.freshness import Freshness
from console.frame.pages.timerange import TimeRange
from console.frame.security.access import clusters_of
from console.quorum.history import queries as history
from console.quorum.labels import Kind
from console.quorum.log import gaps
from console.quorum.models import (
    IMPORT_PREFIX,
    ControllerSilence,
    Election,
    MetadataChange,
    MetadataLog,
    QuorumStatus,
    Source,
    VoterSetEntry,
)
from console.quorum.voters.verdict import why_unknown
from jobs.quorum.history.changes import Cause
from jobs.severity import Severity

# So many changes are looked at for since when something holds.
MOST_NEWEST = 2000

# What other rooms call the rows that they read here.
Log = MetadataLog
Moment = history.Moment
OutsideHistory = history.OutsideHistory
Change = MetadataChange
ChangeKind = Kind

# A follower that was not heard for longer than this is taken to be away.
SILENT_AFTER = timedelta(seconds=120)
# `effective_offset`, `offset` and `number` of a change: the order in which changes took effect.
Place = tuple[int, int, int]


def list_logs() -> QuerySet[MetadataLog]:
    """Return all logs with cluster, status, and their open findings: `open_count`, `worst_rank`.

    Of an imported log those that ended within it count too.
    """
    is_open = Q(finding__closed_at=None) | Q(cluster=None)
    return MetadataLog.objects.select_related("cluster", "status").annotate(
        open_count=Count("finding", filter=is_open & Q(finding__rank__gt=Severity.INFO.rank)),
        worst_rank=Max("finding__rank", filter=is_open),
    )


def where(alias: str, **_: Any) -> Collection[int]:
    """Return the cluster of an address; none of an imported log, which needs the right everywhere."""
    if alias.startswith(IMPORT_PREFIX):
        return ()
    return clusters_of(Cluster.objects.filter(alias=alias))


def get_log(name: str) -> MetadataLog | None:
    """Return a log by its name; one that is not kept yet of a cluster that is registered; else None."""
    log = list_logs().filter(name=name).first()
    if log is not None:
        return log
    cluster = Cluster.objects.filter(alias=name).first()
    return None if cluster is None else MetadataLog(cluster=cluster, name=name)


def status_of(log: MetadataLog) -> QuorumStatus | None:
    """Return what DescribeQuorum last said; None when it never did."""
    status: QuorumStatus | None = getattr(log, "status", None) if log.pk else None
    return status if status is not None and status.succeeded_at is not None else None


def leaders(clusters: Collection[int]) -> dict[int, int]:
    """Return the active controller of clusters, by cluster; one query."""
    rows = QuorumStatus.objects.filter(log__cluster__in=clusters, leader_id__isnull=False)
    found = rows.values_list("log__cluster_id", "leader_id")
    return {cluster: leader for cluster, leader in found if leader is not None}


def list_changes(logs: Collection[int], kind: Kind) -> QuerySet[MetadataChange]:
    """Return dated changes of one kind in these logs, newest first.

    `moment` is when, for conditions: by `at` SQLite would read the changes of all kinds of that time.
    """
    rows = MetadataChange.objects.filter(log__in=logs, kind=kind, is_dated=True)
    rows = rows.annotate(moment=Coalesce("at", "at"))
    return rows.select_related("log__cluster", "subject").order_by("-at", "-pk")


def freshness_of(log: MetadataLog) -> list[Freshness]:
    """Return how fresh the description and the log are; no query."""
    return [described_freshness(log), log_freshness(log)]


def described_freshness(log: MetadataLog) -> Freshness:
    """Return how fresh the description is; no query."""
    return log.freshness


def is_judged(log: MetadataLog, now: datetime) -> bool:
    """Say whether a quorum was judged with its last description; no query."""
    return not why_unknown(log, now)


def log_freshness(log: MetadataLog) -> Freshness:
    """Return how fresh the log is; no query."""
    return Freshness("Metadata log", log.heard_at, log.failing_since, log.error, log.hint)


def list_voter_sets(log: MetadataLog | None = None) -> QuerySet[VoterSetEntry]:
    """Return voter sets, of one log when it is named."""
    rows = VoterSetEntry.objects.select_related("log__cluster")
    return rows if log is None else rows.filter(log=log.pk or 0)


def within(rows: QuerySet[VoterSetEntry], time_range: TimeRange) -> QuerySet[VoterSetEntry]:
    """Return the voter sets of a time range: of each log also the one that was in force at its start."""
    before = VoterSetEntry.objects.filter(log=OuterRef("log"), at__lt=time_range.start)
    in_force = Q(pk=Subquery(before.order_by("-offset").values("pk")[:1]))
    return rows.filter(Q(at__gte=time_range.start, at__lte=time_range.end) | in_force)


def list_elections(log: MetadataLog | None = None) -> QuerySet[Election]:
    """Return elections, of one log when it is named."""
    rows = Election.objects.select_related("log__cluster")
    return rows if log is None else rows.filter(log=log.pk or 0)


def list_silences(log: MetadataLog | None = None) -> QuerySet[ControllerSilence]:
    """Return the times without a controller that no election ended, of one log when it is named."""
    rows = ControllerSilence.objects.select_related("log__cluster")
    return rows if log is None else rows.filter(log=log.pk or 0)


def until(rows: QuerySet[Any], time_range: TimeRange, most: int) -> list[Any]:
    """Return rows within a time range, oldest first, and the newest one before it: what held at its start.

    Of more than `most` the newest.
    """
    inside = rows.filter(at__gte=time_range.start, at__lte=time_range.end).order_by("-offset")
    found = list(inside[:most])
    before = rows.filter(at__lt=time_range.start).order_by("-offset").first()
    if before is not None and len(found) < most:
        found.append(before)
    return list(reversed(found))


def unsure_times(log: MetadataLog) -> list[tuple[datetime, datetime, datetime]]:
    """Return the same, and up to when what held before is not certain: the next snapshot, else the end."""
    found = []
    for gap in log.gaps:
        start, end, again = (_time(gap.get(name)) for name in ("from_at", "to_at", "known_at"))
        if start and end:
            is_certain = "known_from" not in gap
            last = end if is_certain else max(end, log.last_at or end) + timedelta(seconds=1)
            found.append((start, end, max(again or last, end)))
    return found


def _time(text: str | None) -> datetime | None:
    return datetime.fromisoformat(text) if text else None


def told_gaps(log: MetadataLog) -> list[tuple[datetime, datetime, str]]:
    """Return when what held is not certain because records are missing, each with a sentence."""
    dated = [gap for gap in log.gaps if gap.get("from_at") and gap.get("to_at")]
    times = zip(unsure_times(log), dated, strict=True)
    missing = "Records of the metadata log are missing."
    return [
        (start, again, gaps.gap_sentence(gap) if "from" in gap else missing)
        for (start, _, again), gap in times
    ]


def unknown_times(log: MetadataLog) -> list[tuple[datetime, datetime]]:
    """Return the times between which records are missing."""
    return [(start, end) for start, end, _ in unsure_times(log)]


def log_of(cluster: Cluster) -> MetadataLog | None:
    """Return the metadata log of a cluster with what was last said of its quorum; None: none is kept."""
    return MetadataLog.objects.select_related("status").filter(cluster=cluster).first()


def broker_hosts(log: MetadataLog) -> frozenset[str]:
    """Return the hosts of the brokers of a log's cluster; none for an imported log."""
    if log.cluster_id is None:
        return frozenset()
    rows = Broker.objects.filter(cluster=log.cluster_id).exclude(host="")
    return frozenset(rows.values_list("host", flat=True))


def moment_at(log: MetadataLog, at: datetime) -> Moment:
    """Return the place in a log that a time means; raises `OutsideHistory`."""
    return history.moment_at(log, at)


def newest_moment(log: MetadataLog) -> Moment:
    """Return the place behind everything that is known."""
    return Moment(max(log.next_offset - 1, 0))


def states_then(log: MetadataLog, moment: Moment, kind: Kind) -> QuerySet[Any]:
    """Return what there was of one kind at a moment, each with its `state`; one query."""
    return history.annotated_states(history.states_at(log, moment, kind), moment)


def voters_then(log: MetadataLog, moment: Moment) -> VoterSetEntry | None:
    """Return the voter set that held at a moment; None when none is known, or records behind it are missing.

    Changes of voters lie between two others, so that of a time the time decides as well.
    """
    rows = list_voter_sets(log).filter(offset__lte=moment.offset)
    if moment.at is not None:
        rows = rows.filter(at__lte=moment.at)
    found = rows.order_by("-offset").first()
    starts = [start for start, _ in gaps.ranges(log.gaps)]
    if found is None or any(found.offset < start <= moment.offset for start in starts):
        return None
    return None if is_behind_end(log, moment) else found


def is_behind_end(log: MetadataLog, moment: Moment) -> bool:
    """Whether a time lies behind the last record of a log whose end is damaged."""
    is_open = any(gap["to"] is None for gap in log.gaps)
    return is_open and None not in {moment.at, log.last_at} and moment.at > log.last_at  # type: ignore[operator]  # just looked at


def why_unsure(log: MetadataLog, moment: Moment) -> str:
    """Return why the state at a moment is not certain; empty where it is."""
    gap = gaps.unsure_at(log.gaps, moment.offset)
    if gap is None and is_behind_end(log, moment):
        gap = log.gaps[-1]
    return "" if gap is None else f"This state is not certain. {gaps.gap_sentence(gap)}"


def newest_changes(
    log: MetadataLog, keys: Collection[tuple[str, int]], most: int = MOST_NEWEST
) -> dict[tuple[str, int], list[MetadataChange]]:
    """Return the newest changes of partitions (topic, number) that are still there, newest first; one query.

    Of more than `most` in all the newest: what is older is left out for all of them alike.
    """
    wanted = Q(pk__in=())
    for topic in {topic for topic, _ in keys}:
        numbers = [number for name, number in keys if name == topic]
        wanted |= Q(subject__topic=topic, subject__partition__in=numbers)
    rows = MetadataChange.objects.filter(wanted, log=log, kind=Kind.PARTITION)
    rows = rows.filter(subject__gone_offset=None)
    found: dict[tuple[str, int], list[MetadataChange]] = {}
    for change in rows.order_by("-effective_offset", "-number")[:most]:
        if change.partition is not None:
            found.setdefault((change.topic, change.partition), []).append(change)
    return found


def followed_log(cluster: Cluster, now: datetime) -> MetadataLog | None:
    """Return the metadata log of a cluster if it is followed and known to its end; else None."""
    log = MetadataLog.objects.filter(cluster=cluster, source=Source.FETCH).first()
    if log is None or log.heard_at is None or log.start_offset is None:
        return None
    return log if now - log.heard_at < SILENT_AFTER else None


def cluster_logs() -> QuerySet[MetadataLog]:
    """Return the metadata logs of registered clusters."""
    return MetadataLog.objects.select_related("cluster").exclude(cluster=None).order_by("pk")


def restarts_since(since: datetime) -> dict[int, dict[int, int]]:
    """Return how often brokers registered with another incarnation, by cluster and broker; one query."""
    rows = MetadataChange.objects.filter(
        log__in=cluster_logs(), kind=Kind.BROKER, cause=Cause.BROKER_RESTARTED, at__gte=since
    )
    counted = rows.filter(is_dated=True).order_by().values_list("log__cluster", "broker")
    found: dict[int, dict[int, int]] = {}
    for cluster, broker, count in counted.annotate(count=Count("pk")):
        found.setdefault(cluster, {})[broker] = count
    return found


def partitions_added(
    cluster: Cluster, since: datetime, most: int = MOST_NEWEST
) -> list[tuple[str, int, int, datetime]]:
    """Return topics to which partitions were added, their partitions before and after, and when; one query.

    Those of topics that were deleted since do not count. Oldest first; of more than `most` the newest.
    """
    rows = MetadataChange.objects.filter(
        log__cluster=cluster, type="PARTITION_RECORD", cause=Cause.PARTITIONS_ADDED, at__gte=since
    )
    # A topic of this name was created again.
    same = {name: OuterRef(name) for name in ("log", "topic", "topic_id")}
    rows = rows.exclude(Exists(MetadataChange.objects.filter(**same, is_removed=True)))
    added = rows.filter(is_dated=True).order_by().values("topic", "topic_id", "at")
    newest = added.annotate(old=Min("partition"), last=Max("partition")).order_by("-at")[:most]
    return [(one["topic"], one["old"], one["last"] + 1, one["at"]) for one in reversed(newest)]


def has_changes_after(log: MetadataLog, place: Place, kinds: Collection[str]) -> bool:
    """Return whether changes of these kinds took effect after a place."""
    return _after(log, place, kinds).exists()


def changes_after(
    log: MetadataLog, place: Place, kinds: Collection[str], most: int
) -> list[MetadataChange]:
    """Return the next changes of these kinds, in the order in which they took effect.

    `key_of` tells what each is of; the subjects themselves are not read.
    """
    ordered = _after(log, place, kinds).order_by("effective_offset", "offset", "number")
    return list(ordered.annotate(subject_key=F("subject__key"))[:most])


def key_of(change: MetadataChange) -> str:
    """Return the key of what a change of `changes_after` is of."""
    key: str = change.subject_key  # type: ignore[attr-defined]  # annotated there
    return key


def changes_of_partition(
    log: MetadataLog, key: str, time_range: TimeRange, most: int
) -> list[MetadataChange]:
    """Return the changes of a partition within a time range, and the one before it; oldest first.

    `key` is topic id and partition; of more than `most` the newest.
    """
    rows = MetadataChange.objects.filter(subject__log=log, subject__kind=Kind.PARTITION)
    rows = rows.filter(subject__key=key).order_by("-effective_offset", "-number")
    inside = rows.filter(at__gte=time_range.start, at__lte=time_range.end)
    found = list(inside[:most])
    before = rows.filter(at__lt=time_range.start).first()
    if before is not None and len(found) < most:
        found.append(before)
    return list(reversed(found))


def known_from(log: MetadataLog) -> datetime | None:
    """Return from when on the changes of a log are known; None where none are."""
    rows = MetadataChange.objects.filter(log=log)
    if log.pruned_below is not None:
        # Of what was before, only the last state of each subject is kept.
        newest: datetime | None = rows.filter(effective_offset__lte=log.pruned_below).aggregate(
            at=Max("at")
        )["at"]
        if newest is not None:
            return newest
    first: datetime | None = rows.aggregate(at=Min("at"))["at"]
    return first


def removed_partitions(log: MetadataLog, since: datetime) -> QuerySet[MetadataChange]:
    """Return the removals of partitions from a time on."""
    rows = MetadataChange.objects.filter(log=log, kind=Kind.PARTITION, is_removed=True)
    return rows.filter(at__gte=since).order_by("effective_offset", "number")


def first_seen(changes: QuerySet[MetadataChange]) -> dict[int, datetime]:
    """Return when the log first told of the subjects of changes, by their primary keys; one query."""
    subjects = changes.order_by().values("subject")
    rows = MetadataChange.objects.filter(subject__in=subjects).order_by()
    return dict(rows.values("subject").annotate(first=Min("at")).values_list("subject", "first"))


def _after(log: MetadataLog, place: Place, kinds: Collection[str]) -> QuerySet[MetadataChange]:
    effective, offset, number = place
    later = Q(effective_offset__gt=effective) | Q(offset__gt=offset)
    later |= Q(offset=offset, number__gt=number)
    rows = MetadataChange.objects.filter(log=log, effective_offset__gte=effective)
    return rows.filter(later, kind__in=kinds)
