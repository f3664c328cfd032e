"""How many in-sync replicas a promotion policy wants, and how many there are. Pure.

Source: Confluent's policies: under-min-isr wants min.insync.replicas, under-replicated all
sync replicas of the placement, leader-is-observer min.insync.replicas once an observer leads.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from jobs.availability.placements.placement import PromotionPolicy
from jobs.availability.what_if.election import observer_target
from jobs.availability.what_if.model.cluster import PartitionModel


@dataclass(frozen=True, slots=True)
class RequiredIsr:
    """What a policy says of a partition now.

    `threshold`: so many in-sync replicas are wanted now (0: none), `wanted_back` before anything is taken
    back: more where min.insync.replicas was relaxed. `sync_in_isr` are in-sync replicas that are no
    observers, `observers_in_isr` those that are.
    """

    threshold: int
    wanted_back: int
    sync_in_isr: tuple[int, ...]
    observers_in_isr: tuple[int, ...]

    @property
    def short(self) -> int:
        """How many in-sync replicas are missing now, observers counted."""
        have = len(self.sync_in_isr) + len(self.observers_in_isr)
        return max(0, self.threshold - have)

    @property
    def is_recovered(self) -> bool:
        """Whether the sync replicas alone are enough, so that no observer is needed."""
        return bool(self.sync_in_isr) and len(self.sync_in_isr) >= self.wanted_back


def required_isr_of(
    partition: PartitionModel, policy: PromotionPolicy, relaxed_from: int | None = None
) -> RequiredIsr:
    """Return what a policy wants of a partition and what there is, by the rule of what-if
    (`observer_target`).

    `relaxed_from` is min.insync.replicas as it was before an actor lowered it; None: not lowered.
    """
    observers = set(partition.observers)
    now = replace(partition, policy=policy)
    least = max(partition.min_insync_replicas or 0, relaxed_from or 0) or None
    before = replace(now, min_insync_replicas=least)
    return RequiredIsr(
        threshold=observer_target(now, partition.leader, partition.observers),
        wanted_back=observer_target(before, partition.leader, partition.observers),
        sync_in_isr=tuple(one for one in partition.isr if one not in observers),
        observers_in_isr=tuple(one for one in partition.isr if one in observers),
    )
