"""When the partitions of a cluster were watched: only that time counts as available or not."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from django.conf import settings
from django.db.models import Min

from console.availability.status import queries as status
from console.clusters.models import Cluster
from console.quorum import queries as quorum
from jobs.reports.kinds.clusters.watched_time import Interval, WatchedTime, ms_of

_PORTION = 5000
STEPS_S = (10, 60, 3600)
FOLLOWED = "log"


@dataclass(frozen=True, slots=True)
class Watch:
    """What was watched of a cluster: `known_from` None: nothing ever was.

    `unknown` are intervals (Unix ms) with the reason, between the two.
    """

    known_from: datetime | None
    known_until: datetime | None
    unknown: tuple[tuple[Interval, str], ...] = ()


def log_told(cluster: Cluster) -> quorum.Log | None:
    """Return the metadata log that the status of a cluster is read from; None: there is none."""
    log, row = quorum.log_of(cluster), status.round_of(cluster)
    return log if log is not None and row is not None and row.log_id == log.pk else None


def watched_in(watch: Watch, start: datetime, end: datetime) -> WatchedTime | None:
    """Return the watched time between two times; None where there is none."""
    if watch.known_from is None or watch.known_until is None:
        return None
    begin, until = ms_of(start), ms_of(end)
    unknown = [one for one, _ in watch.unknown]
    unknown += [(begin, ms_of(watch.known_from)), (ms_of(watch.known_until), until)]
    found = WatchedTime(begin, until, unknown)
    return found if found.total else None


def read_watch(
    cluster: Cluster, log: quorum.Log | None, start: datetime, end: datetime, now: datetime
) -> Watch:
    """Return what was watched of a cluster between two times, as far as it is recorded.

    `log` is the metadata log that its status is read from; None: polls tell it.
    """
    row = status.round_of(cluster)
    if row is None or row.succeeded_at is None:
        return Watch(None, None)
    samples = {step_s: status.list_samples(cluster, step_s) for step_s in STEPS_S}
    begun = {step_s: rows.aggregate(first=Min("at_s"))["first"] for step_s, rows in samples.items()}
    first = status.list_statuses(cluster).aggregate(first=Min("known_since"))["first"]
    candidates = [first, *(_of_s(at_s) for at_s in begun.values() if at_s is not None)]
    candidates += [quorum.known_from(log)] if log is not None else []
    known = [at for at in candidates if at is not None]
    if not known:
        return Watch(None, None)
    kept_from = now - timedelta(days=settings.AVAILABILITY_HISTORY_D)
    known_from = max(min(known), kept_from)
    unknown = list(_log_gaps(cluster, log)) if log is not None else []
    if row.source != FOLLOWED:
        inside = (max(known_from, start), min(row.succeeded_at, end))
        holes = _holes(samples, begun, *(ms_of(at) for at in inside))
        unknown += [(hole, "Partitions were not polled.") for hole in holes]
    return Watch(known_from, row.succeeded_at, tuple(unknown))


def _log_gaps(cluster: Cluster, log: quorum.Log) -> Iterator[tuple[Interval, str]]:
    """Yield gaps of the metadata log, up to the first poll in each: from there on polls know."""
    for start, end in quorum.unknown_times(log):
        polled = status.list_polled(cluster).filter(at__gte=start, at__lt=end)
        first = polled.aggregate(first=Min("at"))["first"] or end
        yield (ms_of(start), ms_of(first)), "Records of the metadata log are missing."


def _holes(
    samples: dict[int, Any], begun: dict[int, int | None], start: int, end: int
) -> list[Interval]:
    """Return when no count was sampled: by the finest steps that are kept of each time."""
    seen: list[Interval] = []
    until = end
    for step_s in STEPS_S:
        first_s = begun[step_s]
        if first_s is None or first_s * 1000 >= until:
            continue
        rows = samples[step_s].filter(at_s__gt=start // 1000 - step_s, at_s__lt=until / 1000)
        for at_s in rows.values_list("at_s", flat=True).iterator(_PORTION):
            at, over = at_s * 1000, min(at_s * 1000 + step_s * 1000, until)
            if seen and seen[-1][1] == at:
                seen[-1] = (seen[-1][0], over)
            else:
                seen.append((at, over))
        until = first_s * 1000
    return list(_between(sorted(seen), start, end))


def _between(seen: list[Interval], start: int, end: int) -> Iterator[Interval]:
    at = start
    for begins, ends in seen:
        if begins > at:
            yield at, min(begins, end)
        at = max(at, ends)
    if at < end:
        yield at, end


def _of_s(at_s: int) -> datetime:
    return datetime.fromtimestamp(at_s, UTC)
