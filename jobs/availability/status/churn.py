"""How restless brokers are: how often they left and joined an ISR, won and lost a leadership."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from datetime import datetime

from jobs.availability.status.partition_seen import PartitionSeen


@dataclass(slots=True)
class Churn:
    """Counts of one broker in one stretch of time."""

    shrinks: int = 0
    expands: int = 0
    leaders_won: int = 0
    leaders_lost: int = 0
    unclean: int = 0

    def add(self, other: Churn) -> None:
        """Take another count in."""
        for each in fields(self):
            setattr(self, each.name, getattr(self, each.name) + getattr(other, each.name))


def churn_of(before: PartitionSeen, after: PartitionSeen) -> Iterator[tuple[int, Churn]]:
    """Yield what a change counts for which broker.

    A broker that is no replica any more left the ISR by a reassignment: that is no shrink. `unclean` counts
    for the broker that won so.
    """
    for broker in before.isr:
        if broker not in after.isr and broker in after.replicas:
            yield broker, Churn(shrinks=1)
    for broker in after.isr:
        if broker not in before.isr:
            yield broker, Churn(expands=1)
    yield from _of_leaders(before, after)


def _of_leaders(before: PartitionSeen, after: PartitionSeen) -> Iterator[tuple[int, Churn]]:
    if before.leader != after.leader:
        if before.leader is not None:
            yield before.leader, Churn(leaders_lost=1)
        if after.leader is not None:
            yield after.leader, Churn(leaders_won=1)
    if after.is_unclean and after.leader is not None:
        yield after.leader, Churn(unclean=1)


def hour_of(at: datetime) -> datetime:
    """Return the hour that a count belongs to."""
    return at.replace(minute=0, second=0, microsecond=0)
