"""What the controller and the leaders make of a partition when brokers come and go. Pure.

The rules of Kafka 4.3's `PartitionChangeBuilder` and `ReplicationControlManager` (KIP-966 for the ELR), and
those of brokers that know observers. Lists stand in the order of the replicas.
"""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace

from jobs.availability.placements.placement import PromotionPolicy
from jobs.availability.status import severity
from jobs.availability.what_if.model.cluster import PartitionModel


@dataclass(frozen=True, slots=True)
class SimulatedPartition:
    """A partition in the metadata, and the state of its replicas.

    `lagging`: replicas that live and do not join the ISR. `lost_by`: the leader of an unclean election that
    was made, None when none was; `is_last_known` says that it was the last leader before all crashed. These
    are not in the metadata.
    """

    leader: int | None
    isr: tuple[int, ...]
    elr: tuple[int, ...]
    last_known_elr: tuple[int, ...]
    lagging: frozenset[int] = frozenset()
    lost_by: int | None = None
    is_last_known: bool = False


@dataclass(frozen=True, slots=True)
class PartitionContext:
    """What a partition's rules need to know of the cluster.

    `acceptable`: brokers that live and are not fenced. `restarted`: those that came back after a crash and
    register again. `observers`: replicas that brokers keep out of the ISR. `is_unclean_asked`: somebody asks
    for an unclean election now.
    """

    acceptable: frozenset[int]
    has_elr: bool
    restarted: AbstractSet[int] = frozenset()
    observers: tuple[int, ...] = ()
    is_unclean_asked: bool = False


def effective_min_isr(partition: PartitionModel) -> int:
    """Return how many must be in sync, see `severity.effective_min_isr`.

    Where it is not known, 1: that leaves the fewest in the ELR.
    """
    is_limited = partition.limits_min_isr is not False
    least, held = partition.min_insync_replicas or 1, len(partition.replicas)
    return severity.effective_min_isr(least, held, is_limited=is_limited) or 1


def wanted_in_sync(partition: PartitionModel, observers: Sequence[int]) -> int:
    """Return how many sync replicas the partition should have in its ISR: those before a reassignment."""
    if partition.added or partition.removing:
        return len([b for b in partition.replicas if b not in (*partition.added, *observers)])
    if partition.sync_count is not None and set(observers) == set(partition.observers):
        return partition.sync_count
    return len(partition.replicas) - len(observers)


def first_state(partition: PartitionModel) -> SimulatedPartition:
    """Return a partition as its model says; replicas out of the ISR that are no observers lag."""
    inside = [one for one in partition.replicas if one in partition.isr]
    return SimulatedPartition(
        leader=partition.leader if partition.leader in partition.replicas else None,
        isr=tuple(inside),
        elr=_in_order(partition, partition.elr),
        last_known_elr=partition.last_known_elr,
    )


def first_lagging(
    partition: PartitionModel, observers: Sequence[int], living: AbstractSet[int]
) -> frozenset[int]:
    """Return who lives and does not join the ISR by itself: told so, or out of it though no observer."""
    outside = {
        one
        for one in partition.replicas
        if one in living and one not in partition.isr and one not in observers
    }
    return frozenset(outside.union(partition.lagging))


def settle(
    partition: PartitionModel, now: SimulatedPartition, context: PartitionContext
) -> SimulatedPartition:
    """Return the partition when all that follows by itself has happened; `now` itself if nothing does."""
    if _is_at_rest(partition, now, context):
        return now
    was = now
    now = _elect(partition, _shrink(partition, now, context), context)
    if now.leader is not None:
        isr = _joined(partition, now, context)
        isr = _with_observers(partition, now, isr, context)
        elr = _elr_after(partition, now, isr, context)
        now = replace(now, isr=_in_order(partition, isr), elr=elr)
    is_written = (now.leader, now.isr) != (was.leader, was.isr)
    return replace(now, elr=()) if is_written and not context.has_elr else now


def _is_at_rest(
    partition: PartitionModel, now: SimulatedPartition, context: PartitionContext
) -> bool:
    """Return whether plainly nothing follows: a living leader and ISR, no replica to join, none eligible."""
    if context.observers or now.elr or now.last_known_elr or now.leader not in now.isr:
        return False
    if not context.acceptable.issuperset(now.isr) or not context.restarted.isdisjoint(now.isr):
        return False
    return not any(
        one in context.acceptable and one not in now.isr and one not in now.lagging
        for one in partition.replicas
    )


def _shrink(
    partition: PartitionModel, now: SimulatedPartition, context: PartitionContext
) -> SimulatedPartition:
    """Take fenced brokers out, one after the other; without ELR the last member stays in the ISR.

    The last known leader is written when the partition loses its leader, unless there is one already.
    Which of several is fenced last is chance: the order of the replicas is taken.
    """
    least = effective_min_isr(partition)
    isr, elr, last_known = list(now.isr), set(now.elr), now.last_known_elr
    restarted = context.restarted if context.has_elr else frozenset()
    for one in now.isr:
        if one in context.acceptable and one not in restarted:
            continue
        if not context.has_elr:
            isr = isr if len(isr) == 1 else [other for other in isr if other != one]
            continue
        isr.remove(one)
        elr = set() if len(isr) >= least else elr | {one}
        if not isr and now.leader is not None:
            last_known = last_known or (one,)
    elr -= set(restarted)
    return replace(now, isr=tuple(isr), elr=_in_order(partition, elr), last_known_elr=last_known)


