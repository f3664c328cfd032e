"""What people may do about promotions: what is refused is said at its field, and written."""

from datetime import timedelta

import pytest
from django.utils import timezone

from console.accounts.models import AuditEntry
from console.availability.drills import actions as drill_actions
from console.availability.drills.models import Drill
from console.availability.promotion import actions
from console.availability.promotion.models import ActionState, Actor, Mode, PromotionPolicy
from console.availability.promotion.policies import PolicyLookup
from console.frame.errors import ActionRefused
from jobs.cluster.errors import InvalidFields
from tests.console.availability.promotion_world import (
    Clock,
    PaperDoor,
    make_action,
    make_policy,
    make_short,
    watched,
)

pytestmark = pytest.mark.django_db
GOOD = {"pattern": "orders", "allowed_brokers": [3]}


@pytest.fixture
def cluster():
    return make_short()


def now():
    return timezone.now()


@pytest.mark.parametrize(
    ("values", "field"),
    [
        pytest.param({"pattern": ""}, "pattern", id="no topic"),
        pytest.param({"pattern": "no such/name"}, "pattern", id="no name of a topic"),
        pytest.param({"kind": "regex", "pattern": "("}, "pattern", id="no expression"),
        pytest.param({"kind": "guess"}, "kind", id="unknown kind"),
        pytest.param({"policy": "when-I-say-so"}, "policy", id="unknown policy"),
        pytest.param({"mode": "perhaps"}, "mode", id="unknown mode"),
        pytest.param({"actor": "magic"}, "actor", id="unknown actor"),
        pytest.param(
            {"actor": "relax_min_isr", "policy": "under-replicated"},
            "actor",
            id="does not serve it",
        ),
        pytest.param({"allowed_brokers": [9]}, "allowed_brokers", id="unknown broker"),
        pytest.param({"allowed_brokers": [3, 3]}, "allowed_brokers", id="broker twice"),
        pytest.param({"allowed_brokers": "3"}, "allowed_brokers", id="no list"),
        pytest.param(
            {"mode": "act", "allowed_brokers": []}, "allowed_brokers", id="acts on no broker"
        ),
        pytest.param({"cooldown_s": 1}, "cooldown_s", id="short cooldown"),
        pytest.param({"hold_s": 10**9}, "hold_s", id="long hold"),
        pytest.param({"priority": -1}, "priority", id="negative priority"),
        pytest.param({"note": "x" * 400}, "note", id="long note"),
        pytest.param({"mode": "act"}, "confirm", id="acting without confirmation"),
        pytest.param({"mode": "act", "confirm": "order"}, "confirm", id="mistyped confirmation"),
    ],
)
def test_a_bad_policy_is_said_at_its_field_and_not_kept(cluster, operator, values, field):
    with pytest.raises(InvalidFields) as refused:
        actions.create_policy(cluster, {**GOOD, **values}, operator, now())
    assert set(refused.value.errors) == {field}
    assert not PromotionPolicy.objects.exists()


def test_a_policy_advises_unless_somebody_opts_in(cluster, operator):
    policy = actions.create_policy(cluster, GOOD, operator, now())
    assert (policy.mode, policy.acts, policy.opted_in_by) == (Mode.ADVISE, False, None)


def test_opting_in_is_by_name_and_written(cluster, operator):
    values = {**GOOD, "mode": "act", "confirm": "orders"}
    policy = actions.create_policy(cluster, values, operator, now())
    assert (policy.acts, policy.opted_in_by) == (True, operator)
    entry = AuditEntry.objects.get(action="promotion.policy_create")
    assert (entry.cluster, entry.after["mode"]) == ("east", "act")


@pytest.mark.parametrize(
    ("values", "needs"),
    [
        pytest.param({"allowed_brokers": [2, 3]}, True, id="another broker"),
        pytest.param({"kind": "glob", "pattern": "orders*"}, True, id="more topics"),
        pytest.param({"actor": "reassign_to_spare"}, True, id="another way"),
        pytest.param({"priority": 5}, True, id="before other policies"),
        pytest.param({"cooldown_s": 900}, False, id="a longer cooldown"),
        pytest.param({"mode": "advise"}, False, id="back to advice"),
    ],
)
def test_a_policy_that_acts_reaches_further_only_when_confirmed(cluster, operator, values, needs):
    policy = make_policy(cluster, mode=Mode.ACT)
    if needs:
        with pytest.raises(InvalidFields) as refused:
            actions.change_policy(policy, values, operator, now())
        assert set(refused.value.errors) == {"confirm"}
    else:
        actions.change_policy(policy, values, operator, now())
    policy.refresh_from_db()
    assert policy.acts is (values.get("mode") != "advise")


def test_a_second_policy_for_the_same_topics_is_refused(cluster, operator):
    make_policy(cluster)
    with pytest.raises(InvalidFields) as refused:
        actions.create_policy(cluster, GOOD, operator, now())
    assert set(refused.value.errors) == {"pattern"}


@pytest.mark.parametrize(
    ("topic", "wanted"),
    [("orders", "orders"), ("orders.eu", "orders*"), ("clicks", ".*"), ("o", ".*")],
)
def test_the_closest_policy_counts(cluster, topic, wanted):
    make_policy(cluster)
    make_policy(cluster, kind="glob", pattern="orders*", priority=5)
    make_policy(cluster, kind="regex", pattern=".*")
    found = PolicyLookup(PromotionPolicy.objects.all()).of(topic)
    assert found is not None
    assert found.pattern == wanted


