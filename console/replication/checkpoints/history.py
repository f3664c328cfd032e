"""The history of readiness: intervals and shares, from its changes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import NamedTuple

from django.conf import settings
from django.db.models import Max

from console.frame.pages.state_timeline import (
    StateInterval,
    StateTimeline,
    TimelineRow,
    draw_timeline,
)
from console.frame.pages.timerange import TimeRange
from console.replication.checkpoints.text import SEVERITIES, WORDS
from console.replication.flows.models import FlowReadiness, ReadinessChange, ReplicationFlow
from jobs.replication.checkpoints.obstacles import Readiness

MONTH = timedelta(days=30)
# Rounds that fail for longer than this leave the answer unknown, whatever it was before.
GAP = timedelta(minutes=10)


class Stretch(NamedTuple):
    """A time during which the readiness stayed the same."""

    readiness: Readiness
    start: datetime
    end: datetime


@dataclass(frozen=True, slots=True)
class Share:
    """How much of the time since `since` the flow or group was ready; `share` None: not evaluated yet."""

    share: float | None
    since: datetime | None
    changes: int = 0


def stretches(
    changes: Sequence[tuple[datetime, str]], start: datetime, end: datetime
) -> list[Stretch]:
    """Return the readiness between two moments; it is unknown before the first change.

    `changes` are (moment, readiness), oldest first, the last one before `start` included.
    """
    found = []
    for number, (at, word) in enumerate(changes):
        until = changes[number + 1][0] if number + 1 < len(changes) else end
        begin, until = max(at, start), min(until, end)
        if begin < until:
            found.append(Stretch(Readiness(word), begin, until))
    return found


def share_ready(flow: ReplicationFlow, group: str, now: datetime, span: timedelta = MONTH) -> Share:
    """Return the share of the last 30 days with the readiness Ready, of the evaluated time; one query."""
    found = stretches(_changes(flow, group, now), now - span, _asked_until(flow, now))
    total = sum((one.end - one.start).total_seconds() for one in found)
    if not total:
        return Share(None, None)
    ready = [one for one in found if one.readiness is Readiness.READY]
    good = sum((one.end - one.start).total_seconds() for one in ready)
    return Share(good / total, found[0].start, len(found) - 1)


def draw_answers(
    flow: ReplicationFlow, group: str, time_range: TimeRange, now: datetime
) -> StateTimeline:
    """Return the answer over a time range as a lane; one query."""
    changes = _changes(flow, group, now)
    lane = TimelineRow("Readiness", list(_segments(changes)))
    return draw_timeline([lane], time_range, now)


def prune_changes(now: datetime) -> int:
    """Remove changes that are older than the longest retention; what still holds stays."""
    limit = now - timedelta(days=settings.CHECKPOINT_HOURS_D)
    newest = ReadinessChange.objects.order_by().values("flow", "group").annotate(last=Max("pk"))
    old = ReadinessChange.objects.filter(at__lt=limit).exclude(pk__in=newest.values("last"))
    return old.delete()[0]


def unasked_since(answer: FlowReadiness, now: datetime) -> datetime | None:
    """Return since when no round has succeeded, if that is longer than a few rounds; None: not so long."""
    if answer.succeeded_at is None or now - answer.succeeded_at <= GAP:
        return None
    return answer.succeeded_at + GAP


def _asked_until(flow: ReplicationFlow, now: datetime) -> datetime:
    answer = FlowReadiness.objects.filter(flow=flow).first()
    return (unasked_since(answer, now) if answer else None) or now


def _segments(changes: Sequence[tuple[datetime, str]]) -> Iterator[StateInterval]:
    for number, (at, word) in enumerate(changes):
        until = changes[number + 1][0] if number + 1 < len(changes) else None
        step = Readiness(word)
        yield StateInterval(WORDS[step], SEVERITIES[step], at, until)


def _changes(flow: ReplicationFlow, group: str, now: datetime) -> list[tuple[datetime, str]]:
    rows = ReadinessChange.objects.filter(flow=flow, group=group, at__lte=now)
    return list(rows.order_by("at", "pk").values_list("at", "readiness"))
