"""A partition followed step by step: which stretches a change ends and begins, the rule of every round."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from jobs.availability.status.partition_seen import PartitionSeen
from jobs.availability.status.severity import Severity, Standing


@dataclass(frozen=True, slots=True)
class IntervalStart:
    """When something began and why; see `PartitionSeen` for the fields."""

    at: datetime
    not_before: datetime | None = None
    cause: str = ""
    cause_broker: int | None = None
    offset: int | None = None


@dataclass(frozen=True, slots=True)
class PartitionTrack:
    """A partition and its current intervals.

    `since` is the start of its severity, `out` that of each replica's absence from the ISR.
    """

    seen: PartitionSeen
    standing: Standing
    since: IntervalStart
    out: Mapping[int, IntervalStart] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class TrackStep:
    """What a change came to.

    `track` is the partition afterwards. `ended` is the severity that it no longer has, with its beginning;
    None where it stayed. `left` and `joined` are replicas that went out of sync and came back (or are
    no longer replicas). `leaders` are (before, after) where the leader changed. `was_known` is false for the
    first that is heard of a partition.
    """

    track: PartitionTrack
    at: datetime
    ended: tuple[Severity, IntervalStart] | None = None
    left: tuple[int, ...] = ()
    joined: tuple[int, ...] = ()
    leaders: tuple[int | None, int | None] | None = None
    was_known: bool = True


def follow(before: PartitionTrack | None, seen: PartitionSeen) -> TrackStep:
    """Return what a partition's next state came to.

    A time that goes back (another controller's clock) counts as the beginning of what it ends.
    """
    standing = seen.standing
    if before is None:
        begun = beginning_of(seen, seen.at)
        out = dict.fromkeys(standing.missing, begun)
        return TrackStep(PartitionTrack(seen, standing, begun, out), seen.at, was_known=False)
    at = max(seen.at, before.since.at, *(one.at for one in before.out.values()))
    begun = beginning_of(seen, at)
    is_same = standing.severity == before.standing.severity
    out = {broker: before.out.get(broker, begun) for broker in standing.missing}
    return TrackStep(
        PartitionTrack(seen, standing, before.since if is_same else begun, out),
        at,
        None if is_same else (before.standing.severity, before.since),
        tuple(one for one in out if one not in before.out),
        tuple(one for one in before.out if one not in out),
        None if seen.leader == before.seen.leader else (before.seen.leader, seen.leader),
    )


def beginning_of(seen: PartitionSeen, at: datetime) -> IntervalStart:
    """Return what a change begins."""
    return IntervalStart(at, seen.not_before, seen.cause, seen.cause_broker, seen.offset)
