"""Brokers that lost the leadership of partitions whose preferred leader they are. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from jobs.availability.what_if.model.cluster import ClusterModel

# Kafka's default of leader.imbalance.check.interval.seconds: so often the controller gives leaders back.
CHECK_INTERVAL_MS = 300_000
# So many lost partitions of a broker are remembered from look to look.
MOST_LOST = 100


class LeaderShare(NamedTuple):
    """How many partitions a broker leads, of those whose first replica it is and in whose ISR it is.

    `lost` are the others as `orders-0`. A controller gives back each of them, however few there are: KRaft
    has no leader.imbalance.per.broker.percentage (`maybeBalancePartitionLeaders`).
    """

    broker_id: int
    leads: int
    preferred: int
    lost: frozenset[str] = frozenset()

    @property
    def is_unbalanced(self) -> bool:
        """Whether others lead any of them."""
        return self.leads < self.preferred


@dataclass(frozen=True, slots=True)
class Unbalanced:
    """A broker that lost leaders: from the first look that saw it to the newest (Unix ms).

    The `lost` of its share are those that others led at every look.
    """

    share: LeaderShare
    since_ms: int
    seen_ms: int

    @property
    def is_lasting(self) -> bool:
        """Whether two looks agree, further apart than the controller needs to give leaders back."""
        return self.seen_ms - self.since_ms > CHECK_INTERVAL_MS


def leader_shares(model: ClusterModel) -> list[LeaderShare]:
    """Return the share of each broker that is alive; standby brokers and observers are not to lead."""
    preferred: Counter[int] = Counter()
    leads: Counter[int] = Counter()
    lost: dict[int, set[str]] = {}
    for one in model.partitions:
        first = one.replicas[0] if one.replicas else None
        if first is None or one.leader is None or first not in one.isr or first in one.observers:
            continue
        preferred[first] += 1
        leads[first] += one.leader == first
        if one.leader != first:
            lost.setdefault(first, set()).add(f"{one.topic}-{one.partition}")
    alive = {b for b, one in model.brokers.items() if one.is_alive and not one.is_standby}
    return [
        LeaderShare(b, leads[b], preferred[b], frozenset(lost.get(b, ())))
        for b in sorted(preferred.keys() & alive)
    ]


def watch_leaders(
    shares: Iterable[LeaderShare], before: Mapping[int, Unbalanced], seen_ms: int
) -> dict[int, Unbalanced]:
    """Return the brokers that are unbalanced at a look, each with the first look of the same stretch.

    `seen_ms` is when the cluster was read, not when it is judged: rows that get old prove nothing. After a
    gap as long as the controller's interval, or when all that were lost are back, a stretch begins again.
    """
    found = {}
    for share in shares:
        if share.is_unbalanced:
            known = before.get(share.broker_id)
            lost, since_ms = share.lost, seen_ms
            if known is not None and seen_ms - known.seen_ms < CHECK_INTERVAL_MS:
                still = lost & known.share.lost
                lost, since_ms = (still, known.since_ms) if still else (lost, seen_ms)
            lost = frozenset(sorted(lost)[:MOST_LOST])
            found[share.broker_id] = Unbalanced(share._replace(lost=lost), since_ms, seen_ms)
    return found
