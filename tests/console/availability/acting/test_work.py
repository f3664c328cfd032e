"""Confirmed and automatic promotions run once, are verified, and reverted."""

from datetime import timedelta

import pytest

from console.accounts.models import AuditEntry
from console.availability.acting.work import Worker
from console.availability.advice.models import ObserverEvent
from console.availability.advice.round import advise_cluster, take_round
from console.availability.promotion import actions
from console.availability.promotion.models import ActionState, Actor, Mode, PromotionAction
from console.findings.models import Finding
from console.frame.claims import CLAIM
from jobs.cluster.errors import Unreachable
from tests.console.availability.promotion_world import (
    STANDBY,
    Clock,
    PaperDoor,
    make_action,
    make_policy,
    make_short,
    watched,
)

pytestmark = pytest.mark.django_db


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def door(clock):
    return PaperDoor(clock)


@pytest.fixture
def cluster():
    return make_short()


def look(cluster, clock, door, name="a"):
    """Look once as a program does: judge, then work."""
    advised = take_round(cluster, clock, door, polled=["orders"])
    return Worker(cluster, name, door, clock).work(advised)


def row():
    return PromotionAction.objects.get()


def entries(action):
    return list(AuditEntry.objects.filter(action=action).values_list("outcome", flat=True))


def test_a_round_advises_what_the_rules_want(cluster, clock, door):
    make_policy(cluster)
    advise_cluster(cluster.pk, clock, door)
    found = row()
    assert (found.subject, found.state, found.broker) == ("broker 3", "advised", STANDBY)
    assert (found.because, found.evidence["leader_epoch"]) == (["orders-0"], 5)
    assert found.how_to_demote
    assert door.acts == []


def test_advice_stands_as_a_finding_with_its_runbook(cluster, clock, door):
    make_policy(cluster)
    advise_cluster(cluster.pk, clock, door)
    found = Finding.objects.get()
    assert (found.code, found.severity, found.trouble) == (
        "promotion_wanted",
        "critical",
        "under_min_isr",
    )
    assert found.todo == "Promote broker 3."


def test_a_round_that_is_not_due_is_not_taken(cluster, clock, door):
    make_policy(cluster)
    advise_cluster(cluster.pk, clock, door)
    assert not advise_cluster(cluster.pk, clock, door)


def test_a_second_round_confirms_the_same_advice(cluster, clock, door):
    make_policy(cluster)
    look(cluster, clock, door)
    clock.go(10)
    look(cluster, clock, door)
    assert row().seen_at == clock.now


def test_advice_that_nobody_wants_any_more_lapses(cluster, clock, door):
    make_policy(cluster)
    look(cluster, clock, door)
    door.isr = (1, 2)
    clock.go(5)
    look(cluster, clock, door)
    assert row().state == ActionState.LAPSED


def test_a_cluster_that_does_not_answer_keeps_its_advice(cluster, clock, door):
    make_policy(cluster)
    look(cluster, clock, door)
    door.look_fault = Unreachable("no broker answered", cluster="east")
    clock.go(5)
    assert take_round(cluster, clock, door) is None
    assert row().state == ActionState.ADVISED


def test_where_nothing_is_missing_the_cluster_is_not_asked(clock, door):
    cluster = make_short(isr=(1, 2))
    make_policy(cluster)
    take_round(cluster, clock, door)
    assert door.asked == []
    assert not PromotionAction.objects.exists()


def test_a_policy_that_advises_never_acts(cluster, clock, door):
    make_policy(cluster)
    for _ in range(3):
        look(cluster, clock, door)
        clock.go(20)
    assert door.acts == []


def test_a_policy_that_acts_promotes_after_a_dry_run(cluster, clock, door):
    make_policy(cluster, mode=Mode.ACT)
    look(cluster, clock, door)
    found = row()
    assert (found.state, found.is_automatic, found.took_ms) == (ActionState.VERIFIED, True, 412)
    assert found.plan["requests"]
    assert door.asked.index("plan") < door.asked.index("act")
    assert entries("promotion.acted") == ["done"]


