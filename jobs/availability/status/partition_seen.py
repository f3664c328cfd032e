"""A partition as it became at a moment, and what a broker is to it."""

from __future__ import annotations

from dataclasses import dataclass
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
        """Where it stands on the ladder."""
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
