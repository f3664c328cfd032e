"""What the guard refuses just before acting, each reason with its code."""

from dataclasses import replace

import pytest

from jobs.availability.promotion.actors.kinds import ActorKind
from jobs.availability.promotion.advice import Mode
from jobs.availability.promotion.advisor import advise
from jobs.availability.promotion.preconditions import (
    PreconditionCode,
    PreconditionRules,
    PreconditionState,
    check_preconditions,
    cooldown_keys,
    keys_after,
)
from tests.jobs.availability.partitions import NOW_MS, facts, partition, policy, seen_again

RULES = PreconditionRules(
    mode=Mode.ACT, opted_in=frozenset({"orders"}), allowed_brokers=frozenset({5, 6})
)
STATE = PreconditionState(is_dry_run_done=True)
PROMOTE = advise(partition((1, 2)), facts(), policy(), NOW_MS)
DEMOTE = advise(
    partition((1, 2, 3, 6)), facts(recovered_since_ms=NOW_MS - 60_000), policy(), NOW_MS
)
NOTHING = advise(partition((1, 2, 3)), facts(), policy(), NOW_MS)
LEADERLESS = advise(
    replace(partition(()), leader=None, elr=(1,)), facts(alive=frozenset({6})), policy(), NOW_MS
)
HELD_BACK = advise(
    partition((1, 2, 3, 6)),
    facts(recovered_since_ms=NOW_MS - 60_000),
    policy(actor=ActorKind.HELD_BACK_REPLICA),
    NOW_MS,
)


def refused(advice=PROMOTE, *, rules=None, state=None, now_ms=NOW_MS + 100, **seen):
    current = seen_again(advice.evidence, **seen)
    found = check_preconditions(
        advice, current, replace(RULES, **(rules or {})), replace(STATE, **(state or {})), now_ms
    )
    return [one.code for one in found]


@pytest.mark.parametrize("advice", [PROMOTE, DEMOTE], ids=["promote", "demote"])
def test_what_nothing_speaks_against_may_be_done(advice):
    assert refused(advice) == []


REFUSALS = [
    pytest.param({"state": {"is_stopped": True}}, "stopped", id="the stop switch is on"),
    pytest.param({"state": {"is_read_only": True}}, "read_only", id="crosslog is read-only"),
    pytest.param({"state": {"in_maintenance": True}}, "maintenance", id="maintenance"),
    pytest.param({"state": {"has_quorum": False}}, "no_quorum", id="no quorum"),
    pytest.param({"state": {"has_quorum": None}}, "no_quorum", id="the quorum is not known"),
    pytest.param({"rules": {"mode": Mode.ADVISE}}, "advice_only", id="the policy only advises"),
    pytest.param({"rules": {"opted_in": frozenset()}}, "not_opted_in", id="no user opted in"),
    pytest.param(
        {"rules": {"opted_in": frozenset({"order"})}},
        "not_opted_in",
        id="opted in for another topic",
    ),
    pytest.param(
        {"rules": {"allowed_brokers": frozenset({5})}}, "not_allowed", id="not on the list"
    ),
    pytest.param({"state": {"is_dry_run_done": False}}, "no_dry_run", id="no dry run"),
    pytest.param({"state": {"actor_problems": ("No.",)}}, "actor_unusable", id="unusable actor"),
    pytest.param({"state": {"running": ("promotion of broker 5",)}}, "another_action", id="busy"),
    pytest.param(
        {"state": {"last_ended_ms": {"broker 6": NOW_MS - 299_000}}}, "cooldown", id="cooldown"
    ),
    pytest.param(
        {"state": {"last_ended_ms": {"demotion of orders-0": NOW_MS}}},
        "cooldown",
        id="another observer of the partition was demoted",
    ),
    pytest.param(
        {"state": {"last_ended_ms": {"broker 6": NOW_MS + 60_000}}},
        "clock_went_back",
        id="the last action is in the future",
    ),
    pytest.param({"at_ms": NOW_MS - 1}, "facts_before_advice", id="facts older than the advice"),
    pytest.param({"now_ms": NOW_MS + 10_051}, "facts_too_old", id="facts too old to act on"),
    pytest.param({"now_ms": NOW_MS}, "clock_went_back", id="facts from the future"),
    pytest.param({"leader": None}, "no_live_leader", id="no leader any more"),
    pytest.param({"leader": 2}, "leader_changed", id="another leader"),
    pytest.param({"leader_epoch": 8}, "leader_epoch_changed", id="another leader epoch"),
    pytest.param({"partition_epoch": 21}, "partition_epoch_changed", id="the ISR changed"),
    pytest.param({"high_watermark": 999}, "high_watermark_went_back", id="the leader was cut"),
    pytest.param({"leader_epoch": None}, "facts_missing", id="the leader epoch is not known"),
    pytest.param({"high_watermark": None}, "facts_missing", id="the high watermark is not known"),
    pytest.param({"observer_lag_records": 1_001}, "observer_fell_behind", id="fell behind"),
]


