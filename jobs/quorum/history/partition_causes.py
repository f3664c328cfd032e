"""Why a partition changed, from the record alone, by what was there before and after; and in words."""

from __future__ import annotations

from typing import NamedTuple

from jobs.quorum.history.changes import Cause, Election, PartitionChange
from jobs.quorum.image.partition_registration import (
    NO_LEADER,
    RECOVERED,
    RECOVERING,
    PartitionRegistration,
)


class PartitionCause(NamedTuple):
    """What a record says of its cause; see `PartitionChange` for the fields."""

    cause: Cause
    cause_broker: int | None
    election: Election | None
    leader_was_outside: bool
    began_recovering: bool


_ELECTION_CAUSES = {
    Election.NO_LEADER: Cause.LEADER_LOST,
    Election.UNCLEAN: Cause.UNCLEAN_ELECTION,
    Election.ELIGIBLE_LEADER_REPLICA: Cause.ELR_ELECTION,
    Election.PREFERRED: Cause.PREFERRED_ELECTION,
    Election.IN_SYNC: Cause.LEADER_ELECTION,
}


def cause_of_change(before: PartitionRegistration, after: PartitionRegistration) -> PartitionCause:
    """Return the cause that a PartitionChangeRecord shows by itself.

    A reassignment comes first, then an election, then what the leader asked for (AlterPartition).
    """
    outside = leader_was_outside(before, after)
    recovering = after.recovery_state == RECOVERING != before.recovery_state
    election = _election(before, after, is_unclean=outside or recovering)
    moved = _reassignment(before, after)
    if moved is not None:
        return PartitionCause(moved, None, election, outside, recovering)
    if election is not None:
        return PartitionCause(_ELECTION_CAUSES[election], None, election, outside, recovering)
    cause, broker = _asked_by_leader(before, after)
    return PartitionCause(cause, broker, None, outside, recovering)


def leader_was_outside(before: PartitionRegistration, after: PartitionRegistration) -> bool:
    """Whether the new leader was neither in sync nor eligible: the first sign of an unclean election."""
    return after.leader not in {before.leader, NO_LEADER} and (
        after.leader not in before.isr and after.leader not in before.elr
    )


def _election(
    before: PartitionRegistration, after: PartitionRegistration, *, is_unclean: bool
) -> Election | None:
    if is_unclean:
        return Election.UNCLEAN
    if after.leader == before.leader:
        return None
    if after.leader == NO_LEADER:
        return Election.NO_LEADER
    if after.leader not in before.isr:
        return Election.ELIGIBLE_LEADER_REPLICA
    had_choice = before.leader != NO_LEADER and before.leader in after.isr
    if after.leader == after.preferred_leader and had_choice:
        return Election.PREFERRED
    return Election.IN_SYNC


def _reassignment(before: PartitionRegistration, after: PartitionRegistration) -> Cause | None:
    """Return what happened to a reassignment: the target is known from the replicas before."""
    if after.is_reassigning:
        if not before.is_reassigning:
            return Cause.REASSIGNMENT_STARTED
        same = (before.adding, before.removing) == (after.adding, after.removing)
        return None if same and before.replicas == after.replicas else Cause.REASSIGNMENT_CHANGED
    if not before.is_reassigning:
        # A set of replicas that needs no new copy is taken over with a single record.
        return None if before.replicas == after.replicas else Cause.REASSIGNMENT_COMPLETED
    original = set(before.replicas) - set(before.adding)
    wanted = set(before.replicas) - set(before.removing)
    is_back = set(after.replicas) == original != wanted
    return Cause.REASSIGNMENT_CANCELLED if is_back else Cause.REASSIGNMENT_COMPLETED


def _asked_by_leader(
    before: PartitionRegistration, after: PartitionRegistration
) -> tuple[Cause, int | None]:
    left = [one for one in before.isr if one not in after.isr]
    joined = [one for one in after.isr if one not in before.isr]
    if left or joined:
        return _isr_change(left, joined)
    if before.recovery_state != after.recovery_state == RECOVERED:
        return Cause.LEADER_RECOVERED, after.leader
    if (before.elr, before.last_known_elr) != (after.elr, after.last_known_elr):
        return Cause.ELR_CHANGED, None
    if before.directories != after.directories:
        return Cause.DIRECTORIES_ASSIGNED, None
    if before.leader_epoch != after.leader_epoch:
        return Cause.LEADER_EPOCH_BUMPED, None
    return Cause.NOTHING, None


def _isr_change(left: list[int], joined: list[int]) -> tuple[Cause, int | None]:
    if left and joined:
        return Cause.ISR_CHANGED, None
    ones = left or joined
    return Cause.ISR_SHRINK if left else Cause.ISR_EXPAND, ones[0] if len(ones) == 1 else None


# What the broker of `cause_broker` did; {} is its id.
_OF_BROKER = {
    Cause.BROKER_FENCED: "broker {} was fenced",
    Cause.BROKER_UNFENCED: "broker {} was unfenced",
    Cause.CONTROLLED_SHUTDOWN: "controlled shutdown of broker {}",
    Cause.BROKER_UNREGISTERED: "broker {} was unregistered",
    Cause.BROKER_RESTARTED: "broker {} came back as a new incarnation",
    Cause.LOG_DIR_FAILED: "broker {} lost a log directory",
    Cause.ISR_SHRINK: "broker {} fell behind",
    Cause.ISR_EXPAND: "broker {} caught up",
    Cause.LEADER_RECOVERED: "leader {} recovered",
}
_WORDS = {
    Cause.ISR_SHRINK: "followers fell behind",
    Cause.ISR_EXPAND: "followers caught up",
    Cause.ISR_CHANGED: "one follower fell behind, another caught up",
    Cause.PREFERRED_ELECTION: "preferred leader elected",
    Cause.LEADER_ELECTION: "leader elected",
    Cause.ELR_ELECTION: "eligible leader replica elected",
    Cause.UNCLEAN_ELECTION: "unclean leader election",
    Cause.LEADER_LOST: "leader lost",
    Cause.LEADER_EPOCH_BUMPED: "leader epoch raised",
    Cause.ELR_CHANGED: "eligible leader replicas changed",
    Cause.ELR_CLEARED: "eligible leader replicas cleared",
    Cause.DIRECTORIES_ASSIGNED: "log directories assigned",
    Cause.PARTITION_REPLACED: "registered again",
    Cause.SNAPSHOT: "known from a snapshot",
    Cause.BETWEEN: "changed between what was known and a snapshot",
    Cause.NOTHING: "nothing changed",
}
_ELECTIONS = {
    Election.UNCLEAN: "unclean election",
    Election.ELIGIBLE_LEADER_REPLICA: "an eligible leader replica leads",
    Election.NO_LEADER: "no leader",
}
_SAYS_ELECTION = frozenset(
    {Cause.UNCLEAN_ELECTION, Cause.ELR_ELECTION, Cause.LEADER_LOST, Cause.SNAPSHOT, Cause.BETWEEN}
)


def cause_words(change: PartitionChange) -> str:
    """Return why a partition changed, with the broker, and how it came by its leader where that matters."""
    text = word_of(change.cause, change.cause_broker)
    election = None if change.election is None else _ELECTIONS.get(change.election)
    if election is None or change.cause in _SAYS_ELECTION:
        return text
    return f"{text}: {election}"


def word_of(cause: Cause, broker: int | None = None) -> str:
    if broker is not None and cause in _OF_BROKER:
        return _OF_BROKER[cause].format(broker)
    return _WORDS.get(cause, cause.value.replace("_", " "))
