"""What the state of a partition means: writable or not, how bad, which records are at risk. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace

from jobs.availability.status.severity import (
    BEFORE_LIMIT,
    Moves,
    Severity,
    Standing,
    judge_partition,
)
from jobs.availability.what_if.election import SimulatedPartition
from jobs.availability.what_if.model.cluster import PartitionModel
from jobs.availability.what_if.outcome import (
    DataAtRisk,
    IsrState,
    PartitionOutcome,
    Promoter,
    RiskCode,
)


@dataclass(frozen=True, slots=True)
class BrokerLiveness:
    """What of the cluster matters at one moment. `serving`: brokers that are up, fenced standbys included."""

    serving: AbstractSet[int]
    has_majority: bool
    fenced: AbstractSet[int] = frozenset()
    has_elr: bool = False


def state_of(
    partition: PartitionModel,
    now: SimulatedPartition,
    serving: AbstractSet[int],
    observers: tuple[int, ...],
) -> IsrState:
    """Return what a partition is worth with these brokers up.

    A dead member that is still in the ISR (no majority of voters) stops the high watermark, so that
    writes with acks=all end in a timeout.
    """
    leader = now.leader if now.leader in serving else None
    living = [one for one in now.isr if one in serving]
    standing = judge_partition(
        leader=leader,
        replicas=partition.replicas,
        isr=living,
        min_insync_replicas=partition.min_insync_replicas,
        observers=observers,
        moves=Moves(partition.added, partition.removing),
        is_limited=partition.limits_min_isr,
    )
    is_frozen = leader is not None and len(living) < len(now.isr)
    return IsrState(
        leader=leader,
        isr=now.isr,
        elr=now.elr,
        last_known_elr=now.last_known_elr,
        observers_in_isr=tuple(one for one in observers if one in now.isr),
        is_writable=not is_frozen and _is_writable(partition, leader, len(living), standing),
        severity=max(standing.severity, Severity.UNDER_MIN_ISR) if is_frozen else standing.severity,
    )


def _is_writable(
    partition: PartitionModel, leader: int | None, living: int, standing: Standing
) -> bool | None:
    if partition.min_insync_replicas is None and leader is not None:
        return living >= len(partition.replicas) or None
    return None if standing.is_unsure else standing.is_writable


def outcome_of(
    partition: PartitionModel,
    before: IsrState,
    after: IsrState,
    now: SimulatedPartition,
    moment: BrokerLiveness,
    promoter: Promoter,
) -> PartitionOutcome:
    """Return the outcome of a step for one partition; `now` is what `after` was made of."""
    came = tuple(one for one in after.observers_in_isr if one not in before.isr)
    left = tuple(
        one for one in before.observers_in_isr if one not in after.isr and one in moment.serving
    )
    living = [one for one in partition.replicas if one in moment.serving]
    risk = data_at_risk(partition, after, now, moment, living)
    if partition.removing or partition.adding:
        sentence = " ".join([risk.sentence, *_reassignment(partition, moment.serving)])
        risk = replace(risk, sentence=sentence)
    return PartitionOutcome(
        topic=partition.topic,
        partition=partition.partition,
        before=before,
        after=after,
        data_at_risk=risk,
        needs_unclean=after.leader is None and moment.has_majority and bool(living),
        promoter=promoter,
        promoted=came,
        demoted=left,
        min_insync_replicas=partition.min_insync_replicas,
        condition=" ".join(_conditions(partition, after, moment, living)),
    )


def _conditions(
    partition: PartitionModel, after: IsrState, moment: BrokerLiveness, living: list[int]
) -> Iterator[str]:
    """Yield what depends on settings that are not known, for each value that matters."""
    if partition.asks_for_more and after.is_writable is not False:
        is_known = partition.limits_min_isr
        yield (
            f"min.insync.replicas {partition.min_insync_replicas} is more than the replicas: "
            f"{'writable' if is_known else 'unknown'}, {BEFORE_LIMIT}."
        )
    elif after.is_writable is None:
        size = len(after.isr)
        enough = "1" if size == 1 else f"{size} or less"
        yield (
            f"min.insync.replicas is unknown: writable if it is {enough}, not if it is {size + 1} or more."
        )
        if moment.has_elr or partition.policy is not None:
            yield "ELR and promotions are as with 1."
    if partition.adding is None and partition.added:
        yield (
            f"Unknown whether a reassignment adds broker {_ids(partition.added)}: replicas outside the ISR "
            "count as added."
        )
    ready = [one for one in living if one not in moment.fenced]
    is_open = partition.is_unclean_allowed is None and after.leader is None
    if is_open and ready and moment.has_majority:
        yield (
            "unclean.leader.election.enable is not known: no leader if it is false; if it is true, broker "
            f"{ready[0]} is elected uncleanly, and the records that it lacks are lost."
        )


def _reassignment(partition: PartitionModel, serving: AbstractSet[int]) -> Iterator[str]:
    """Yield what the loss of replicas means that come or go with a reassignment."""
    new = [one for one in partition.added if one not in partition.isr and one not in serving]
    old = [one for one in partition.removing if one not in serving]
    if new:
        yield f"A reassignment adds broker {_ids(new)}: it does not end without it."
    if old:
        end = "" if new else ", and ends without it"
        yield f"A reassignment only removes broker {_ids(old)}{end}."


def data_at_risk(
    partition: PartitionModel,
    after: IsrState,
    now: SimulatedPartition,
    moment: BrokerLiveness,
    living: list[int],
) -> DataAtRisk:
    """Return what happens to records that were acknowledged with acks=all."""
    if now.lost_by is not None and living:
        return _unclean(partition, now.lost_by, is_last_known=now.is_last_known)
    if after.leader is not None:
        return _led(after)
    if not living:
        return DataAtRisk(
            RiskCode.LOST,
            f"No broker with a replica is alive: all records are lost unless the disk of one of "
            f"{_ids(partition.replicas)} returns.",
        )
    if not moment.has_majority:
        return DataAtRisk(
            RiskCode.WAITING,
            "No leader until the quorum has a majority; no record is lost.",
        )
    return _waiting(partition, now, moment, living)


def _unclean(partition: PartitionModel, leader: int, *, is_last_known: bool) -> DataAtRisk:
    if is_last_known:
        return DataAtRisk(
            RiskCode.UNCLEAN,
            f"Broker {leader} led last and came back after a crash, as did all that were in sync: what its "
            "disk had not got is gone.",
        )
    lag = partition.lag_records.get(leader)
    gone = (
        "what it did not have is gone"
        if lag is None
        else f"{lag:,} records that it lacked are lost"
    )
    return DataAtRisk(RiskCode.UNCLEAN, f"Broker {leader} was elected uncleanly: {gone}.", lag)


def _led(after: IsrState) -> DataAtRisk:
    if after.is_writable is not False and len(after.isr) == 1:
        return DataAtRisk(
            RiskCode.EXPOSED,
            f"Only broker {after.isr[0]} has new records: its loss loses them.",
        )
    return DataAtRisk(RiskCode.NONE, "Every acknowledged record is on the replicas in the ISR.")


def _waiting(
    partition: PartitionModel, now: SimulatedPartition, moment: BrokerLiveness, living: list[int]
) -> DataAtRisk:
    """Return the risk of a partition that has living replicas, none of which may lead."""
    complete = _ids(now.elr or now.isr or now.last_known_elr)
    ready = [one for one in living if one not in moment.fenced]
    candidate = (ready or living)[0]
    lag = partition.lag_records.get(candidate)
    loses = "the records that it lacks" if lag is None else f"{lag:,} records"
    first = "" if ready else f"unfence standby broker {candidate}, then "
    return DataAtRisk(
        RiskCode.WAITING,
        f"No record is lost if broker {complete} returns; else {first}an unclean election of broker "
        f"{candidate} loses {loses}.",
        lag,
    )


def _ids(ids: Iterable[int]) -> str:
    return " or ".join(map(str, ids)) or "of the ISR"
