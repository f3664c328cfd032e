"""Promotions in memory: for loops of one process."""

from __future__ import annotations

import threading
from dataclasses import replace

from jobs.availability.acting.standby.promotions import (
    HeldPromotion,
    Lease,
    LoopHeartbeat,
    Phase,
    PromotionEvent,
    StoreAway,
    StoreState,
    may_move,
)

SIGNS_KEPT_MS = 3_600_000


class MemoryStore:
    """A `PromotionStore` that ends with its process. `is_away` True makes every call raise `StoreAway`."""

    def __init__(self) -> None:
        self._state = StoreState()
        self._lock = threading.Lock()
        self.events: list[PromotionEvent] = []
        self.ended: list[HeldPromotion] = []
        self.is_away = False

    def read(self) -> StoreState:
        """See `PromotionStore.read`."""
        with self._lock:
            self._answer()
            return self._state

    def take_lease(self, holder: str, now_ms: int, lasts_ms: int) -> Lease | None:
        """See `PromotionStore.take_lease`."""
        with self._lock:
            self._answer()
            lease = lease_after(self._state.lease, holder, now_ms, lasts_ms)
            if lease is not None:
                self._state = replace(self._state, lease=lease)
            return lease

    def release_lease(self, lease: Lease) -> None:
        """See `PromotionStore.release_lease`."""
        with self._lock:
            self._answer()
            left = lease_given_back(self._state.lease, lease)
            self._state = replace(self._state, lease=left)

    def begin(self, promotion: HeldPromotion, lease: Lease | None = None) -> bool:
        """See `PromotionStore.begin`."""
        with self._lock:
            self._answer()
            after = begun(self._state, promotion, lease)
            self._state = after or self._state
            return after is not None

    def move(
        self,
        promotion_id: str,
        generation: int,
        phase: Phase,
        now_ms: int,
        *,
        why: str = "",
        lease: Lease | None = None,
    ) -> bool:
        """See `PromotionStore.move`."""
        with self._lock:
            self._answer()
            after = moved(
                self._state, promotion_id, generation, phase, now_ms, why=why, lease=lease
            )
            if after is None:
                return False
            self._state = with_promotion(self._state, after)
            if phase is Phase.ENDED:
                self.ended.append(after)
            return True

    def sign(self, sign: LoopHeartbeat) -> None:
        """See `PromotionStore.sign`."""
        with self._lock:
            self._answer()
            self._state = with_sign(self._state, sign)

    def record(self, event: PromotionEvent) -> None:
        """See `PromotionStore.record`."""
        with self._lock:
            self._answer()
            self.events.append(event)

    def turn(self, *, is_on: bool) -> None:
        """Turn the stop switch."""
        self._state = replace(self._state, is_stopped=is_on)

    def _answer(self) -> None:
        if self.is_away:
            raise StoreAway("the store is away")


def lease_after(before: Lease | None, holder: str, now_ms: int, lasts_ms: int) -> Lease | None:
    if before is None:
        return Lease(holder, 1, now_ms + lasts_ms)
    if before.holder == holder:
        return replace(before, until_ms=now_ms + lasts_ms)
    if before.until_ms > now_ms:
        return None
    return Lease(holder, before.token + 1, now_ms + lasts_ms)


def lease_given_back(before: Lease | None, lease: Lease) -> Lease | None:
    return replace(lease, until_ms=0) if holds(before, lease) else before


def holds(current: Lease | None, lease: Lease | None) -> bool:
    """Say whether an order may be taken: it comes without a lease, or with the one that holds now."""
    if lease is None:
        return True
    return current is not None and (current.holder, current.token) == (lease.holder, lease.token)


def begun(state: StoreState, promotion: HeldPromotion, lease: Lease | None) -> StoreState | None:
    if state.is_stopped or not holds(state.lease, lease):
        return None
    if state.of_broker(promotion.broker_id) is not None:
        return None
    return replace(state, promotions=(*state.promotions, promotion))


def moved(
    state: StoreState,
    promotion_id: str,
    generation: int,
    phase: Phase,
    now_ms: int,
    *,
    why: str,
    lease: Lease | None,
) -> HeldPromotion | None:
    found = next((one for one in state.promotions if one.promotion_id == promotion_id), None)
    if found is None or found.generation != generation or not holds(state.lease, lease):
        return None
    if not may_move(found.phase, phase):
        raise ValueError(f"a promotion that is {found.phase} does not become {phase}")
    return replace(
        found,
        phase=phase,
        generation=generation + 1,
        why=why or found.why,
        changed_at_ms=now_ms,
        ended_at_ms=now_ms if phase is Phase.ENDED else None,
    )


def with_promotion(state: StoreState, promotion: HeldPromotion) -> StoreState:
    others = tuple(one for one in state.promotions if one.promotion_id != promotion.promotion_id)
    if promotion.phase is Phase.ENDED:
        return replace(state, promotions=others)
    return replace(state, promotions=(*others, promotion))


def with_sign(state: StoreState, sign: LoopHeartbeat) -> StoreState:
    kept = tuple(
        one
        for one in state.signs
        if one.loop_id != sign.loop_id and sign.at_ms - one.at_ms < SIGNS_KEPT_MS
    )
    return replace(state, signs=(*kept, sign))
