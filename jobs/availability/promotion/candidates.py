"""Which observer is the best to promote: caught up, in a rack without an in-sync replica, least lag. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from jobs.availability.promotion.actors.kinds import ActorKind
from jobs.availability.promotion.advice import (
    Candidate,
    PromotionFacts,
    ReplicaStanding,
    TopicPolicy,
)
from jobs.availability.what_if.model.cluster import PartitionModel

# A replica with unknown lag comes after every one with a known lag.
_UNKNOWN = 1 << 62


def candidates(
    partition: PartitionModel, facts: PromotionFacts, policy: TopicPolicy
) -> tuple[Candidate, ...]:
    """Return the candidates, the best first; excluded ones (with a `why_not`) are at the end.

    The actor that reassigns takes spares, all others observers that are not in the ISR.
    """
    found = [_candidate(one, partition, facts, policy) for one in _who(partition, facts, policy)]
    in_isr = {facts.racks.get(one) for one in partition.isr}

    def order(one: Candidate) -> tuple[bool, bool, int, int, int]:
        lag, age = one.standing.lag_records, one.standing.caught_up_ago_ms
        return (
            bool(one.why_not),
            one.rack is None or one.rack in in_isr,
            _UNKNOWN if lag is None else lag,
            _UNKNOWN if age is None else age,
            one.broker_id,
        )

    return tuple(sorted(found, key=order))


def _who(partition: PartitionModel, facts: PromotionFacts, policy: TopicPolicy) -> Iterator[int]:
    if policy.actor is ActorKind.REASSIGN_TO_SPARE:
        yield from (one for one in facts.spares if one not in partition.replicas)
    else:
        yield from (one for one in partition.observers if one not in partition.isr)


def _candidate(
    broker: int, partition: PartitionModel, facts: PromotionFacts, policy: TopicPolicy
) -> Candidate:
    rack = facts.racks.get(broker)
    standing = facts.standings.get(broker, ReplicaStanding())
    return Candidate(
        broker,
        rack,
        standing,
        why=_why(rack, partition, facts, standing),
        why_not=_why_not(broker, facts, policy, standing),
    )


def _why(
    rack: str | None,
    partition: PartitionModel,
    facts: PromotionFacts,
    standing: ReplicaStanding,
) -> str:
    where = "rack unknown" if rack is None else f"rack {rack}"
    if rack is not None:
        has = any(facts.racks.get(one) == rack for one in partition.isr)
        where += " has an ISR member already" if has else " has no ISR member"
    return f"{where}, {how_far(standing)}"


def how_far(standing: ReplicaStanding) -> str:
    """Return the lag of a replica as text."""
    if standing.lag_records is not None:
        return f"lag {standing.lag_records:,} records"
    if standing.caught_up_ago_ms is not None:
        return f"last caught up {standing.caught_up_ago_ms / 1000:.1f} s ago"
    return "lag unknown"


def _why_not(
    broker: int, facts: PromotionFacts, policy: TopicPolicy, standing: ReplicaStanding
) -> str:
    if broker not in facts.alive:
        return f"Broker {broker} is not alive."
    if policy.actor is not ActorKind.FENCED_STANDBY:
        # A held-back replica lags on purpose, and a spare starts without records.
        return ""
    if broker not in facts.standbys:
        return f"Broker {broker} is not a fenced standby broker: crosslog cannot unfence it."
    return "" if is_caught_up(standing, policy) else f"Broker {broker}: {how_far(standing)}."


def is_caught_up(standing: ReplicaStanding, policy: TopicPolicy) -> bool:
    """Return whether a replica can join the ISR at once; False for an unknown lag.

    Either figure is enough: a leader that takes records counts a few for a replica that was level a moment
    ago.
    """
    lag, age = standing.lag_records, standing.caught_up_ago_ms
    is_near = lag is not None and lag <= policy.most_lag_records
    return is_near or (age is not None and age <= policy.most_caught_up_age_ms)
