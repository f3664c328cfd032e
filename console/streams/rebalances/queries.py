"""Reads of rebalances; no snapshot is unpacked."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from django.db.models import QuerySet

from console.frame.pages.timerange import TimeRange
from console.streams.models import StreamsApplication, StreamsSnapshot
from jobs.streams.rebalances.changes import FORM, Change, Move

MOST_CHANGES = 200


@dataclass(frozen=True, slots=True)
class Rebalance:
    """A change and the moment of its snapshot; `pk` is 0 where the change was not kept."""

    pk: int
    taken_at: datetime
    change: Change

    @property
    def since(self) -> datetime | None:
        """The last moment at which the application was seen as it was before."""
        since_ms = self.change.since_ms
        return None if since_ms is None else datetime.fromtimestamp(since_ms / 1000, UTC)

    @property
    def reasons(self) -> str:
        return ", ".join(self.change.reasons).capitalize()

    @property
    def joined(self) -> list[str]:
        return self.places(self.change.joined)

    @property
    def left(self) -> list[str]:
        return self.places(self.change.left)

    @property
    def restarted(self) -> list[str]:
        return self.places(self.change.restarted)

    def places(self, process_ids: tuple[str, ...]) -> list[str]:
        return [self.change.places[one] for one in process_ids]

    def moved(self, moves: tuple[Move, ...]) -> list[tuple[Move, str, str]]:
        """Return moves with the places they name; empty for no instance."""
        places = self.change.places
        return [
            (one, places.get(one.source or "", ""), places.get(one.target or "", ""))
            for one in moves
        ]


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
