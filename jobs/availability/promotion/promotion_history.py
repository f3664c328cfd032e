"""Since when: how long an observer is in the ISR, and how long the sync replicas are back. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from jobs.availability.placements.placement import PromotionPolicy
from jobs.availability.promotion.required_isr import required_isr_of
from jobs.availability.what_if.model.cluster import PartitionModel


@dataclass(frozen=True, slots=True)
class PromotionHistory:
    """What must be remembered of a partition between two looks at it; times are Unix milliseconds.

    `promoted_since_ms`: observers in the ISR, since when. `recovered_since_ms` None: the policy still
    needs an observer. `short_since_ms` None: no in-sync replica is missing.
    """

    promoted_since_ms: Mapping[int, int] = field(default_factory=dict)
    recovered_since_ms: int | None = None
    short_since_ms: int | None = None


def update_history(
    before: PromotionHistory | None,
    partition: PartitionModel,
    policy: PromotionPolicy,
    now_ms: int,
    relaxed_from: int | None = None,
) -> PromotionHistory:
    """Return what is remembered after looking at the partition at `now_ms`.

    `before` None: it was never looked at, so that everything begins now. A clock that went back begins anew,
    because a hold time that never ran must not count. A partition without a leader is not recovered.
    """
    before = before or PromotionHistory()
    need = required_isr_of(partition, policy, relaxed_from)
    since = before.promoted_since_ms
    return PromotionHistory(
        promoted_since_ms={
            one: min(since.get(one, now_ms), now_ms) for one in need.observers_in_isr
        },
        recovered_since_ms=_since(
            before.recovered_since_ms,
            now_ms,
            is_so=need.is_recovered and partition.leader is not None,
        ),
        short_since_ms=_since(before.short_since_ms, now_ms, is_so=need.short > 0),
    )


def _since(before: int | None, now_ms: int, *, is_so: bool) -> int | None:
    if not is_so:
        return None
    return now_ms if before is None or before > now_ms else before
