"""History of a partition in a time range: moments from the metadata log or polls, and intervals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from django.db.models import Q

from console.availability.collection.from_log import seen_in
from console.availability.status.models import (
    OutOfSyncSpan,
    PartitionStatus,
    PolledMoment,
    SeveritySpan,
    UncleanElection,
)
from console.clusters.models import Partition
from console.frame.pages.timerange import TimeRange
from console.quorum import queries as quorum
from jobs.availability.status.partition_seen import PartitionSeen
from jobs.availability.status.spans import leader_spans, leaderless

# More than a picture can show.
MOST_MOMENTS = 2000
# When a partition became what it was; None: it was removed.
Moment = tuple[datetime, PartitionSeen | None]


@dataclass(frozen=True, slots=True)
class PartitionHistory:
    """A partition in a time range.

    `moments` are its changes, oldest first, with the last one before the range; `gone_at` is set when the
    last of them deleted it. `severities` and `absences` overlap the range. `log_name` is the metadata log of
    the offsets. `unknown` are times without metadata records and without polls.
    """

    moments: Sequence[PartitionSeen]
    gone_at: datetime | None
    severities: Sequence[SeveritySpan]
    absences: Sequence[OutOfSyncSpan]
    unclean: Sequence[UncleanElection]
    log_name: str = ""
    unknown: Sequence[tuple[datetime, datetime]] = ()

    def leaderless_s(self, start: datetime, end: datetime) -> float:
        """Return the leaderless seconds between two times; unknown times are not counted."""
        spans = leader_spans(self.moments, self.gone_at)
        return leaderless(spans, start, end, self.unknown).total_seconds()


def read_history(row: PartitionStatus, time_range: TimeRange) -> PartitionHistory:
    """Return the history of a partition: at most seven queries."""
    log = quorum.Log.objects.filter(cluster=row.cluster_id).first()
    polled = _polled(row, time_range)
    moments, gone_at = _moments(row, log, polled, time_range)
    touches = Q(ended_at=None) | Q(ended_at__gte=time_range.start)
    touches &= Q(began_at__lte=time_range.end)
    own = {"cluster": row.cluster_id, "key": row.key}
    return PartitionHistory(
        moments,
        gone_at,
        list(SeveritySpan.objects.filter(touches, **own).order_by("began_at")[:MOST_MOMENTS]),
        list(OutOfSyncSpan.objects.filter(touches, **own).order_by("-began_at")[:MOST_MOMENTS]),
        list(
            UncleanElection.objects.filter(
                **own, at__gte=time_range.start, at__lte=time_range.end
            ).order_by("at")[:MOST_MOMENTS]
        ),
        log.name if log is not None else "",
        _unknown(log, [at for at, _ in polled]) if log is not None else (),
    )


def _moments(
    row: PartitionStatus, log: quorum.Log | None, polled: Sequence[Moment], time_range: TimeRange
) -> tuple[list[PartitionSeen], datetime | None]:
    """Return moments of log and polls in order, and when the partition was deleted."""
    found = list(polled)
    if log is not None:
        changes = quorum.changes_of_partition(log, row.key, time_range, MOST_MOMENTS)
        found += [(one.at, None if one.is_removed else seen_in(one)) for one in changes]
    found.sort(key=lambda one: one[0])
    gone_at = found[-1][0] if found and found[-1][1] is None else None
    seen = [one for _, one in found if one is not None]
    return [_judged(one, row) for one in seen], gone_at


def _unknown(log: quorum.Log, polled: Sequence[datetime]) -> list[tuple[datetime, datetime]]:
    """Return the gaps of a log, each up to its first poll."""
    return [
        (start, min((at for at in polled if start <= at < end), default=end))
        for start, end in quorum.unknown_times(log)
    ]


def _judged(seen: PartitionSeen, row: PartitionStatus) -> PartitionSeen:
    """Add the observers of today to a moment that has none; the state comes from the intervals."""
    observers = tuple(one for one in row.observers if one in seen.replicas)
    return replace(seen, observers=observers) if observers and not seen.observers else seen


def _polled(row: PartitionStatus, time_range: TimeRange) -> list[Moment]:
    rows = PolledMoment.objects.filter(cluster=row.cluster_id, key=row.key).order_by("-at")
    inside = list(rows.filter(at__gte=time_range.start, at__lte=time_range.end)[:MOST_MOMENTS])
    inside += list(rows.filter(at__lt=time_range.start)[:1])
    return [(one.at, _of_poll(one)) for one in inside]


def _of_poll(one: PolledMoment) -> PartitionSeen | None:
    if one.state is None:
        return None
    return PartitionSeen(
        at=one.at,
        replicas=tuple(one.state["replicas"]),
        isr=tuple(one.state["isr"]),
        leader=one.state["leader"],
        adding=None if (adding := one.state.get("adding", ())) is None else tuple(adding),
        observers=tuple(one.state.get("observers", ())),
        min_insync_replicas=one.state.get("min_insync_replicas"),
        cause=one.cause,
        not_before=one.not_before,
    )


def with_behind(rows: Sequence[OutOfSyncSpan]) -> Sequence[OutOfSyncSpan]:
    """Set `about` of absences: records appended since the replica left the ISR; one query.

    None where it is unknown, and where the lag itself is known.
    """
    wanted = {row.topic for row in rows if row.ended_at is None and row.lag is None}
    clusters = {row.cluster_id for row in rows}
    ends: dict[tuple[int, str, int], int | None] = {}
    if wanted:
        found = Partition.objects.filter(cluster__in=clusters, topic__name__in=wanted)
        for one in found.select_related("topic"):
            ends[one.cluster_id, one.topic.name, one.partition] = one.end_offset
    for row in rows:
        end = ends.get((row.cluster_id, row.topic, row.partition))
        known = end is not None and row.left_end_offset is not None
        row.about = max(end - row.left_end_offset, 0) if known else None  # type: ignore[operator,attr-defined]  # both are known; a note for templates
    return rows
