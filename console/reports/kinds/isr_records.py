"""Reads ISR churn, unclean elections and the counts over time."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
from django.conf import settings
from django.db.models import Q
from django.urls import reverse

from console.availability.status import queries as status
from console.clusters.models import Cluster
from console.frame.series import HOUR, MINUTE
from console.quorum import queries as quorum
from console.reports.kinds.partition_records import OPEN_MS, PORTION
from jobs.reports.kinds.clusters.availability_recorded import IsrChurn, PeakSample, UncleanElection
from jobs.reports.kinds.clusters.watched_time import WatchedTime, ms_of
from jobs.reports.periods import Period
from jobs.reports.values import around, within

MOST_UNCLEAN = 200
MOST_PEAKS = 400
# Minutes are shown of periods up to this long.
SHORT = timedelta(hours=36)


def read_churn(
    cluster: Cluster, watched: WatchedTime | None, period: Period
) -> tuple[tuple[IsrChurn, ...], tuple[IsrChurn, ...]]:
    """Return the out-of-sync spans that began in a period, by broker and by rack."""
    if watched is None:
        return (), ()
    rack_of = {one: rack for rack, ids in status.racks_of(cluster).items() for one in ids}
    path = reverse("availability:brokers", args=[cluster.alias])
    href = within(path, period.start, period.end)
    by_broker: dict[int, list[int]] = {}
    for broker, ms in _absences(cluster, watched, period):
        by_broker.setdefault(broker, []).append(ms)
    by_rack: dict[str, list[int]] = {}
    for broker, spans in by_broker.items():
        if broker in rack_of:
            by_rack.setdefault(rack_of[broker], []).extend(spans)
    brokers = tuple(
        _churn(str(broker), rack_of.get(broker, ""), spans, href)
        for broker, spans in sorted(by_broker.items())
    )
    return brokers, tuple(
        _churn(rack, rack, spans, href) for rack, spans in sorted(by_rack.items())
    )


def _absences(cluster: Cluster, watched: WatchedTime, period: Period) -> Iterator[tuple[int, int]]:
    """Yield the broker of each span with its watched time."""
    rows = status.list_absences(cluster, is_open=False).order_by("pk")
    rows = rows.filter(Q(ended_at=None) | Q(ended_at__gte=period.start))
    rows = rows.filter(began_at__gte=period.start, began_at__lt=period.end)
    brokers, begins, ends = [], [], []
    for broker, began, ended in rows.values_list("broker", "began_at", "ended_at").iterator(
        PORTION
    ):
        brokers.append(broker)
        begins.append(ms_of(began))
        ends.append(OPEN_MS if ended is None else ms_of(ended))
    lengths = watched.between(np.array(begins, dtype=np.int64), np.array(ends, dtype=np.int64))
    yield from zip(brokers, lengths.tolist(), strict=True)


def _churn(name: str, rack: str, spans: list[int], href: str) -> IsrChurn:
    return IsrChurn(name, rack, len(spans), sum(spans), round(float(np.median(spans))), href)


def read_unclean(
    cluster: Cluster, period: Period, log: quorum.Log | None
) -> tuple[tuple[UncleanElection, ...], int]:
    """Return the first unclean elections of a period, and how many there were."""
    rows = status.list_unclean(cluster).filter(at__gte=period.start, at__lt=period.end)
    rows = rows.order_by("at", "topic", "partition")
    found = tuple(
        UncleanElection(
            one.at,
            one.name,
            one.leader,
            tuple(one.isr_before),
            _election_page(cluster, one, log),
        )
        for one in rows[:MOST_UNCLEAN]
    )
    return found, rows.count()


def _election_page(cluster: Cluster, one: Any, log: quorum.Log | None) -> str:
    if log is not None and one.offset is not None and one.offset >= 0:
        return reverse("quorum:record", args=[log.name, one.offset])
    return around(reverse("availability:detail", args=[cluster.alias]), one.at)


def read_peaks(cluster: Cluster, period: Period, now: datetime) -> tuple[PeakSample, ...]:
    """Return the worst moment of each step of a period, of at most `MOST_PEAKS` steps; none without any."""
    kept = timedelta(days=settings.AVAILABILITY_MINUTES_D)
    is_short = period.span <= SHORT and now - period.start < kept
    sampled_s = MINUTE if is_short else HOUR
    start_s, end_s = int(period.start.timestamp()), int(period.end.timestamp())
    start_s -= start_s % sampled_s
    step_s = -(-(end_s - start_s) // (MOST_PEAKS * sampled_s)) * sampled_s
    peaks: dict[int, tuple[int, int]] = {}
    rows = status.list_samples(cluster, sampled_s).filter(at_s__gte=start_s, at_s__lt=end_s)
    for at_s, offline, under in rows.values_list("at_s", "offline", "unwritable"):
        place = (at_s - start_s) // step_s
        before = peaks.get(place, (0, 0))
        peaks[place] = (max(before[0], offline), max(before[1], under))
    if not peaks:
        return ()
    places = range(-(-(end_s - start_s) // step_s))
    return tuple(
        PeakSample(
            max(datetime.fromtimestamp(start_s + place * step_s, UTC), period.start),
            *peaks.get(place, (None, None)),
        )
        for place in places
    )
