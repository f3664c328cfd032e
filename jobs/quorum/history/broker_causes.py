"""Which broker's event made partitions change: read from the neighbours of the same batch.

Kafka's `ReplicationControlManager` and `ClusterControlManager` write, in one batch: the partition changes and
*then* the record that fences, unregisters or registers a broker again or loses its log directory; but *first*
the record that unfences a broker or begins its controlled shutdown, and then the partition changes. One batch
may hold several such events, so a change belongs to the nearest one that fits it: a broker that the partition
lost, or the one that it got as its leader.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from jobs.quorum.history.changes import AnyChange, BrokerChange, Cause, Election, PartitionChange
from jobs.quorum.image.partition_registration import NO_LEADER

# This record follows the partition changes it causes; the others precede them.
_BEHIND = frozenset(
    {
        Cause.BROKER_FENCED,
        Cause.BROKER_UNREGISTERED,
        Cause.BROKER_RESTARTED,
        Cause.LOG_DIR_FAILED,
    }
)
# What a record shows of itself and no broker's event explains better.
_OF_ITSELF = frozenset(
    {
        Cause.TOPIC_CREATED,
        Cause.TOPIC_DELETED,
        Cause.PARTITIONS_ADDED,
        Cause.PARTITION_REPLACED,
        Cause.REASSIGNMENT_STARTED,
        Cause.REASSIGNMENT_CANCELLED,
        Cause.ELR_CLEARED,
        Cause.ISR_EXPAND,
        Cause.LEADER_RECOVERED,
        Cause.DIRECTORIES_ASSIGNED,
        Cause.SNAPSHOT,
        Cause.BETWEEN,
    }
)
# A shutdown's own changes stay its own, even where the fence follows in the same batch.
_ANSWERED = _OF_ITSELF | {Cause.CONTROLLED_SHUTDOWN, Cause.BROKER_UNFENCED}
_EVENTS = _ANSWERED | _BEHIND


def attribute(changes: Sequence[AnyChange], leaving: Collection[int] = ()) -> list[AnyChange]:
    """Return the changes of one batch (or transaction), partitions with the broker's event behind them.

    `leaving` are the brokers whose controlled shutdown an earlier batch began: it may take several.
    """
    if not leaving and not any(isinstance(one, BrokerChange) for one in changes):
        return list(changes)
    return [_still_leaving(one, leaving) for one in _with_later(_with_earlier(changes))]


def _with_earlier(changes: Sequence[AnyChange]) -> list[AnyChange]:
    """Read forwards: what a broker that was just unfenced, or began to shut down, brought."""
    unfenced: set[int] = set()
    leaving: set[int] = set()
    found: list[AnyChange] = []
    for change in changes:
        if isinstance(change, BrokerChange):
            if change.cause is Cause.BROKER_UNFENCED:
                unfenced.add(change.broker_id)
            elif change.cause is Cause.CONTROLLED_SHUTDOWN:
                leaving.add(change.broker_id)
        found.append(_by_earlier(change, unfenced, leaving))
    return found


def _by_earlier(change: AnyChange, unfenced: set[int], leaving: set[int]) -> AnyChange:
    if not isinstance(change, PartitionChange) or change.cause in _OF_ITSELF:
        return change
    lost = lost_brokers(change) & leaving
    if lost:
        return _because_of(change, Cause.CONTROLLED_SHUTDOWN, min(lost))
    if change.previous_leader == NO_LEADER and change.leader in unfenced:
        return _because_of(change, Cause.BROKER_UNFENCED, change.leader)
    return change


def _with_later(changes: Sequence[AnyChange]) -> list[AnyChange]:
    """Read backwards: what a broker that is gone by the end of the batch left behind."""
    gone: dict[int, Cause] = {}
    found: list[AnyChange] = []
    for change in reversed(changes):
        if isinstance(change, BrokerChange):
            if change.cause in _BEHIND:
                gone[change.broker_id] = change.cause
            else:
                # Changes before it belong to an earlier epoch of this broker.
                gone.pop(change.broker_id, None)
        found.append(_by_later(change, gone))
    found.reverse()
    return found


def _by_later(change: AnyChange, gone: dict[int, Cause]) -> AnyChange:
    if not isinstance(change, PartitionChange) or change.cause in _ANSWERED:
        return change
    lost = [one for one in lost_brokers(change) if one in gone]
    if not lost:
        return change
    # Of several, the leader that went is the one that people ask for.
    leader = change.previous_leader
    broker = leader if leader is not None and leader in lost else min(lost)
    return _because_of(change, gone[broker], broker)


def lost_brokers(change: PartitionChange) -> set[int]:
    """Return the brokers that are no longer the leader, in sync or eligible, and were before."""
    lost = set(change.left_isr) | (set(change.previous_elr or ()) - set(change.elr))
    lost -= {*change.isr, change.leader}
    leader = NO_LEADER if change.previous_leader is None else change.previous_leader
    # Without ELR the last in-sync replica stays in the ISR when it goes: only the leader is gone then.
    if leader != NO_LEADER == change.leader:
        lost.add(leader)
    return lost


def _still_leaving(change: AnyChange, leaving: Collection[int]) -> AnyChange:
    if not isinstance(change, PartitionChange) or change.cause in _EVENTS:
        return change
    lost = [one for one in lost_brokers(change) if one in leaving]
    return _because_of(change, Cause.CONTROLLED_SHUTDOWN, min(lost)) if lost else change


def _because_of(change: PartitionChange, cause: Cause, broker: int) -> PartitionChange:
    """Return the change with its cause; a preferred replica was not elected for being that."""
    election = change.election
    if election is Election.PREFERRED:
        election = Election.IN_SYNC
    return replace(change, cause=cause, cause_broker=broker, election=election)