def test_it_is_promoted_once_however_often_it_is_looked(cluster, clock, door):
    make_policy(cluster, mode=Mode.ACT)
    for name in ("a", "b", "a"):
        look(cluster, clock, door, name)
        clock.go(1)
    assert door.acts == ["act"]


def test_it_reverts_by_itself_when_the_isr_is_well_for_long_enough(cluster, clock, door):
    make_policy(cluster, mode=Mode.ACT, hold_s=5, cooldown_s=10)
    look(cluster, clock, door)
    door.isr, door.alive = (1, 2, STANDBY), frozenset({1, 2, STANDBY})
    clock.go(11)
    look(cluster, clock, door)
    assert row().state == ActionState.VERIFIED
    clock.go(6)
    look(cluster, clock, door)
    found = row()
    assert (found.state, door.isr) == (ActionState.REVERTED, (1, 2))
    assert "sync replicas are in the ISR" in found.revert_reason
    assert entries("promotion.reverted") == ["done"]


def test_events_tell_who_joined_and_left(cluster, clock, door):
    make_policy(cluster, mode=Mode.ACT)
    look(cluster, clock, door)
    clock.go(2)
    look(cluster, clock, door)
    assert list(ObserverEvent.objects.values_list("kind", "broker")) == [("promoted", STANDBY)]


def test_the_stop_switch_is_honoured(cluster, clock, door, operator):
    make_policy(cluster, mode=Mode.ACT)
    actions.stop_promotions(cluster, "maintenance", operator, clock())
    look(cluster, clock, door)
    found = row()
    assert door.acts == []
    assert [one["code"] for one in found.refusals] == ["stopped"]
    assert Finding.objects.filter(code="stop_switch_on").exists()
    actions.allow_promotions(cluster, "", operator, clock())
    clock.go(6)
    look(cluster, clock, door)
    assert row().state == ActionState.VERIFIED


def test_the_switch_of_all_clusters_counts_for_each(cluster, clock, door, operator):
    make_policy(cluster, mode=Mode.ACT)
    actions.stop_promotions(None, "", operator, clock())
    look(cluster, clock, door)
    assert door.acts == []


def test_what_stands_reverts_while_the_stop_switch_is_on(cluster, clock, door, operator):
    make_policy(cluster, mode=Mode.ACT)
    look(cluster, clock, door)
    watched(cluster, clock())
    actions.stop_promotions(cluster, "", operator, clock())
    actions.revert_action(row(), "broker 3", "enough", operator, clock())
    clock.go(1)
    look(cluster, clock, door)
    assert row().state == ActionState.REVERTED


def test_read_only_acts_on_nothing(cluster, clock, door, settings):
    settings.CROSSLOG_READ_ONLY = True
    make_policy(cluster, mode=Mode.ACT)
    look(cluster, clock, door)
    assert door.acts == []


@pytest.mark.parametrize(
    ("change", "code"),
    [
        pytest.param({"allowed_brokers": [2]}, "not_allowed", id="not on the list"),
        pytest.param({"mode": Mode.ADVISE, "opted_in_at": None}, None, id="no user opted in"),
    ],
)
def test_the_guard_refuses(cluster, clock, door, change, code):
    make_policy(cluster, mode=Mode.ACT)
    look_first = take_round(cluster, clock, door, polled=["orders"])
    policy = look_first.actions[0].policy
    for name, value in change.items():
        setattr(policy, name, value)
    policy.save()
    look_first.actions[0].policy = policy
    Worker(cluster, "a", door, clock).work(look_first)
    assert door.acts == []
    assert code is None or code in [one["code"] for one in row().refusals]


def test_a_leader_epoch_that_moved_between_advice_and_act_refuses(cluster, clock, door):
    make_policy(cluster, mode=Mode.ACT)
    advised = take_round(cluster, clock, door, polled=["orders"])
    door.leader_epoch += 1
    Worker(cluster, "a", door, clock).work(advised)
    assert door.acts == []
    assert "leader_epoch_changed" in [one["code"] for one in row().refusals]


