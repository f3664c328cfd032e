"""Which replicas are observers: they stay out of the ISR by design, and are never missing there."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from console.availability.placements.placements import CONFIG, PlacementRules, Resolved, rules_of
from console.clusters.models import Broker, Cluster, Topic
from jobs.availability.placements.placement import observers_of
from jobs.availability.status.severity import NO_MOVES, Moves


class ObserverRoles:
    """The observers of a cluster's topics, read once per round on first use: three queries."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self._resolved: dict[str, Resolved] = {}

    def observers(
        self, topic: str, replicas: Sequence[int], moves: Moves = NO_MOVES
    ) -> tuple[int, ...]:
        """Return the replicas of a partition that are observers; none without a placement."""
        resolved = self._resolved.get(topic)
        if resolved is None:
            config = self._configs.get(topic, "")
            resolved = self._resolved[topic] = self._rules.of(topic, config)
        if resolved.placement is None:
            return ()
        adding, removing = moves.adding or (), moves.removing
        return observers_of(resolved.placement, replicas, self._racks, adding, removing)

    @cached_property
    def _rules(self) -> PlacementRules:
        return rules_of(self.cluster)

    @cached_property
    def _configs(self) -> dict[str, str]:
        rows = Topic.objects.filter(cluster=self.cluster, configs__has_key=CONFIG)
        found = rows.values_list("name", "configs")
        return {name: configs.get(CONFIG) or "" for name, configs in found}

    @cached_property
    def _racks(self) -> dict[int, str | None]:
        rows = Broker.objects.filter(cluster=self.cluster).values_list("broker_id", "rack")
        return {number: rack or None for number, rack in rows}