def _elect(
    partition: PartitionModel, now: SimulatedPartition, context: PartitionContext
) -> SimulatedPartition:
    """Elect from the ISR, else the ELR, else the last known leader, else uncleanly where that is allowed.

    Entries of the ELR are eligible also when it is off (`PartitionChangeBuilder.isValidNewLeader`).
    """
    candidates = now.isr or now.elr
    valid = [one for one in candidates if one in context.acceptable]
    if now.leader in valid:
        return now
    if valid:
        leader = valid[0]
        if now.isr:
            return _led(now, leader, context)
        elr = tuple(one for one in now.elr if one != leader)
        return replace(_led(now, leader, context), isr=(leader,), elr=elr)
    return _elect_uncleanly(partition, now, context)


def _led(now: SimulatedPartition, leader: int, context: PartitionContext) -> SimulatedPartition:
    """Return a partition with a new leader: where there was none, the others follow it again."""
    lagging = now.lagging if now.leader is not None else frozenset()
    last_known = () if context.has_elr else now.last_known_elr
    return replace(now, leader=leader, lagging=lagging, last_known_elr=last_known)


def _elect_uncleanly(
    partition: PartitionModel, now: SimulatedPartition, context: PartitionContext
) -> SimulatedPartition:
    """Return the partition led by its last known leader, or by the first living replica where that may be."""
    ready = [one for one in partition.replicas if one in context.acceptable]
    last = now.last_known_elr if context.has_elr and not (now.isr or now.elr) else ()
    is_last_known = len(last) == 1 and last[0] in ready
    if is_last_known:
        leader = last[0]
    elif ready and (partition.is_unclean_allowed or context.is_unclean_asked):
        leader = ready[0]
    else:
        return replace(now, leader=None)
    last = () if context.has_elr else now.last_known_elr
    return SimulatedPartition(
        leader, (leader,), (), last, lost_by=leader, is_last_known=is_last_known
    )


def _joined(
    partition: PartitionModel, now: SimulatedPartition, context: PartitionContext
) -> set[int]:
    """Return the ISR with all that catch up; what a reassignment adds is copied first."""
    return set(now.isr) | {
        one
        for one in partition.replicas
        if one in context.acceptable
        and one not in now.lagging
        and one not in context.observers
        and one not in partition.added
    }


def _with_observers(
    partition: PartitionModel, now: SimulatedPartition, isr: set[int], context: PartitionContext
) -> set[int]:
    """Promote and demote as the policy says, where brokers do it by themselves."""
    if not context.observers or partition.policy is None:
        return isr
    kept = wanted_observers(partition, now, isr, context.observers, context.acceptable)
    return (isr - set(context.observers)) | set(kept)


def wanted_observers(
    partition: PartitionModel,
    now: SimulatedPartition,
    isr: set[int] | frozenset[int],
    observers: Sequence[int],
    able: AbstractSet[int],
) -> tuple[int, ...]:
    """Return the observers that belong into this ISR by the policy; the leader stays in any case.

    Those that are in it stay before others come. Which of several comes is no rule; Confluent's tutorial
    shows the last of the list, so that is taken, among those that lag least where that is known.
    """
    sync = len(isr.difference(observers))
    missing = observer_target(partition, now.leader, observers) - sync
    inside = [one for one in observers if one in isr and one != now.leader]
    outside = [
        one
        for one in reversed(observers)
        if one in able and one not in isr and one not in now.lagging
    ]
    outside.sort(key=lambda one: partition.lag_records.get(one, 0))
    first = [one for one in observers if one == now.leader]
    return tuple([*first, *inside, *outside][: max(missing, len(first))])


def observer_target(partition: PartitionModel, leader: int | None, observers: Sequence[int]) -> int:
    """Return up to which size of the ISR the policy promotes observers; 0: none.

    `leader-is-observer` promotes as many as should be in sync: the tutorial's cases with
    min.insync.replicas 1 have two.
    """
    if partition.policy is PromotionPolicy.UNDER_MIN_ISR:
        return effective_min_isr(partition)
    wanted = wanted_in_sync(partition, observers)
    if partition.policy is PromotionPolicy.UNDER_REPLICATED:
        return wanted
    is_after_unclean = partition.policy is not None and leader in observers
    return max(effective_min_isr(partition), wanted) if is_after_unclean else 0


def _elr_after(
    partition: PartitionModel, now: SimulatedPartition, isr: set[int], context: PartitionContext
) -> tuple[int, ...]:
    if not context.has_elr:
        return now.elr
    if len(isr) >= effective_min_isr(partition):
        return ()
    return _in_order(partition, {*now.elr, *now.isr} - isr)


def elect_preferred(
    partition: PartitionModel, now: SimulatedPartition, context: PartitionContext
) -> SimulatedPartition:
    """Return the partition led by its first replica, where that is in the ISR."""
    first = partition.replicas[0]
    if now.leader is None or first not in now.isr or first not in context.acceptable:
        return now
    return replace(now, leader=first)


def _in_order(partition: PartitionModel, ids: AbstractSet[int] | Sequence[int]) -> tuple[int, ...]:
    return tuple(one for one in partition.replicas if one in ids)
