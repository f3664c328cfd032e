"""What every store of promotions does: a test module inherits `StoreContract` and gives a fixture `store`.

Every test may ask for `other`, too: a second object for the same store, as another process has it. `turn`
turns the stop switch.
"""

from dataclasses import replace

import pytest

from jobs.availability.acting.standby.promotions import (
    HeldPromotion,
    LoopHeartbeat,
    Phase,
    PromotionEvent,
    StoreState,
)

NOW_MS = 1_700_000_000_000
LASTS_MS = 6_000
ONE = HeldPromotion(
    "promotion-1",
    4,
    topics=("orders",),
    asked_by="mia",
    why="the ISR is too small",
    begun_at_ms=NOW_MS,
    changed_at_ms=NOW_MS,
)
TWO = replace(ONE, promotion_id="promotion-2", broker_id=5)


class StoreContract:
    """The contract; see `jobs.availability.acting.standby.promotions.PromotionStore`."""

    def test_a_new_store_is_empty(self, store):
        assert store.read() == StoreState()

    def test_what_was_begun_is_read_by_everybody(self, store, other):
        assert store.begin(ONE)
        assert other.read().promotions == (ONE,)
        assert other.read().of_broker(4) == ONE

    def test_a_broker_has_one_promotion_at_a_time(self, store, other):
        assert store.begin(ONE)
        assert not other.begin(replace(ONE, promotion_id="promotion-3"))
        assert other.begin(TWO)
        assert {one.promotion_id for one in store.read().promotions} == {
            "promotion-1",
            "promotion-2",
        }

    def test_a_promotion_moves_on_to_its_end(self, store):
        store.begin(ONE)
        assert store.move("promotion-1", 1, Phase.DEMOTING, NOW_MS + 1, why="recovered")
        (found,) = store.read().promotions
        assert (found.phase, found.generation, found.why) == (Phase.DEMOTING, 2, "recovered")
        assert (found.begun_at_ms, found.changed_at_ms) == (NOW_MS, NOW_MS + 1)
        assert store.move("promotion-1", 2, Phase.ENDED, NOW_MS + 2)
        assert store.read().promotions == ()

    def test_a_move_that_somebody_else_made_already_changes_nothing(self, store, other):
        store.begin(ONE)
        assert other.move("promotion-1", 1, Phase.DEMOTING, NOW_MS)
        assert not store.move("promotion-1", 1, Phase.DEMOTING, NOW_MS + 5)
        (found,) = store.read().promotions
        assert (found.generation, found.changed_at_ms) == (2, NOW_MS)

    def test_nothing_moves_that_is_not_there(self, store):
        assert not store.move("nobody", 1, Phase.ENDED, NOW_MS)

    def test_a_step_backwards_is_an_error(self, store):
        store.begin(ONE)
        store.move("promotion-1", 1, Phase.DEMOTING, NOW_MS)
        with pytest.raises(ValueError, match="demoting"):
            store.move("promotion-1", 2, Phase.HELD, NOW_MS)

    def test_a_broker_may_be_promoted_again_after_its_promotion_ended(self, store):
        store.begin(ONE)
        store.move("promotion-1", 1, Phase.ENDED, NOW_MS)
        assert store.begin(replace(ONE, promotion_id="promotion-3"))

    def test_one_holder_has_the_lease(self, store, other):
        lease = store.take_lease("a", NOW_MS, LASTS_MS)
        assert (lease.holder, lease.until_ms) == ("a", NOW_MS + LASTS_MS)
        assert other.take_lease("b", NOW_MS + 1, LASTS_MS) is None
        assert other.read().lease == lease

    def test_a_holder_renews_its_lease_under_the_same_token(self, store):
        first = store.take_lease("a", NOW_MS, LASTS_MS)
        second = store.take_lease("a", NOW_MS + 1_000, LASTS_MS)
        assert second == replace(first, until_ms=NOW_MS + 1_000 + LASTS_MS)

    def test_a_lease_that_ran_out_goes_to_whoever_asks_under_a_higher_token(self, store, other):
        first = store.take_lease("a", NOW_MS, LASTS_MS)
        second = other.take_lease("b", NOW_MS + LASTS_MS, LASTS_MS)
        assert second.token > first.token
        assert store.take_lease("a", NOW_MS + LASTS_MS + 1, LASTS_MS) is None

    def test_a_lease_that_was_given_back_is_free_at_once(self, store, other):
        first = store.take_lease("a", NOW_MS, LASTS_MS)
        store.release_lease(first)
        assert other.take_lease("b", NOW_MS + 1, LASTS_MS).token > first.token

    def test_giving_back_what_another_has_by_now_changes_nothing(self, store, other):
        first = store.take_lease("a", NOW_MS, LASTS_MS)
        second = other.take_lease("b", NOW_MS + LASTS_MS, LASTS_MS)
        store.release_lease(first)
        assert store.read().lease == second

    def test_who_lost_the_lease_decides_nothing(self, store, other):
        lost = store.take_lease("a", NOW_MS, LASTS_MS)
        held = other.take_lease("b", NOW_MS + LASTS_MS, LASTS_MS)
        assert not store.begin(ONE, lost)
        assert other.begin(ONE, held)
        assert not store.move("promotion-1", 1, Phase.DEMOTING, NOW_MS, lease=lost)
        assert other.move("promotion-1", 1, Phase.DEMOTING, NOW_MS, lease=held)

    def test_a_persons_order_needs_no_lease(self, store, other):
        store.take_lease("a", NOW_MS, LASTS_MS)
        assert other.begin(ONE)
        assert other.move("promotion-1", 1, Phase.DEMOTING, NOW_MS)

    def test_while_the_stop_switch_is_on_nothing_begins_and_what_is_held_stays(self, store, turn):
        store.begin(ONE)
        turn(is_on=True)
        assert store.read().is_stopped
        assert not store.begin(TWO)
        assert store.read().promotions == (ONE,)
        assert store.move("promotion-1", 1, Phase.DEMOTING, NOW_MS)
        turn(is_on=False)
        assert store.begin(TWO)

    def test_every_loop_leaves_its_newest_sign(self, store, other):
        store.sign(LoopHeartbeat("a", NOW_MS, {"promotion-1": 1}))
        other.sign(LoopHeartbeat("b", NOW_MS, {}, "the controllers do not answer"))
        store.sign(LoopHeartbeat("a", NOW_MS + 500, {"promotion-1": 2}))
        signs = {one.loop_id: one for one in store.read().signs}
        assert signs["a"] == LoopHeartbeat("a", NOW_MS + 500, {"promotion-1": 2})
        assert signs["b"].problem == "the controllers do not answer"

    def test_events_are_taken(self, store):
        store.record(PromotionEvent(NOW_MS, "a", 4, "unfenced", "", "promotion-1"))
