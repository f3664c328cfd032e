"""Reads when partitions were there, and when leaderless or under min ISR."""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import numpy as np
from django.db.models import Min

from console.availability.status import queries as status
from console.clusters.models import Cluster
from console.frame.pages.timerange import TimeRange
from console.quorum import queries as quorum
from jobs.availability.status.severity import Severity
from jobs.reports.kinds.clusters.partition_time import PartitionLives, PartitionSpans
from jobs.reports.kinds.clusters.watched_time import ms_of
from jobs.reports.periods import Period

# Later than everything: what is not over.
OPEN_MS = 2**53
PORTION = 5000


@dataclass(slots=True)
class Partitions:
    """The partitions that a period may have: topic and number of each life; `place` is that of a key."""

    topics: dict[str, int] = field(default_factory=dict)
    place: dict[str, int] = field(default_factory=dict)
    present: int = 0
    unnamed: int = 0
    group: Any = field(default_factory=lambda: array("q"))
    number: Any = field(default_factory=lambda: array("q"))
    begins: Any = field(default_factory=lambda: array("q"))
    ends: Any = field(default_factory=lambda: array("q"))

    def add(self, key: str, topic: str, number: int, begin: datetime, end: datetime | None) -> None:
        self.place[key] = len(self.group)
        self.group.append(self.topics.setdefault(topic, len(self.topics)))
        self.number.append(number)
        self.begins.append(ms_of(begin))
        self.ends.append(OPEN_MS if end is None else ms_of(end))

    def lives(self) -> PartitionLives:
        """Return them as arrays."""
        return PartitionLives(_ints(self.group), _ints(self.begins), _ints(self.ends))


def read_partitions(cluster: Cluster, log: quorum.Log | None, start: datetime) -> Partitions:
    """Return the partitions that are there, and those that were deleted after a time."""
    found = Partitions()
    rows = status.list_statuses(cluster).order_by("topic", "partition")
    names = ("key", "topic", "partition", "known_since")
    for key, topic, number, since in rows.values_list(*names).iterator(PORTION):
        found.add(key, topic, number, since, None)
    found.present = len(found.group)
    there = set(found.place)
    gone = list(_removed_from_log(log, start)) if log is not None else []
    keys = there | {key for key, *_ in gone}
    gone += [one for one in _removed_between_polls(cluster, start) if one[0] not in keys]
    for key, topic, number, begin, end in sorted(gone, key=lambda one: (one[1], one[2], one[4])):
        if not topic:
            found.unnamed += 1
        elif key not in there:
            found.add(key, topic, number, begin, end)
    return found


Removed = tuple[str, str, int, datetime, datetime]


def _removed_from_log(log: quorum.Log, start: datetime) -> Iterator[Removed]:
    changes = quorum.removed_partitions(log, start)
    first = quorum.first_seen(changes)
    names = ("subject", "topic", "topic_id", "partition", "at")
    for subject, topic, topic_id, number, at in changes.values_list(*names).iterator(PORTION):
        name = topic or topic_id
        yield f"{topic_id or name}:{number or 0}", name, number or 0, first[subject], at


def _removed_between_polls(cluster: Cluster, start: datetime) -> Iterator[Removed]:
    """Yield what a poll no longer found; the name of its topic is known where it was out of sync once."""
    polled = status.list_polled(cluster).order_by()
    gone = dict(polled.filter(state__isnull=True, at__gte=start).values_list("key", "at"))
    keys = sorted(gone)
    for place in range(0, len(keys), 500):
        part = keys[place : place + 500]
        begun = polled.filter(key__in=part).values_list("key").annotate(first=Min("at"))
        topics: dict[str, str] = {}
        for rows in (status.list_stretches(cluster), status.list_absences(cluster, is_open=False)):
            topics |= dict(rows.filter(key__in=part).order_by().values_list("key", "topic"))
        for key, first in begun.order_by("key"):
            number = key.rpartition(":")[2]
            yield key, topics.get(key, ""), int(number), first, gone[key]


def read_spans(
    cluster: Cluster, period: Period, partitions: Partitions
) -> tuple[PartitionSpans, list[tuple[str, int | None]]]:
    """Return the spans that touch a period, and the causes that their numbers mean."""
    causes: dict[tuple[str, int | None], int] = {}
    lives, begins, ends, numbers = (array("q") for _ in range(4))
    leaderless = array("b")
    within = TimeRange(period.start, period.end)
    rows = status.list_stretches(cluster, within, Severity.UNDER_MIN_ISR).order_by("began_at", "pk")
    names = ("key", "severity", "began_at", "ended_at", "cause", "cause_broker")
    for key, severity, began, ended, cause, broker in rows.values_list(*names).iterator(PORTION):
        life = partitions.place.get(key)
        if life is None:
            continue
        lives.append(life)
        leaderless.append(severity == Severity.OFFLINE)
        begins.append(ms_of(began))
        ends.append(OPEN_MS if ended is None else ms_of(ended))
        numbers.append(causes.setdefault((cause, broker), len(causes)))
    is_leaderless = np.array(leaderless, dtype=np.bool_)
    spans = PartitionSpans(_ints(lives), is_leaderless, _ints(begins), _ints(ends), _ints(numbers))
    return spans, list(causes)


def _ints(values: Any) -> Any:
    return np.array(values, dtype=np.int64)
