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
)
from jobs.availability.acting.standby.store_rules import (
    begun,
    lease_after,
    lease_given_back,
    moved,
    with_promotion,
    with_sign,
)


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

    def stop(self, *, is_stopped: bool) -> None:
        """See `PromotionStore.stop`."""
        with self._lock:
            self._answer()
            self._state = replace(self._state, is_stopped=is_stopped)

    def _answer(self) -> None:
        if self.is_away:
            raise StoreAway("the store was told to be away")
