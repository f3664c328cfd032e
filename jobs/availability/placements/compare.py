"""Mismatches between the replicas of a partition and its placement. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from jobs.availability.placements.placement import Placement, observers_of
from jobs.availability.what_if.model.cluster import PartitionModel


class ViolationCode(StrEnum):
    """What differs; the first four are about replicas, the others about the ISR and the leader now."""

    RACK_MISSING = "rack-missing"
    WRONG_COUNT = "wrong-count"
    UNKNOWN_REPLICA = "unknown-replica"
    OBSERVER_IN_WRONG_RACK = "observer-in-wrong-rack"
    LEADER_IS_OBSERVER = "leader-is-observer"
    OBSERVER_IN_ISR = "observer-in-isr"
    ISR_IN_ONE_RACK = "isr-in-one-rack"
    UNDER_REPLICATED = "under-replicated"


@dataclass(frozen=True, slots=True)
class Violation:
    """One difference: a word for programs, a sentence for people, the brokers it is about."""

    code: ViolationCode
    sentence: str
    brokers: tuple[int, ...] = ()


def compare_placement(
    placement: Placement, partition: PartitionModel, racks: Mapping[int, str | None]
) -> tuple[Violation, ...]:
    """Return the mismatches of one partition; empty when it matches its placement.

    `partition.observers` are the observers that the brokers know (or that stand on standby brokers); where
    there are none, the placement's own roles are taken, and only racks and counts can be wrong. While a
    reassignment is in progress, racks and counts are those of the replicas that it leads to.
    """
    observers = _observers(placement, partition, racks)
    return (
        *_rack_violations(placement, partition.target, observers, racks),
        *_strangers(placement, partition.target, observers, racks),
        *_violations_now(placement, partition, observers, racks),
    )


def _observers(
    placement: Placement, partition: PartitionModel, racks: Mapping[int, str | None]
) -> tuple[int, ...]:
    if partition.observers or not placement.observers:
        return partition.observers
    return observers_of(placement, partition.replicas, racks, partition.added, partition.removing)


def _rack_violations(
    placement: Placement,
    replicas: Sequence[int],
    observers: Sequence[int],
    racks: Mapping[int, str | None],
) -> Iterator[Violation]:
    known = set(racks.values())
    for rack in placement.racks:
        here = [one for one in replicas if racks.get(one) == rack]
        wanted = placement.wanted(rack)
        found = (
            len([one for one in here if one not in observers]),
            len([one for one in here if one in observers]),
        )
        if rack not in known:
            sentence = f"{_both(wanted)} required in rack {rack}, which has no broker."
            yield Violation(ViolationCode.RACK_MISSING, sentence)
        elif found != wanted:
            sentence = f"Rack {rack} has {_both(found)}; required: {_both(wanted)}."
            yield Violation(ViolationCode.WRONG_COUNT, sentence, tuple(here))


def _both(counts: tuple[int, int]) -> str:
    replicas, observers = counts
    words = [f"{replicas} replica{'s' * (replicas != 1)}"] if replicas or not observers else []
    if observers:
        words.append(f"{observers} observer{'s' * (observers != 1)}")
    return " and ".join(words)


def _strangers(
    placement: Placement,
    replicas: Sequence[int],
    observers: Sequence[int],
    racks: Mapping[int, str | None],
) -> Iterator[Violation]:
    for one in replicas:
        rack = racks.get(one)
        sync, waiting = placement.wanted(rack)
        if not sync + waiting:
            where = f"in rack {rack}" if rack else "in no rack"
            yield Violation(
                ViolationCode.UNKNOWN_REPLICA,
                f"The replica on broker {one} is {where}, which is not in the placement.",
                (one,),
            )
        elif one in observers and not waiting:
            yield Violation(
                ViolationCode.OBSERVER_IN_WRONG_RACK,
                f"Broker {one} in rack {rack} is an observer; the placement has none in this rack.",
                (one,),
            )


def _violations_now(
    placement: Placement,
    partition: PartitionModel,
    observers: Sequence[int],
    racks: Mapping[int, str | None],
) -> Iterator[Violation]:
    if partition.leader in observers and partition.leader is not None:
        sentence = f"Broker {partition.leader} is leader and an observer: run a preferred election."
        yield Violation(ViolationCode.LEADER_IS_OBSERVER, sentence, (partition.leader,))
    inside = tuple(one for one in partition.isr if one in observers)
    if inside:
        sentence = f"Promoted observers in the ISR: {_ids(inside)}."
        yield Violation(ViolationCode.OBSERVER_IN_ISR, sentence, inside)
    yield from _one_rack(placement, partition, racks)
    inside_sync = [one for one in partition.isr if one not in observers]
    coming = [one for one in partition.added if one not in (*partition.isr, *observers)]
    missing = max(0, placement.sync_count - len(inside_sync) - len(coming))
    if missing:
        inside = (*partition.isr, *observers, *coming)
        out = [one for one in partition.replicas if one not in inside]
        which = f": {_ids(out)}" if out else ""
        sentence = f"{missing} of {placement.sync_count} sync replicas are not in the ISR{which}."
        yield Violation(ViolationCode.UNDER_REPLICATED, sentence, tuple(out))


def _one_rack(
    placement: Placement, partition: PartitionModel, racks: Mapping[int, str | None]
) -> Iterator[Violation]:
    """Yield an ISR that one rack holds alone, where the placement wants sync replicas in several."""
    here = {racks.get(one) for one in partition.isr}
    if len(placement.replicas) > 1 and len(here) == 1:
        rack = here.pop()
        where = f"rack {rack}" if rack else "brokers without a rack"
        yield Violation(
            ViolationCode.ISR_IN_ONE_RACK,
            f"The whole ISR ({_ids(partition.isr)}) is in {where}: its loss leaves no leader, and no "
            "second copy of the newest records.",
            tuple(partition.isr),
        )


def _ids(brokers: Iterable[int]) -> str:
    return ", ".join(map(str, brokers))
