"""Reads of rebalances; no snapshot is unpacked."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from django.db.models import QuerySet

from console.frame.pages.timerange import TimeRange
from console.streams.models import StreamsApplication, StreamsSnapshot
from jobs.streams.rebalances.changes import FORM, Change

MOST_CHANGES = 200


class Rebalance(NamedTuple):
    """A change and the moment of its snapshot; `pk` is 0 where the change was not kept."""

    pk: int
    taken_at: datetime
    change: Change

    @property
    def reasons(self) -> str:
        return ", ".join(self.change.reasons).capitalize()


def list_changes(
    row: StreamsApplication, time_range: TimeRange | None = None
) -> QuerySet[StreamsSnapshot]:
    """Return the snapshots of an application that have a change, the newest first, without their content."""
    rows = row.snapshots.filter(change__form=FORM).defer("content", "changelogs").order_by("-pk")
    if time_range is None:
        return rows
    return rows.filter(taken_at__gte=time_range.start, taken_at__lte=time_range.end)


def rebalance_of(snapshot: StreamsSnapshot | None) -> Rebalance | None:
    """Return the rebalance of a snapshot; None without one that this version reads."""
    change = None if snapshot is None else Change.from_json(snapshot.change)
    if snapshot is None or change is None:
        return None
    return Rebalance(snapshot.pk, snapshot.taken_at, change)


def rebalances_until(row: StreamsApplication, time_range: TimeRange) -> list[Rebalance]:
    """Return the newest rebalances up to the end of a range, oldest first, and one before them."""
    rows = list_changes(row).filter(taken_at__lte=time_range.end)[: MOST_CHANGES + 1]
    found: list[Rebalance] = []
    for one in filter(None, map(rebalance_of, rows)):
        found.insert(0, one)
        if one.taken_at < time_range.start:
            break
    return found
