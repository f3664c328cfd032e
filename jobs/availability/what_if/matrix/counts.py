"""What the states of all partitions are worth at a moment, and sums: `partition_risk` with arrays. Pure."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from jobs.availability.status.severity import Severity
from jobs.availability.what_if.matrix.tables import Flags, Numbers, States, Tables
from jobs.availability.what_if.outcome import Counts


@dataclass(frozen=True, slots=True)
class PartitionStates:
    """All partitions at one moment, as they are shown. `leader`: place in the replica list, -1 for none."""

    leader: Numbers
    isr: Flags
    elr: Flags
    is_writable: Flags
    is_unknown: Flags
    severity: Numbers
    observers_in_isr: Numbers
    is_alone: Flags
    has_living: Flags
    is_unclean: Flags

    def of(self, rows: NDArray[np.intp]) -> PartitionStates:
        """Return the same of some partitions."""
        return PartitionStates(
            self.leader[rows], self.isr[rows], self.elr[rows], self.is_writable[rows],
            self.is_unknown[rows], self.severity[rows], self.observers_in_isr[rows], self.is_alone[rows],
            self.has_living[rows], self.is_unclean[rows],
        )  # fmt: skip

    @property
    def is_unwritable(self) -> Flags:
        """Whether acks=all works for no value that min.insync.replicas may have."""
        return ~self.is_writable & ~self.is_unknown

    @property
    def is_lost(self) -> Flags:
        """Whether acknowledged records are gone."""
        return ~self.has_living & (self.leader < 0) | self.is_unclean

    def differs_from(self, other: PartitionStates) -> Flags:
        """Return which partitions look otherwise; the last known leader alone is no difference."""
        found: Flags = (
            (self.leader != other.leader)
            | (self.isr != other.isr).any(axis=1)
            | (self.elr != other.elr).any(axis=1)
            | (self.is_writable != other.is_writable)
            | (self.is_unknown != other.is_unknown)
            | (self.severity != other.severity)
        )
        return found


def states_after(tables: Tables, states: States, serving: Flags) -> PartitionStates:
    """Return what the states are worth with these brokers up; see `partition_risk.state_of`."""
    up = serving[tables.replicas]
    rows = np.arange(len(states.leader))
    has_leader = (states.leader >= 0) & up[rows, np.maximum(states.leader, 0)]
    has_living: Flags = np.any(up, axis=1)
    living = (states.isr & up).sum(axis=1)
    size = states.isr.sum(axis=1)
    is_whole = has_leader & (living == size)
    most = tables.is_used.sum(axis=1)
    is_unsure = np.where(size < most, ~tables.is_least_known, tables.is_limit_unknown)
    is_unknown = is_whole & is_unsure
    is_writable = (
        is_whole & ~is_unknown & (size >= np.where(tables.is_least_known, tables.least, most))
    )
    observers = tables.observers
    inside = states.isr & up
    missing = (tables.is_used & ~observers & ~tables.added & ~inside).sum(axis=1)
    # As for Kafka, a new replica in the ISR makes up for an original one outside.
    is_complete = missing <= (tables.added & ~observers & inside).sum(axis=1)
    severity = np.select(
        [
            ~has_leader,
            ~is_writable & ~is_unknown,
            is_complete,
            tables.is_least_known & (living == tables.least),
        ],
        [Severity.OFFLINE, Severity.UNDER_MIN_ISR, Severity.OK, Severity.AT_MIN_ISR],
        Severity.UNDER_REPLICATED,
    )
    return PartitionStates(
        leader=np.where(has_leader, states.leader, -1),
        isr=states.isr,
        elr=states.elr,
        is_writable=is_writable,
        is_unknown=is_unknown,
        severity=severity.astype(np.int32),
        observers_in_isr=(observers & states.isr).sum(axis=1).astype(np.int32),
        is_alone=(is_writable | is_unknown) & (size == 1),
        has_living=has_living,
        is_unclean=(states.lost_by >= 0) & has_living,
    )


def counts_of(
    before: PartitionStates, after: PartitionStates, *, has_majority: bool = True
) -> Counts:
    """Return the sums over partitions; see `outcome.count_outcomes`."""
    has_leader = after.leader >= 0
    by_severity = np.bincount(after.severity, minlength=len(Severity))
    lost = int(after.is_lost.sum())
    waiting = ~has_leader & after.has_living & ~after.is_unclean
    worst = int(after.severity.max(initial=0))
    return Counts(
        partitions=len(after.leader),
        offline=int((~has_leader).sum()),
        unwritable=int(after.is_unwritable.sum()),
        became_unwritable=int((~before.is_unwritable & after.is_unwritable).sum()),
        needs_unclean=int((~has_leader & after.has_living).sum()) if has_majority else 0,
        lost=lost,
        at_risk=lost + int(waiting.sum()),
        exposed=int((after.is_alone & ~after.is_unclean).sum()),
        leader_changes=int((has_leader & (after.leader != before.leader)).sum()),
        observers_in_isr=int(after.observers_in_isr.sum()),
        severities={one: int(by_severity[one]) for one in Severity},
        worst=Severity(worst),
        unknown=int(after.is_unknown.sum()),
    )
