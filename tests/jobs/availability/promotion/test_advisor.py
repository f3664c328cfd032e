"""What the advisor says of one partition: whom to promote, whom to demote, or why none."""

from dataclasses import replace

import pytest

from jobs.availability.placements.placement import PromotionPolicy
from jobs.availability.promotion.actors.kinds import ActorKind
from jobs.availability.promotion.advice import AdviceAction, AdviceCode, ReplicaStanding
from jobs.availability.promotion.advisor import advise, check_policy
from tests.jobs.availability.partitions import LEVEL, NOW_MS, RACKS, facts, partition, policy

UNDER_REPLICATED = PromotionPolicy.UNDER_REPLICATED
LEADER_IS_OBSERVER = PromotionPolicy.LEADER_IS_OBSERVER
HELD = {"recovered_since_ms": NOW_MS - 60_000}


def advice(isr, *, known=None, wanted=None, at_ms=NOW_MS, **changes):
    return advise(
        partition(isr, **changes), facts(**(known or {})), policy(**(wanted or {})), at_ms
    )


CASES = [
    pytest.param((1, 2, 3, 4), {}, {}, "none", "in_sync", None, id="all sync replicas in sync"),
    pytest.param((1, 2, 3), {}, {}, "none", "in_sync", None, id="at min ISR is enough"),
    pytest.param((1, 2), {}, {}, "promote", "under_min_isr", 6, id="under min ISR"),
    pytest.param((3, 4), {}, {}, "promote", "under_min_isr", 5, id="the other site died"),
    pytest.param(
        (1, 2, 3),
        {},
        {"policy": UNDER_REPLICATED},
        "promote",
        "under_replicated",
        5,
        id="under-replicated wants all sync replicas",
    ),
    pytest.param(
        (1, 2),
        {},
        {"policy": LEADER_IS_OBSERVER},
        "none",
        "in_sync",
        None,
        id="leader-is-observer waits for an unclean election",
    ),
    pytest.param(
        (5,),
        {},
        {"policy": LEADER_IS_OBSERVER},
        "promote",
        "leader_is_observer",
        6,
        id="an observer leads after an unclean election",
    ),
    pytest.param((1, 2, 6), {}, {}, "none", "still_needed", None, id="the observer is needed"),
    pytest.param(
        (1, 2, 3, 6), {}, {}, "none", "waits_for_hold", None, id="back, but since when is unknown"
    ),
    pytest.param(
        (1, 2, 3, 6),
        {"recovered_since_ms": NOW_MS - 59_999},
        {},
        "none",
        "waits_for_hold",
        None,
        id="back, not yet for the hold time",
    ),
    pytest.param((1, 2, 3, 6), HELD, {}, "demote", "recovered", 6, id="back for the hold time"),
    pytest.param(
        (1, 2),
        {"has_quorum": False},
        {},
        "blocked",
        "no_quorum",
        6,
        id="no promotion without a quorum",
    ),
    pytest.param(
        (1, 2, 3, 6),
        HELD | {"has_quorum": False},
        {},
        "blocked",
        "no_quorum",
        6,
        id="no demotion without a quorum",
    ),
    pytest.param(
        (1, 2),
        {"promotes_itself": True},
        {},
        "none",
        "promotes_itself",
        None,
        id="brokers that promote by themselves are left to it",
    ),
    pytest.param(
        (1, 2),
        {"alive": frozenset({1, 2})},
        {},
        "blocked",
        "no_observer_alive",
        None,
        id="no observer is alive",
    ),
    pytest.param(
        (1, 2),
        {"standings": dict.fromkeys((5, 6), ReplicaStanding(lag_records=5_000))},
        {},
        "blocked",
        "observer_not_caught_up",
        6,
        id="no observer is near enough",
    ),
    pytest.param(
        (1, 2), {"standings": {}}, {}, "blocked", "lag_unknown", 6, id="the lag is unknown"
    ),
    pytest.param(
        (1, 2),
        {"standbys": frozenset()},
        {},
        "blocked",
        "no_standby",
        6,
        id="the observers are no standby brokers",
    ),
]


@pytest.mark.parametrize(("isr", "known", "wanted", "action", "code", "observer"), CASES)
def test_advice(isr, known, wanted, action, code, observer):
    told = advice(isr, known=known, wanted=wanted)
    assert (told.action, told.code, told.observer) == (action, code, observer)
    assert told.why


