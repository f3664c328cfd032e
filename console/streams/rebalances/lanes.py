"""Lanes of instances: which ran when, with how many tasks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from itertools import pairwise

from console.frame.pages.state_timeline import (
    Event,
    StateInterval,
    StateTimeline,
    TimelineRow,
    draw_timeline,
    in_order,
    with_gaps,
)
from console.frame.pages.timerange import TimeRange
from console.streams.rebalances.queries import Rebalance
from jobs.severity import Severity
from jobs.streams.application import Role
from jobs.streams.rebalances.changes import MOST_INSTANCES, Instance, Reason

# What a page draws within its time.
MOST_BARS, MOST_MARKS = 200, 50
_SHORT_ID = 8


def draw_instances(
    rebalances: Sequence[Rebalance], time_range: TimeRange, until: datetime
) -> tuple[StateTimeline, bool]:
    """Return a lane per instance, and whether some instances have none.

    `rebalances` are in the order of time. The lanes end at `until`.
    """
    lanes: dict[str, list[tuple[Instance, datetime, datetime]]] = {}
    for one, after in pairwise([*rebalances, None]):
        if one is None:
            break
        end = until if after is None else after.taken_at
        for instance in one.change.instances if end > time_range.start else ():
            lanes.setdefault(instance.process_id, []).append((instance, one.taken_at, end))
    places = {name: own[-1][0].place for name, own in lanes.items()}
    gaps = [
        (datetime.fromtimestamp(one.change.since_ms / 1000, UTC), one.taken_at)
        for one in rebalances
        if one.change.is_gap and one.change.since_ms is not None
    ]
    names = Counter(places.values())
    rows: list[TimelineRow] = []
    left = MOST_BARS
    for name in sorted(lanes, key=lambda one: (places[one], one)):
        place = places[name]
        label = place if names[place] == 1 else f"{place} · {name[:_SHORT_ID]}"
        row = TimelineRow(label, with_gaps(_intervals(lanes[name]), gaps))
        left -= len(row.segments)
        if rows and left < 0:
            break
        rows.append(row)
    marks = in_order(filter(None, map(_mark, rebalances)), MOST_MARKS)
    is_cut = any(len(one.change.instances) == MOST_INSTANCES for one in rebalances)
    return draw_timeline(rows, time_range, until, marks), is_cut or len(rows) < len(lanes)


def _intervals(seen: Iterable[tuple[Instance, datetime, datetime]]) -> list[StateInterval]:
    """Return what an instance had; the same as before makes no new bar."""
    lane: list[StateInterval] = []
    latest: Instance | None = None
    for instance, start, end in seen:
        if instance == latest and lane[-1].end == start:
            lane[-1] = replace(lane[-1], end=end)
            continue
        roles = zip(Role, (instance.active, instance.standby, instance.warm_up), strict=True)
        word = ", ".join(f"{count:,} {role.value}" for role, count in roles if count) or "no task"
        severity = Severity.HEALTHY if instance.active else Severity.INFO
        detail = f"{instance.threads:,} threads"
        lane.append(StateInterval(word, severity, start, end, detail=detail))
        latest = instance
    return lane


def _mark(one: Rebalance) -> Event | None:
    if Reason.FIRST_SEEN in one.change.reasons:
        return None
    is_loss = not {Reason.LEFT, Reason.SHUTDOWN}.isdisjoint(one.change.reasons)
    severity = Severity.WARNING if is_loss else Severity.INFO
    return Event(one.taken_at, "Rebalance", one.reasons, severity)
