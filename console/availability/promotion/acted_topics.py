"""Topics with automatic promotion, for the failure simulation."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from console.availability.promotion.models import Actor, PromotionPolicy
from console.availability.promotion.policies import PolicyLookup
from console.availability.promotion.queries import list_policies, stop_state
from console.clusters.models import Cluster
from console.frame.security.read_only import is_read_only
from jobs.availability.placements.placement import PromotionPolicy as Trigger


@dataclass(frozen=True, slots=True)
class Acted:
    """The trigger of a topic's automatic promotion, and its allowed brokers."""

    trigger: Trigger
    brokers: frozenset[int]


class ActedTopics:
    """The policies of one cluster by which fenced standby brokers are promoted without a person.

    Other ways to act are left out: a what-if knows how standbys behave, and only these act within seconds.
    """

    def __init__(self, policies: Iterable[PromotionPolicy] = (), *, is_held: bool = False) -> None:
        rows = () if is_held else tuple(policies)
        rows = rows if any(row.acts for row in rows) else ()
        self._book = PolicyLookup(rows)
        # What names these policies: equal ones say the same of every topic.
        self.key: tuple[Any, ...] = tuple((row.pk, row.changed_at) for row in rows)

    def of(self, topic: str, placed: Trigger | None) -> Acted | None:
        """Return the automatic promotion of a topic, None without one.

        `placed` is what the topic's placement says; a policy that says nothing else takes it.
        """
        row = self._book.of(topic)
        if row is None or not row.acts or row.actor != Actor.FENCED_STANDBY:
            return None
        said = Trigger(row.policy) if row.policy else placed
        return Acted(said or Trigger.UNDER_MIN_ISR, frozenset(row.allowed_brokers))


def acted_topics_of(cluster: Cluster) -> ActedTopics:
    """Return the topics with automatic promotion; none while a stop switch or read-only mode is on.

    Two queries.
    """
    is_held = is_read_only() or stop_state(cluster).is_on
    return ActedTopics(list_policies(cluster).order_by("pk"), is_held=is_held)
