"""Between rows and the rules: a stored partition as a track, and a track as values to be stored."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from console.availability.status.broker_models import Source
from console.availability.status.models import OutOfSyncSpan, PartitionStatus, PolledMoment
from console.clusters.models import Cluster
from jobs.availability.status.interval_tracker import IntervalStart, PartitionTrack, TrackStep
from jobs.availability.status.min_isr import MinIsrOrigin
from jobs.availability.status.partition_seen import PartitionSeen
from jobs.availability.status.tally import Placed


@dataclass(frozen=True, slots=True)
class PartitionId:
    """Which partition: a topic made again under the same name is another one."""

    topic: str
    topic_id: str
    partition: int

    @property
    def key(self) -> str:
        """The name of its row."""
        return f"{self.topic_id or self.topic}:{self.partition}"


@dataclass(frozen=True, slots=True)
class PartitionUpdate:
    """What a partition became; `seen` None: it is gone, at `at`, by `cause` at `offset`."""

    place: PartitionId
    at: datetime
    seen: PartitionSeen | None = None
    origin: MinIsrOrigin = MinIsrOrigin.UNKNOWN
    cause: str = ""
    offset: int | None = None


def seen_of(row: PartitionStatus) -> PartitionSeen:
    """Return what a partition was when its row was last written."""
    return PartitionSeen(
        at=row.seen_at,
        replicas=tuple(row.replicas),
        isr=tuple(row.isr),
        leader=row.leader,
        min_insync_replicas=row.min_insync_replicas,
        limits_min_isr=row.limits_min_isr,
        observers=tuple(row.observers),
        adding=None if row.adding is None else tuple(row.adding),
        removing=tuple(row.removing),
        elr=None if row.elr is None else tuple(row.elr),
        last_known_elr=None if row.last_known_elr is None else tuple(row.last_known_elr),
        leader_epoch=row.leader_epoch,
        partition_epoch=row.partition_epoch,
        cause=row.cause,
        cause_broker=row.cause_broker,
        offset=row.offset,
    )


def track_of(row: PartitionStatus, absences: Iterable[OutOfSyncSpan]) -> PartitionTrack:
    """Return a stored partition with its open absences."""
    seen = seen_of(row)
    since = IntervalStart(row.since, row.not_before, row.cause, row.cause_broker, row.offset)
    out = {one.broker: IntervalStart(one.began_at, one.not_before) for one in absences}
    return PartitionTrack(seen, seen.standing, since, out)


def placed_of(topic: str, track: PartitionTrack | None) -> Placed | None:
    """Return what a partition counts as in roll-ups."""
    if track is None:
        return None
    return Placed(topic, track.seen.replicas, track.seen.leader, track.standing)


def values_of(
    step: TrackStep, news: PartitionUpdate, source: Source, worst_lag: int | None
) -> dict[str, Any]:
    """Return what is stored of a partition after a step."""
    track, place = step.track, news.place
    seen, standing, since = track.seen, track.standing, track.since
    return {
        "topic": place.topic,
        "topic_id": place.topic_id,
        "leader": seen.leader,
        "leader_epoch": seen.leader_epoch,
        "partition_epoch": seen.partition_epoch,
        "replicas": list(seen.replicas),
        "isr": list(seen.isr),
        "elr": None if seen.elr is None else list(seen.elr),
        "last_known_elr": None if seen.last_known_elr is None else list(seen.last_known_elr),
        "adding": None if seen.adding is None else list(seen.adding),
        "removing": list(seen.removing),
        "observers": list(seen.observers),
        "min_insync_replicas": seen.min_insync_replicas,
        "min_isr_origin": news.origin.value,
        "limits_min_isr": seen.limits_min_isr,
        "severity": standing.severity.value,
        "counted_text": standing.counted_text,
        "is_unsure": standing.is_unsure,
        "is_rf_below_min": standing.is_rf_below_min,
        "missing_count": len(standing.missing),
        "replica_text": ids_text(seen.replicas),
        "missing_text": ids_text(standing.missing),
        "source": source.value,
        "since": since.at,
        "not_before": since.not_before,
        "cause": since.cause,
        "cause_broker": since.cause_broker,
        "offset": since.offset,
        "seen_at": step.at,
        "out_since": min((one.at for one in track.out.values()), default=None),
        "worst_lag": worst_lag if track.out else None,
    }


def ids_text(ids: Iterable[int]) -> str:
    """Return ids so that one can be searched for: `|1|2|3|`; "" for none."""
    text = "|".join(map(str, ids))
    return f"|{text}|"[:400] if text else ""


def began(begin: IntervalStart) -> dict[str, Any]:
    """Return a beginning as columns of a stretch."""
    return {
        "began_at": begin.at,
        "not_before": begin.not_before,
        "cause": begin.cause,
        "cause_broker": begin.cause_broker,
        "offset": begin.offset,
    }


def polled_moment(cluster: Cluster, news: PartitionUpdate) -> PolledMoment:
    """Return what a poll saw, as it is kept for the past."""
    seen = news.seen
    if seen is None:
        return PolledMoment(cluster=cluster, key=news.place.key, at=news.at, cause=news.cause)
    return PolledMoment(
        cluster=cluster,
        key=news.place.key,
        at=news.at,
        not_before=seen.not_before,
        cause=seen.cause,
        state={
            "leader": seen.leader,
            "replicas": list(seen.replicas),
            "isr": list(seen.isr),
            "adding": None if seen.adding is None else list(seen.adding),
            "observers": list(seen.observers),
            "min_insync_replicas": seen.min_insync_replicas,
        },
    )
