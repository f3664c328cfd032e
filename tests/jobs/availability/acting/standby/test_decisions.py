"""What a loop does next: every rule that keeps two loops from doing harm, with the clock in hand."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.availability.acting.standby.decisions import (
    BrokerView,
    LoopTiming,
    SentHeartbeat,
    TickFacts,
    plan_tick,
)
from jobs.availability.acting.standby.promotions import (
    HeldPromotion,
    LoopHeartbeat,
    Phase,
    StoreState,
)

NOW = 1_700_000_000_000
TIMING = LoopTiming()
HELD = HeldPromotion("p", 4, begun_at_ms=NOW - 60_000, changed_at_ms=NOW - 60_000)
DEMOTING = replace(HELD, phase=Phase.DEMOTING, generation=2, changed_at_ms=NOW - 60_000)
UNFENCED = BrokerView(4, 26, 900, is_fenced=False)
FENCED = replace(UNFENCED, is_fenced=True)


def facts(promotion=HELD, broker=UNFENCED, *, signs=(), **fields):
    state = StoreState((promotion,) if promotion else (), tuple(signs))
    standard = {
        "now_ms": NOW,
        "loop_id": "me",
        "state": state,
        "read_at_ms": NOW,
        "is_fresh": True,
        "has_lease": True,
        "brokers": {4: broker} if broker else {},
    }
    return TickFacts(**(standard | fields))


def beats(*arguments, **fields):
    return [one.want_fence for one in plan_tick(facts(*arguments, **fields), TIMING).beats]


def said(ago_ms, *, want_fence=False, epoch=26, fencings=0):
    return {4: SentHeartbeat(NOW - ago_ms, epoch, want_fence, fencings)}


def test_a_new_promotion_gets_its_first_heartbeat_at_once():
    assert beats(HELD, FENCED) == [False]


def test_a_heartbeat_names_epoch_and_offset_of_the_broker():
    (beat,) = plan_tick(facts(), TIMING).beats
    assert (beat.broker_id, beat.broker_epoch, beat.metadata_offset) == (4, 26, 900)


def test_a_broker_that_has_not_read_its_own_registration_is_said_to_have():
    (beat,) = plan_tick(facts(broker=replace(UNFENCED, metadata_offset=-1)), TIMING).beats
    assert beat.metadata_offset == 26


@pytest.mark.parametrize(
    ("ago_ms", "broker", "expected"),
    [
        pytest.param(500, UNFENCED, [], id="just said"),
        pytest.param(2_000, UNFENCED, [False], id="due"),
        pytest.param(500, FENCED, [False], id="it fell out: at once"),
        pytest.param(-60_000, UNFENCED, [False], id="the clock went back"),
    ],
)
def test_heartbeats_come_when_they_are_due(ago_ms, broker, expected):
    assert beats(HELD, broker, said=said(ago_ms)) == expected


def test_a_broker_that_registered_again_is_spoken_for_at_once():
    assert beats(HELD, replace(UNFENCED, broker_epoch=99), said=said(100)) == [False]


@pytest.mark.parametrize(
    "broker",
    [
        pytest.param(None, id="not registered"),
        pytest.param(replace(UNFENCED, is_alive=False), id="dead"),
        pytest.param(replace(FENCED, is_ready=False), id="still starting"),
    ],
)
def test_nobody_speaks_for_a_broker_that_does_not_live(broker):
    plan = plan_tick(facts(HELD, broker), TIMING)
    assert plan.beats == ()
    assert plan.silent[4]


def test_without_the_lease_heartbeats_are_sent_and_nobody_is_fenced():
    assert beats(HELD, UNFENCED, has_lease=False) == [False]
    assert beats(DEMOTING, UNFENCED, has_lease=False) == []


def test_the_holder_of_the_lease_fences_until_it_is_so():
    assert beats(DEMOTING, UNFENCED) == [True]
    assert beats(DEMOTING, FENCED) == []


def test_without_the_store_a_promoted_broker_is_kept():
    assert beats(HELD, UNFENCED, is_fresh=False, read_at_ms=NOW - 60_000, said=said(3_000)) == [
        False
    ]


def test_without_the_store_nobody_is_promoted():
    plan = plan_tick(facts(HELD, FENCED, is_fresh=False, said=said(60_000)), TIMING)
    assert plan.beats == ()
    assert "store" in plan.silent[4]


def test_without_the_store_nobody_is_fenced():
    assert beats(DEMOTING, UNFENCED, is_fresh=False) == []


def test_without_the_store_whoever_was_fenced_by_others_is_let_go():
    fenced_by_others = replace(UNFENCED, fencings=1)
    plan = plan_tick(facts(HELD, fenced_by_others, is_fresh=False, said=said(1_000)), TIMING)
    assert plan.beats == ()
    assert "fenced" in plan.let_go["p"]


def test_a_session_that_ran_out_is_no_demotion():
    ran_out = replace(UNFENCED, fencings=1)
    plan = plan_tick(facts(HELD, ran_out, is_fresh=False, said=said(20_000)), TIMING)
    assert plan.let_go == {}


def test_what_was_let_go_is_taken_up_again_with_the_store():
    dropped = frozenset({"p"})
    assert beats(HELD, UNFENCED, is_fresh=False, dropped=dropped, said=said(9_000)) == []
    assert beats(HELD, FENCED, is_fresh=True, dropped=dropped, said=said(9_000)) == [False]


def test_memory_ends():
    old = NOW - TIMING.memory_ms - 1
    plan = plan_tick(facts(HELD, UNFENCED, is_fresh=False, read_at_ms=old), TIMING)
    assert plan.beats == ()
    assert "60 minutes" in plan.let_go["p"]


@pytest.mark.parametrize(
    ("since_ms", "ends"),
    [
        pytest.param(None, False, id="never seen fenced"),
        pytest.param(NOW - TIMING.late_ms + 1, False, id="a heartbeat may still be late"),
        pytest.param(NOW - TIMING.late_ms, True, id="quiet for long enough"),
    ],
)
def test_a_demotion_ends_when_no_heartbeat_can_be_late_any_more(since_ms, ends):
    since = {} if since_ms is None else {4: since_ms}
    plan = plan_tick(facts(DEMOTING, FENCED, fenced_since_ms=since), TIMING)
    assert bool(plan.ended) is ends


def test_a_broker_that_was_fenced_all_the_time_is_waited_for_from_the_order_on():
    just_ordered = replace(DEMOTING, changed_at_ms=NOW - 100)
    plan = plan_tick(facts(just_ordered, FENCED, fenced_since_ms={4: NOW - 90_000}), TIMING)
    assert plan.ended == ()


@pytest.mark.parametrize(
    ("sign", "ends"),
    [
        pytest.param(LoopHeartbeat("other", NOW - 100, {"p": 1}), False, id="has not seen it"),
        pytest.param(LoopHeartbeat("other", NOW - 100, {"p": 2}), True, id="has seen it"),
        pytest.param(LoopHeartbeat("other", NOW - 100, {}), False, id="knows nothing of it"),
        pytest.param(LoopHeartbeat("other", NOW - 60_000, {"p": 1}), True, id="is dead"),
        pytest.param(LoopHeartbeat("me", NOW, {"p": 1}), True, id="is me"),
    ],
)
def test_a_demotion_ends_when_every_living_loop_has_seen_it(sign, ends):
    quiet = {4: NOW - 60_000}
    plan = plan_tick(facts(DEMOTING, FENCED, signs=(sign,), fenced_since_ms=quiet), TIMING)
    assert bool(plan.ended) is ends


def test_a_demotion_of_a_broker_that_is_gone_ends():
    assert plan_tick(facts(DEMOTING, None), TIMING).ended == (DEMOTING,)


views = st.builds(
    BrokerView,
    broker_id=st.just(4),
    broker_epoch=st.integers(1, 3),
    metadata_offset=st.integers(-1, 9),
    is_fenced=st.booleans(),
    fencings=st.integers(0, 2),
    is_alive=st.booleans(),
    is_ready=st.booleans(),
)


@given(
    view=views,
    phase=st.sampled_from([Phase.HELD, Phase.DEMOTING]),
    is_fresh=st.booleans(),
    has_lease=st.booleans(),
    ago_ms=st.integers(-5_000, 30_000),
    read_ago_ms=st.integers(0, 7_200_000),
)
def test_the_rules_hold_whatever_comes(view, phase, is_fresh, has_lease, ago_ms, read_ago_ms):
    promotion = replace(HELD, phase=phase)
    plan = plan_tick(
        facts(
            promotion,
            view,
            is_fresh=is_fresh,
            has_lease=has_lease,
            said=said(ago_ms, epoch=view.broker_epoch),
            read_at_ms=NOW - read_ago_ms,
        ),
        TIMING,
    )
    for beat in plan.beats:
        assert beat.want_fence == (phase is Phase.DEMOTING)
        if beat.want_fence:
            assert is_fresh
            assert has_lease
        else:
            assert view.is_alive
            assert view.is_ready
            # From memory only what is unfenced is kept.
            assert is_fresh or not view.is_fenced
        assert beat.metadata_offset >= beat.broker_epoch
    assert is_fresh or not plan.ended
