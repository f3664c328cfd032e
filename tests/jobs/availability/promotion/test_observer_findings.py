"""What happened to observers between two looks, what is remembered of them, and findings."""

from dataclasses import replace

import pytest

from jobs.availability.placements.placement import PromotionPolicy
from jobs.availability.promotion.advice import ReplicaStanding
from jobs.availability.promotion.observer_findings import (
    ObserverLimits,
    PromotionHistory,
    events,
    findings,
    update_history,
)
from tests.jobs.availability.partitions import LEVEL, NOW_MS, RACKS, partition

UNDER_MIN_ISR = PromotionPolicy.UNDER_MIN_ISR
FULL = (1, 2, 3, 4)


def happened(before, after, **more):
    return [(one.kind, one.broker_id) for one in events(before, after, NOW_MS, **more)]


STORIES = [
    pytest.param(partition(FULL), partition(FULL), [], id="nothing"),
    pytest.param(partition((1, 2)), partition((1, 2, 6)), [("promoted", 6)], id="promoted"),
    pytest.param(partition((1, 2, 6)), partition((1, 2, 3)), [("demoted", 6)], id="demoted"),
    pytest.param(
        partition((1, 2, 5)), partition((1, 2, 6)), [("demoted", 5), ("promoted", 6)], id="both"
    ),
    pytest.param(
        partition((1, 6)),
        partition((6,)),
        [("became_leader", 6)],
        id="leads after the last sync replica",
    ),
    pytest.param(
        partition((1, 6), leader=6), partition((1, 6)), [("left_leadership", 6)], id="leads no more"
    ),
    pytest.param(
        partition((1, 2, 6), observers=(5,)),
        partition((1, 2, 6)),
        [("assigned", 6)],
        id="an in-sync replica that becomes an observer was not promoted",
    ),
    pytest.param(
        partition((1, 2)),
        partition((1, 2, 6), observers=(5,)),
        [("unassigned", 6)],
        id="an observer that becomes a sync replica was not promoted",
    ),
    pytest.param(partition((1, 2)), partition((1, 2, 3)), [], id="sync replicas are not watched"),
]


@pytest.mark.parametrize(("before", "after", "expected"), STORIES)
def test_events(before, after, expected):
    assert happened(before, after) == expected


def test_a_demotion_says_how_long_the_observer_was_in_the_isr():
    (event,) = events(
        partition((1, 2, 6)),
        partition((1, 2, 3)),
        NOW_MS,
        PromotionHistory(promoted_since_ms={6: NOW_MS - 90_000}),
    )
    assert event.lasted_ms == 90_000
    assert event.sentence == "Observer 6 left the ISR of orders-0 after 90.0 s."


class TestTracking:
    def test_an_observer_in_the_isr_is_remembered_from_the_first_look(self):
        first = update_history(None, partition((1, 2, 6)), UNDER_MIN_ISR, 100)
        second = update_history(first, partition((1, 2, 6)), UNDER_MIN_ISR, 200)
        assert second.promoted_since_ms == {6: 100}

    def test_an_observer_that_left_is_forgotten(self):
        first = update_history(None, partition((1, 2, 6)), UNDER_MIN_ISR, 100)
        assert update_history(first, partition((1, 2)), UNDER_MIN_ISR, 200).promoted_since_ms == {}

    def test_recovered_begins_anew_after_each_relapse(self):
        looks = [FULL, (1, 2, 6), FULL, FULL]
        tracked = None
        for number, isr in enumerate(looks):
            tracked = update_history(tracked, partition(isr), UNDER_MIN_ISR, number)
        assert tracked.recovered_since_ms == 2

    def test_short_is_remembered_until_enough_are_in_sync(self):
        tracked = update_history(None, partition((1, 2)), UNDER_MIN_ISR, 5)
        tracked = update_history(tracked, partition((1, 2)), UNDER_MIN_ISR, 9)
        assert (tracked.short_since_ms, tracked.recovered_since_ms) == (5, None)
        assert (
            update_history(tracked, partition((1, 2, 6)), UNDER_MIN_ISR, 10).short_since_ms is None
        )

    def test_a_partition_without_leader_is_not_recovered(self):
        leaderless = replace(partition(FULL), leader=None)
        assert update_history(None, leaderless, UNDER_MIN_ISR, 5).recovered_since_ms is None

    def test_a_relaxed_topic_is_recovered_by_its_old_min_insync_replicas(self):
        relaxed = partition((1, 2), min_insync_replicas=1)
        tracked = update_history(None, relaxed, UNDER_MIN_ISR, 5, relaxed_from=3)
        assert tracked.recovered_since_ms is None

    def test_a_clock_that_went_back_begins_anew(self):
        first = update_history(None, partition((1, 2, 3, 6)), UNDER_MIN_ISR, 1_000)
        again = update_history(first, partition((1, 2, 3, 6)), UNDER_MIN_ISR, 400)
        assert (again.promoted_since_ms, again.recovered_since_ms) == ({6: 400}, 400)


def found(model, *, tracked=None, standings=None, alive=frozenset(RACKS), **limits):
    standings = dict.fromkeys((5, 6), LEVEL) if standings is None else standings
    told = findings(
        model, tracked or PromotionHistory(), standings, alive, ObserverLimits(**limits), NOW_MS
    )
    return [(one.code, one.broker_id) for one in told]


WATCHED = [
    pytest.param(partition(FULL), {}, [], id="healthy"),
    pytest.param(
        partition((1, 2, 6)),
        {"tracked": PromotionHistory(promoted_since_ms={6: NOW_MS - 3_600_001})},
        [("promoted_too_long", 6)],
        id="in the ISR for too long",
    ),
    pytest.param(
        partition((*FULL, 6)),
        {"tracked": PromotionHistory({6: NOW_MS - 9_000_000}, NOW_MS - 300_001)},
        [("not_needed", 6)],
        id="in the ISR without need",
    ),
    pytest.param(partition((6,)), {}, [("leads", 6)], id="leads"),
    pytest.param(
        partition(FULL), {"alive": frozenset({1, 2, 3, 4, 5})}, [("not_alive", 6)], id="not alive"
    ),
    pytest.param(
        partition(FULL),
        {"standings": {5: LEVEL, 6: ReplicaStanding(lag_records=1_001)}},
        [("not_caught_up", 6)],
        id="far behind",
    ),
    pytest.param(
        partition(FULL),
        {"standings": {5: LEVEL, 6: ReplicaStanding(caught_up_ago_ms=30_001)}},
        [("not_caught_up", 6)],
        id="not level for long",
    ),
    pytest.param(partition(FULL), {"standings": {}}, [], id="an unknown lag is no finding"),
    pytest.param(
        partition((1, 2)),
        {"tracked": PromotionHistory(short_since_ms=NOW_MS - 60_001)},
        [("not_promoted", 5)],
        id="the brokers did not promote",
    ),
]


@pytest.mark.parametrize(("model", "known", "expected"), WATCHED)
def test_findings(model, known, expected):
    assert found(model, **known) == expected
