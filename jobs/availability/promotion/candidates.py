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

# A replica that nobody knows the lag of comes after every one that somebody does.
_UNKNOWN = 1 << 62


def candidates(
    partition: PartitionModel, facts: PromotionFacts, policy: TopicPolicy
) -> tuple[Candidate, ...]:
    """Return who could be promoted, the best first; those with a `why_not` stand at the end, and say why not.

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
    where = "its rack is not known" if rack is None else f"it is in {rack}"
    if rack is not None:
        has = any(facts.racks.get(one) == rack for one in partition.isr)
        where += ", where the ISR has a member already" if has else ", where the ISR has no member"
    return f"{where}, {how_far(standing)}"


def how_far(standing: ReplicaStanding) -> str:
    """Return how far behind a replica is, in words."""
    if standing.lag_records is not None:
        return f"{standing.lag_records:,} records behind"
    if standing.caught_up_ago_ms is not None:
        return f"last caught up {standing.caught_up_ago_ms / 1000:.1f} s ago"
    return "its lag is not known"


def _why_not(
    broker: int, facts: PromotionFacts, policy: TopicPolicy, standing: ReplicaStanding
) -> str:
    if broker not in facts.alive:
        return f"Broker {broker} is not alive."
    if policy.actor is not ActorKind.FENCED_STANDBY:
        # A held-back replica is behind on purpose, and a spare begins with nothing.
        return ""
    if broker not in facts.standbys:
        return f"Broker {broker} is no fenced standby broker: heartbeats from outside change nothing there."
    return "" if is_caught_up(standing, policy) else f"Broker {broker}: {how_far(standing)}."


def is_caught_up(standing: ReplicaStanding, policy: TopicPolicy) -> bool:
    """Say whether a replica is near enough to join the ISR at once; what nobody knows is not.

    Either figure is enough: a leader that takes records counts a few for a replica that was level a moment
    ago.
    """
    lag, age = standing.lag_records, standing.caught_up_ago_ms
    is_near = lag is not None and lag <= policy.most_lag_records
    return is_near or (age is not None and age <= policy.most_caught_up_age_ms)