def test_a_high_watermark_that_went_back_refuses(cluster, clock, door):
    make_policy(cluster, mode=Mode.ACT)
    advised = take_round(cluster, clock, door, polled=["orders"])
    door.high_watermark -= 1
    Worker(cluster, "a", door, clock).work(advised)
    assert door.acts == []


def test_a_refusal_is_written_once_and_not_with_every_look(cluster, clock, door, operator):
    make_policy(cluster, mode=Mode.ACT)
    actions.stop_promotions(cluster, "", operator, clock())
    for _ in range(3):
        look(cluster, clock, door)
        clock.go(6)
    assert entries("promotion.refused") == ["refused"]


def test_the_cooldown_keeps_it_from_going_to_and_fro(cluster, clock, door):
    make_policy(cluster, mode=Mode.ACT, cooldown_s=60, hold_s=5)
    look(cluster, clock, door)
    door.isr, door.alive = (1, 2, STANDBY), frozenset({1, 2, STANDBY})
    for _ in range(3):
        clock.go(6)
        look(cluster, clock, door)
    assert (row().state, door.acts) == (ActionState.VERIFIED, ["act"])
    assert [one["code"] for one in row().refusals] == ["cooldown"]


def test_an_effect_that_is_not_seen_is_a_failure_that_a_person_looks_at(cluster, clock, door):
    make_policy(cluster, mode=Mode.ACT)
    door.works = False
    look(cluster, clock, door)
    assert row().state == ActionState.FAILED
    assert entries("promotion.acted") == ["failed"]


def test_a_fault_while_acting_is_a_failure(cluster, clock, door):
    make_policy(cluster, mode=Mode.ACT)
    door.fault = Unreachable("the controller does not answer", cluster="east")
    look(cluster, clock, door)
    found = row()
    assert found.state == ActionState.FAILED
    assert "does not answer" in found.outcome["sentence"]


def test_a_program_that_died_while_acting_is_settled_by_looking_not_by_acting(cluster, clock, door):
    policy = make_policy(cluster, mode=Mode.ACT)
    make_action(
        cluster,
        policy=policy,
        state=ActionState.ACTING,
        acted_at=clock(),
        claimed_by="dead",
        claimed_until=clock() + CLAIM,
    )
    door.isr = (1, STANDBY)
    look(cluster, clock, door)
    assert row().state == ActionState.ACTING
    clock.go(CLAIM.total_seconds() + 1)
    look(cluster, clock, door)
    assert (row().state, door.acts) == (ActionState.VERIFIED, [])


def test_one_action_at_a_time(cluster, clock, door):
    make_policy(cluster, mode=Mode.ACT)
    make_action(
        cluster,
        subject="payments-0",
        topic="payments",
        actor=Actor.RELAX_MIN_ISR,
        state=ActionState.ACTING,
        claimed_by="b",
        claimed_until=clock() + timedelta(minutes=5),
    )
    look(cluster, clock, door)
    assert door.acts == []


def test_a_person_plans_applies_and_it_is_done_and_taken_back(cluster, clock, door, operator):
    make_policy(cluster)
    look(cluster, clock, door)
    watched(cluster, clock())
    actions.plan_action(row(), operator, clock(), door)
    actions.apply_action(row(), "broker 3", operator, clock())
    assert row().state == ActionState.ASKED
    clock.go(1)
    look(cluster, clock, door)
    assert (row().state, row().asked_by) == (ActionState.VERIFIED, operator)
    actions.revert_action(row(), "broker 3", "it is over", operator, clock())
    clock.go(1)
    look(cluster, clock, door)
    assert (row().state, row().revert_reason) == (ActionState.REVERTED, "it is over")
    assert door.acts == ["act", "revert"]


def test_what_is_not_wanted_any_more_is_refused_although_a_person_asked(
    cluster, clock, door, operator
):
    make_policy(cluster)
    look(cluster, clock, door)
    watched(cluster, clock())
    actions.plan_action(row(), operator, clock(), door)
    actions.apply_action(row(), "broker 3", operator, clock())
    door.isr = (1, 2)
    look(cluster, clock, door)
    assert (row().state, door.acts) == (ActionState.REFUSED, [])