def test_advice_says_what_it_rests_on():
    told = advice((1, 2)).evidence
    assert (told.leader, told.leader_epoch, told.partition_epoch) == (1, 7, 20)
    assert (told.high_watermark, told.isr, told.observer_lag_records) == (1_000, (1, 2), 0)


def test_a_promotion_has_its_time_its_risk_and_its_way_back():
    told = advice((1, 2))
    assert told.expected_ms == 140
    assert told.data_at_risk.records == 0
    assert "wantFence=true" in told.how_to_demote
    assert told.still_missing == 0


def test_a_second_observer_is_missing_where_one_is_not_enough():
    assert advice((1,)).still_missing == 1


def test_a_rack_without_an_in_sync_replica_comes_before_less_lag():
    near = {5: LEVEL, 6: ReplicaStanding(lag_records=900)}
    assert advice((1, 2), known={"standings": near}).observer == 6


def test_in_equal_racks_the_least_lag_comes_first():
    far = {5: ReplicaStanding(lag_records=900), 6: ReplicaStanding(lag_records=3)}
    assert advice((1, 4), known={"standings": far}).observer == 6


def test_every_observer_is_told_with_why_it_is_not_taken():
    told = advice((1, 2), known={"alive": frozenset(RACKS) - {5}})
    assert [(one.broker_id, one.why_not) for one in told.candidates] == [
        (6, ""),
        (5, "Broker 5 is not alive."),
    ]


def test_an_observer_that_was_level_a_moment_ago_is_caught_up_whatever_it_lags_now():
    busy = dict.fromkeys((5, 6), ReplicaStanding(lag_records=5_000, caught_up_ago_ms=500))
    assert advice((1, 2), known={"standings": busy}).action is AdviceAction.PROMOTE


def test_an_observer_that_catches_up_has_an_expected_time():
    far = dict.fromkeys((5, 6), ReplicaStanding(lag_records=5_000, lag_bytes=10_000_000))
    told = advice((1, 2), known={"standings": far, "bytes_per_s": 5e6})
    assert told.expected_ms == 2_000


def test_the_observer_that_leads_is_demoted_last_and_with_a_word():
    since = {5: NOW_MS - 2_000, 6: NOW_MS - 1_000}
    told = advice((5, 6, 1, 2, 3), leader=5, known=HELD | {"promoted_since_ms": since})
    assert (told.action, told.observer, told.warnings) == (AdviceAction.DEMOTE, 6, ())
    told = advice((5, 1, 2, 3), leader=5, known=HELD)
    assert told.observer == 5
    assert told.warnings[0].startswith("Observer 5 is the leader")


def test_an_observer_in_the_isr_for_too_long_is_warned_of_but_kept_while_it_is_needed():
    told = advice((1, 2, 6), known={"promoted_since_ms": {6: NOW_MS - 3_600_001}})
    assert told.code is AdviceCode.STILL_NEEDED
    assert "60 min" in told.warnings[0]


class TestWithoutLeader:
    """Promotion needs a live member of the ISR (rule-all-sync-die)."""

    def leaderless(self, known=None, **changes):
        model = replace(partition(()), leader=None, elr=(1, 2, 3), **changes)
        return advise(model, facts(alive=frozenset({5, 6}), **(known or {})), policy(), NOW_MS)

    def test_only_a_person_may_elect_uncleanly(self):
        told = self.leaderless()
        assert (told.action, told.code) == (AdviceAction.BLOCKED, AdviceCode.NO_LIVE_LEADER)
        assert not told.is_automatic_allowed
        assert "Start broker 1, 2, 3" in told.todo
        assert "--election-type unclean" in told.todo

    def test_a_fenced_standby_must_be_promoted_before_it_can_be_elected(self):
        assert "promote it first" in self.leaderless().todo

    def test_the_replica_with_the_most_records_is_the_one_to_elect(self):
        lags = {5: ReplicaStanding(lag_records=40), 6: ReplicaStanding(lag_records=12)}
        told = self.leaderless({"standings": lags})
        assert (told.observer, told.data_at_risk.records) == (6, 12)

    def test_what_is_lost_is_not_known_where_the_lag_is_not(self):
        told = self.leaderless({"standings": {}})
        assert told.data_at_risk.records is None

    def test_without_a_quorum_not_even_that(self):
        told = self.leaderless({"has_quorum": False})
        assert told.code is AdviceCode.NO_QUORUM
        assert told.observer is None

    def test_a_complete_replica_that_is_alive_is_elected_by_the_controller(self):
        model = replace(partition(()), leader=None, elr=(2,))
        told = advise(model, facts(), policy(), NOW_MS)
        assert (told.action, told.code) == (AdviceAction.NONE, AdviceCode.WAITS_FOR_ELECTION)

    def test_nobody_is_left_at_all(self):
        model = replace(partition(()), leader=None, elr=(2,))
        told = advise(model, facts(alive=frozenset()), policy(), NOW_MS)
        assert (told.code, told.observer) == (AdviceCode.NO_LIVE_LEADER, None)


