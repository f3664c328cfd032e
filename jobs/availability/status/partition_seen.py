"""A partition as it became at a moment, what a broker is to it, and how restless brokers are."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from datetime import datetime
from enum import StrEnum

from jobs.availability.status.severity import Moves, Standing, judge_partition


class Membership(StrEnum):
    """What a broker is to a partition of which it has a replica."""

    LEADER = "leader"
    IN_SYNC = "in_sync"
    # An observer that was promoted.
    OBSERVER_IN_SYNC = "observer_in_sync"
    OBSERVER = "observer"
    # Out of the ISR and eligible to lead (KIP-966).
    ELIGIBLE = "eligible"
    OUT_OF_SYNC = "out_of_sync"
    # A reassignment adds it; it has not caught up for the first time.
    ADDING = "adding"
    # Out of the ISR; whether a reassignment adds it is not known.
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionSeen:
    """What a partition became at `at`.

    `leader` None: it has none. `observers` are replicas that stay out of the ISR by design. `adding` None:
    whether a reassignment is in progress is not known. `elr` and `last_known_elr` are None where they are not
    told (polled by Metadata). `limits_min_isr`: see `severity.effective_min_isr`. `not_before`: None when the
    time is exact; else it happened after it, and at or before `at` (the poll before, or a snapshot without
    time).
    `cause` is a word of `jobs.quorum.history.changes.Cause` or one of `CAUSES` below, `offset` that of the
    record of the metadata log (None: polled).
    """

    at: datetime
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    leader: int | None
    min_insync_replicas: int | None = None
    limits_min_isr: bool | None = None
    observers: tuple[int, ...] = ()
    adding: tuple[int, ...] | None = ()
    removing: tuple[int, ...] = ()
    elr: tuple[int, ...] | None = None
    last_known_elr: tuple[int, ...] | None = None
    leader_epoch: int | None = None
    partition_epoch: int | None = None
    cause: str = ""
    cause_broker: int | None = None
    offset: int | None = None
    is_unclean: bool = False
    not_before: datetime | None = None

    @property
    def standing(self) -> Standing:
        """Its severity, counts and failures tolerated."""
        return judge_partition(
            leader=self.leader,
            replicas=self.replicas,
            isr=self.isr,
            min_insync_replicas=self.min_insync_replicas,
            observers=self.observers,
            moves=Moves(self.adding, self.removing),
            is_limited=self.limits_min_isr,
        )

    def membership(self, broker: int) -> Membership | None:
        """Return what a broker is to it; None: it has no replica there."""
        if broker not in self.replicas:
            return None
        if broker == self.leader:
            return Membership.LEADER
        is_observer = broker in self.observers
        if broker in self.isr:
            return Membership.OBSERVER_IN_SYNC if is_observer else Membership.IN_SYNC
        if is_observer:
            return Membership.OBSERVER
        return Membership.ELIGIBLE if broker in (self.elr or ()) else self._outside(broker)

    def _outside(self, broker: int) -> Membership:
        if self.adding is None:
            return Membership.UNKNOWN
        return Membership.ADDING if broker in self.adding else Membership.OUT_OF_SYNC


# Causes beside those of the metadata log.
POLLED = "polled"
MIN_ISR_CHANGED = "min_isr_changed"
OBSERVERS_CHANGED = "observers_changed"
CAUSES = (POLLED, MIN_ISR_CHANGED, OBSERVERS_CHANGED)


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