def test_a_policy_of_which_a_promotion_stands_is_not_removed(cluster):
    policy = make_policy(cluster)
    make_action(cluster, policy=policy, state=ActionState.VERIFIED)
    with pytest.raises(ActionRefused) as refused:
        actions.delete_policy(policy)
    assert refused.value.code == "promotion_stands"


def applied(action, operator, confirm="broker 3"):
    return actions.apply_action(action, confirm, operator, now())


@pytest.fixture
def planned(cluster):
    watched(cluster)
    return make_action(
        cluster,
        policy=make_policy(cluster),
        state=ActionState.PLANNED,
        plan={"requests": []},
        planned_at=now(),
    )


def test_applying_needs_the_subject_typed(planned, operator):
    with pytest.raises(InvalidFields) as refused:
        applied(planned, operator, "broker 4")
    assert set(refused.value.errors) == {"confirm"}


def change(action, **fields):
    for name, value in fields.items():
        setattr(action, name, value)
    action.save()


@pytest.mark.parametrize(
    ("spoil", "code"),
    [
        pytest.param(lambda a: change(a, state=ActionState.ADVISED), "no_dry_run", id="no dry run"),
        pytest.param(
            lambda a: change(a, planned_at=now() - timedelta(hours=1)), "plan_stale", id="old plan"
        ),
        pytest.param(
            lambda a: change(a, plan={"refusals": ["It does not run."]}),
            "plan_refuses",
            id="refused",
        ),
        pytest.param(lambda a: change(a, policy=None), "no_policy", id="no policy"),
        pytest.param(
            lambda a: change(a, state=ActionState.LAPSED), "not_waiting", id="not wanted any more"
        ),
        pytest.param(
            lambda a: watched(a.cluster, now() - timedelta(minutes=5)),
            "no_promoter",
            id="no process acts",
        ),
        pytest.param(
            lambda a: actions.stop_promotions(a.cluster, "", None, now()), "stopped", id="stopped"
        ),
        pytest.param(
            lambda a: make_action(
                a.cluster,
                subject="x-0",
                topic="x",
                actor=Actor.RELAX_MIN_ISR,
                state=ActionState.ACTING,
            ),
            "another_action",
            id="another action",
        ),
    ],
)
def test_what_is_refused_is_written(planned, operator, spoil, code):
    spoil(planned)
    with pytest.raises(ActionRefused) as refused:
        applied(planned, operator)
    assert refused.value.code == code
    entry = AuditEntry.objects.get(action="promotion.apply")
    assert (entry.outcome, entry.after["code"]) == ("refused", code)


def test_asking_twice_asks_once(planned, operator):
    applied(planned, operator)
    with pytest.raises(ActionRefused):
        applied(planned, operator)


def test_a_dry_run_of_a_cluster_that_does_not_answer_is_refused(cluster, operator):
    from jobs.cluster.errors import Unreachable

    class Away(PaperDoor):
        def actor(self, action):
            raise Unreachable("no broker answered", cluster="east")

    with pytest.raises(ActionRefused) as refused:
        actions.plan_action(make_action(cluster), operator, now(), Away(Clock()))
    assert refused.value.code == "cluster_does_not_answer"


@pytest.mark.parametrize(
    ("values", "field"),
    [
        pytest.param({}, "confirm", id="no confirmation"),
        pytest.param({"confirm": "east", "actors": ["magic"]}, "actors", id="unknown way"),
        pytest.param(
            {"confirm": "east", "actors": ["held_back_replica"]}, "actors", id="cannot be drilled"
        ),
        pytest.param({"confirm": "east", "broker": 77}, "broker", id="unknown broker"),
    ],
)
def test_a_bad_drill_is_said_at_its_field(cluster, operator, values, field):
    with pytest.raises(InvalidFields) as refused:
        drill_actions.start_drill(cluster, values, operator, now())
    assert set(refused.value.errors) == {field}
    assert not Drill.objects.exists()


def test_one_drill_at_a_time(cluster, operator):
    drill_actions.start_drill(cluster, {"confirm": "east"}, operator, now())
    with pytest.raises(ActionRefused) as refused:
        drill_actions.start_drill(cluster, {"confirm": "east"}, operator, now())
    assert refused.value.code == "drill_is_running"


def test_a_what_if_drill_is_compared_by_what_both_name(cluster, operator):
    results = [
        {"subject": "orders-0", "prediction": {"leader": 2, "isr": [2]}, "seen": {"leader": 2}},
        {"subject": "orders-1", "prediction": {"leader": 2}, "seen": {"leader": None}},
    ]
    row = drill_actions.record_drill(cluster, {"results": results}, operator, now())
    assert (row.state, row.good_count, row.bad_count) == ("partial", 1, 1)
    assert row.results.get(subject="orders-1").message == "Different from the prediction: leader."


@pytest.mark.parametrize(
    "results",
    [None, [], "x", [{}], [{"subject": "a", "prediction": 1, "seen": {}}], [1]],
)
def test_what_is_no_result_is_said_at_its_field(cluster, operator, results):
    with pytest.raises(InvalidFields) as refused:
        drill_actions.record_drill(cluster, {"results": results}, operator, now())
    assert set(refused.value.errors) == {"results"}