class TestOtherActors:
    def test_a_held_back_replica_may_lag_and_is_never_demoted_by_itself(self):
        held = dict.fromkeys((5, 6), ReplicaStanding(lag_records=100_000))
        wanted = {"actor": ActorKind.HELD_BACK_REPLICA}
        told = advice((1, 2), known={"standings": held, "standbys": frozenset()}, wanted=wanted)
        assert (told.action, told.expected_ms) == (AdviceAction.PROMOTE, 800)
        told = advice((1, 2, 3, 6), known=HELD, wanted=wanted)
        assert told.action is AdviceAction.DEMOTE
        assert not told.is_automatic_allowed

    def test_a_spare_is_copied_in_the_time_its_bytes_need(self):
        known = {
            "spares": (7, 8),
            "alive": frozenset(range(1, 9)),
            "racks": RACKS | {7: "west", 8: "east"},
        }
        told = advice(
            (1, 2),
            known=known | {"partition_bytes": 200_000_000, "bytes_per_s": 50e6},
            wanted={"actor": ActorKind.REASSIGN_TO_SPARE},
        )
        assert (told.observer, told.expected_ms) == (8, 4_000)

    def test_without_a_spare_nothing_can_be_reassigned(self):
        told = advice((1, 2), wanted={"actor": ActorKind.REASSIGN_TO_SPARE})
        assert (told.code, told.action) == (AdviceCode.NO_OBSERVERS, AdviceAction.BLOCKED)
        assert "no spare broker" in told.why

    def test_relaxing_says_what_acks_are_worth_from_then_on(self):
        told = advice((1,), wanted={"actor": ActorKind.RELAX_MIN_ISR})
        assert (told.action, told.observer) == (AdviceAction.PROMOTE, None)
        assert told.data_at_risk.records is None
        assert "one replica" in told.data_at_risk.sentence

    def test_a_relaxed_topic_is_not_relaxed_again_and_set_back_when_the_isr_is_back(self):
        wanted = {"actor": ActorKind.RELAX_MIN_ISR}
        relaxed = {"relaxed_from": 3}
        told = advice((1,), known=relaxed, wanted=wanted, min_insync_replicas=1)
        assert told.code is AdviceCode.STILL_NEEDED
        told = advice((1, 2, 3), known=relaxed | HELD, wanted=wanted, min_insync_replicas=1)
        assert (told.action, told.todo) == (
            AdviceAction.DEMOTE,
            "Restore min.insync.replicas to 3.",
        )

    @pytest.mark.parametrize("other", [UNDER_REPLICATED, LEADER_IS_OBSERVER])
    def test_relaxing_serves_only_under_min_isr(self, other):
        assert "actor" in check_policy(policy(policy=other, actor=ActorKind.RELAX_MIN_ISR))
        assert not check_policy(policy(actor=ActorKind.RELAX_MIN_ISR))


def test_a_policy_with_negative_times_is_refused_at_its_field():
    assert set(check_policy(policy(hold_ms=-1))) == {"hold_ms"}


def test_advice_becomes_json():
    told = advice((1, 2)).to_mapping()
    assert (told["action"], told["code"], told["actor"]) == (
        "promote",
        "under_min_isr",
        "fenced_standby",
    )
    assert told["evidence"]["isr"] == (1, 2)
