"""What every store of promotions decides in the same way: pure, from the state before to the state after."""

from __future__ import annotations

from dataclasses import replace

from jobs.availability.acting.standby.promotions import (
    HeldPromotion,
    Lease,
    LoopHeartbeat,
    Phase,
    StoreState,
    may_move,
)

SIGNS_KEPT_MS = 3_600_000


def lease_after(before: Lease | None, holder: str, now_ms: int, lasts_ms: int) -> Lease | None:
    """Return the lease that `holder` gets; None while somebody else has it."""
    if before is None:
        return Lease(holder, 1, now_ms + lasts_ms)
    if before.holder == holder:
        return replace(before, until_ms=now_ms + lasts_ms)
    if before.until_ms > now_ms:
        return None
    return Lease(holder, before.token + 1, now_ms + lasts_ms)


def lease_given_back(before: Lease | None, lease: Lease) -> Lease | None:
    """Return the lease after it was given back: run out, so that its token is not used again."""
    return replace(lease, until_ms=0) if holds(before, lease) else before


def holds(current: Lease | None, lease: Lease | None) -> bool:
    """Say whether an order may be taken: it comes without a lease, or with the one that holds now."""
    if lease is None:
        return True
    return current is not None and (current.holder, current.token) == (lease.holder, lease.token)


def begun(state: StoreState, promotion: HeldPromotion, lease: Lease | None) -> StoreState | None:
    """Return the state with a new promotion; None: it may not begin."""
    if state.is_stopped or not holds(state.lease, lease):
        return None
    if state.of_broker(promotion.broker_id) is not None:
        return None
    return replace(state, promotions=(*state.promotions, promotion))


def moved(  # noqa: PLR0913  the form of `PromotionStore.move`
    state: StoreState,
    promotion_id: str,
    generation: int,
    phase: Phase,
    now_ms: int,
    *,
    why: str,
    lease: Lease | None,
) -> HeldPromotion | None:
    """Return the promotion as it is after a move; None: it is not there any more, or the lease is not held.

    Raises ValueError for a step backwards.
    """
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
    """Return the state with a promotion in its new form; one that is ENDED is left out."""
    others = tuple(one for one in state.promotions if one.promotion_id != promotion.promotion_id)
    if promotion.phase is Phase.ENDED:
        return replace(state, promotions=others)
    return replace(state, promotions=(*others, promotion))


def with_sign(state: StoreState, sign: LoopHeartbeat) -> StoreState:
    """Return the state with the newest sign of a loop, without those of loops that are long gone."""
    kept = tuple(
        one
        for one in state.signs
        if one.loop_id != sign.loop_id and sign.at_ms - one.at_ms < SIGNS_KEPT_MS
    )
    return replace(state, signs=(*kept, sign))
