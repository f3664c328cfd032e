"""Advice for a partition without a leader: wait for a complete replica, or elect one uncleanly. Pure.

The controller elects a replica of the ISR or ELR that returns. All else is an unclean election: it may lose
acknowledged records, so it is only advised, never automatic. Source: KIP-966.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from jobs.availability.promotion.actors.kinds import ActorKind
from jobs.availability.promotion.advice import (
    Advice,
    AdviceAction,
    AdviceCode,
    Candidate,
    DataAtRisk,
    PromotionFacts,
    ReplicaStanding,
    TopicPolicy,
)
from jobs.availability.promotion.candidates import how_far
from jobs.availability.promotion.expected_times import UNCLEAN_ELECTION_MS
from jobs.availability.what_if.model.cluster import PartitionModel

_UNKNOWN = 1 << 62


def advise_leaderless(
    start: Advice, partition: PartitionModel, facts: PromotionFacts, policy: TopicPolicy
) -> Advice:
    """Return what a person can do; nothing of it may be done automatically."""
    start = replace(start, action=AdviceAction.BLOCKED, is_automatic_allowed=False)
    if facts.has_quorum is False:
        return replace(
            start,
            code=AdviceCode.NO_QUORUM,
            why="There is no leader, and the KRaft quorum has no majority: no election is possible, not even "
            "an unclean one.",
            todo="Restore a majority of the voters first.",
        )
    complete = _complete(partition)
    back = [one for one in complete if one in facts.alive and one not in facts.standbys]
    if back:
        return replace(
            start,
            action=AdviceAction.NONE,
            code=AdviceCode.WAITS_FOR_ELECTION,
            why=f"There is no leader, but broker {back[0]} has every acknowledged record and is alive: the "
            "controller elects it as soon as it is unfenced.",
            todo=f"Check whether broker {back[0]} is fenced, and why.",
        )
    return _unclean(start, partition, facts, policy, complete)


def _complete(partition: PartitionModel) -> tuple[int, ...]:
    """Return the replicas that surely have every acked record: the ELR, the ISR, a lone last known leader."""
    last = partition.last_known_elr if len(partition.last_known_elr) == 1 else ()
    return tuple(dict.fromkeys((*partition.isr, *partition.elr, *last)))


def _unclean(
    start: Advice,
    partition: PartitionModel,
    facts: PromotionFacts,
    policy: TopicPolicy,
    complete: Sequence[int],
) -> Advice:
    first = _restore(complete)
    ranked = _ranked(partition, facts)
    if not ranked:
        return replace(
            start,
            code=AdviceCode.NO_LIVE_LEADER,
            why="There is no leader, and no replica is alive.",
            todo=first,
            data_at_risk=DataAtRisk(None, "No record is lost while a complete replica can return."),
        )
    best = ranked[0]
    is_standby = best.broker_id in facts.standbys and policy.actor is ActorKind.FENCED_STANDBY
    unfence = (
        " promote it first (a fenced broker cannot be elected: error 83), then"
        if is_standby
        else ""
    )
    which = f"--topic {partition.topic} --partition {partition.partition}"
    return replace(
        start,
        code=AdviceCode.NO_LIVE_LEADER,
        observer=best.broker_id,
        why="There is no leader: all in-sync replicas are down, and a promotion needs a live one. Best live "
        f"replica: broker {best.broker_id}, {best.why}.",
        todo=f"{first} Only if that is impossible:{unfence} elect broker {best.broker_id} uncleanly "
        f"(kafka-leader-election --election-type unclean {which}).",
        expected_ms=UNCLEAN_ELECTION_MS,
        data_at_risk=_at_risk(best),
        how_to_demote="An unclean election cannot be reverted: replicas that return truncate their logs to "
        "that of the new leader.",
        candidates=ranked,
    )


def _restore(complete: Sequence[int]) -> str:
    if not complete:
        return "Start a broker whose replica was in the ISR last."
    which = ", ".join(map(str, complete))
    return f"Start broker {which}: it has every acknowledged record."


def _ranked(partition: PartitionModel, facts: PromotionFacts) -> tuple[Candidate, ...]:
    """Return the replicas that are alive, the one with the most records first."""
    found = []
    for broker in partition.replicas:
        if broker in facts.alive:
            standing = facts.standings.get(broker, ReplicaStanding())
            role = (
                "an observer" if broker in partition.observers else "a sync replica outside the ISR"
            )
            why = f"{role}, {how_far(standing)}"
            found.append(Candidate(broker, facts.racks.get(broker), standing, why))
    return tuple(sorted(found, key=_fullest))


def _fullest(one: Candidate) -> tuple[int, int, int]:
    lag, age = one.standing.lag_records, one.standing.caught_up_ago_ms
    return (_UNKNOWN if lag is None else lag, _UNKNOWN if age is None else age, one.broker_id)


def _at_risk(best: Candidate) -> DataAtRisk:
    lag = best.standing.lag_records
    if lag is None:
        return DataAtRisk(
            None,
            f"Acknowledged records that broker {best.broker_id} does not have are lost; number unknown.",
        )
    if not lag:
        return DataAtRisk(
            0,
            f"Broker {best.broker_id} had every record at the last check; later ones are lost.",
        )
    return DataAtRisk(
        lag,
        f"Up to {lag:,} acknowledged records that broker {best.broker_id} does not have are lost.",
    )