@pytest.mark.parametrize(("change", "code"), REFUSALS)
def test_a_promotion_is_refused(change, code):
    assert refused(**change) == [code]


def test_every_code_can_be_refused():
    others = {PreconditionCode.NOT_ADVISED, PreconditionCode.NEEDS_A_PERSON}
    assert {case.values[1] for case in REFUSALS} | others == set(PreconditionCode)


def test_what_cannot_be_read_is_refused():
    found = check_preconditions(PROMOTE, None, RULES, STATE, NOW_MS)
    assert [one.code for one in found] == [PreconditionCode.FACTS_MISSING]


def test_what_nobody_advised_is_refused():
    assert refused(NOTHING) == [PreconditionCode.NOT_ADVISED]


def test_an_unclean_election_is_never_automatic():
    codes = refused(LEADERLESS)
    assert {
        PreconditionCode.NOT_ADVISED,
        PreconditionCode.NEEDS_A_PERSON,
        PreconditionCode.NO_LIVE_LEADER,
    } <= set(codes)


def test_what_copies_data_to_be_undone_needs_a_person():
    assert refused(HELD_BACK) == [PreconditionCode.NEEDS_A_PERSON]
    assert refused(HELD_BACK, state={"is_by_person": True}) == []


def test_the_stop_switch_lets_promotions_be_taken_back():
    assert refused(DEMOTE, state={"is_stopped": True}) == []


@pytest.mark.parametrize("switch", ["is_read_only", "in_maintenance"])
def test_read_only_and_maintenance_refuse_demotions_too(switch):
    assert len(refused(DEMOTE, state={switch: True})) == 1


def test_a_person_needs_no_opt_in_but_a_dry_run_and_the_cooldown():
    by_hand = {"is_by_person": True}
    closed = {"mode": Mode.ADVISE, "opted_in": frozenset()}
    assert refused(rules=closed, state=by_hand) == []
    assert refused(rules=closed, state=by_hand | {"is_dry_run_done": False}) == ["no_dry_run"]
    last = {"last_ended_ms": {"broker 6": NOW_MS}}
    assert refused(rules=closed, state=by_hand | last) == ["cooldown"]


def test_all_reasons_are_told_at_once():
    codes = refused(state={"is_stopped": True, "is_read_only": True}, leader_epoch=8)
    assert codes == ["stopped", "read_only", "leader_epoch_changed"]


def test_a_cooldown_that_is_over_refuses_nothing():
    assert refused(state={"last_ended_ms": {"broker 6": NOW_MS - 300_000}}) == []


def test_another_observer_may_follow_at_once():
    assert refused(state={"last_ended_ms": {"broker 5": NOW_MS}}) == []


def test_a_demotion_is_remembered_for_the_partition_a_promotion_is_not():
    assert keys_after(PROMOTE) == ("broker 6",)
    assert keys_after(DEMOTE) == ("broker 6", "demotion of orders-0")
    assert cooldown_keys(PROMOTE) == ("broker 6", "demotion of orders-0")


def test_an_actor_without_a_broker_of_its_own_rests_by_partition():
    relax = advise(partition((1,)), facts(), policy(actor=ActorKind.RELAX_MIN_ISR), NOW_MS)
    assert keys_after(relax) == ("orders-0",)


def test_every_refusal_is_a_sentence():
    found = check_preconditions(
        PROMOTE,
        None,
        PreconditionRules(),
        PreconditionState(is_stopped=True, has_quorum=None),
        NOW_MS,
    )
    assert all(one.sentence.endswith(".") for one in found)
