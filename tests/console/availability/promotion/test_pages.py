"""Pages and routes of promotions: the answer first, refusals said and written, few queries."""

import json

import pytest

from console.accounts.models import AuditEntry
from console.availability.drills.models import Drill
from console.availability.promotion.models import (
    ActionState,
    PromotionAction,
    PromotionPolicy,
    PromotionStop,
)
from tests.console.availability.promotion_world import (
    fill_promotion,
    fill_promotion_pages,
    make_action,
    make_drill,
    make_policy,
    make_short,
    watched,
)
from tests.console.making import count_queries

pytestmark = pytest.mark.django_db


@pytest.fixture
def cluster():
    return make_short()


def page(client, path="promotion/"):
    answer = client.get(f"/availability/east/{path}")
    assert answer.status_code == 200
    return answer.content.decode()


def post(client, path, **values):
    return client.post(f"/availability/east/{path}", values)


@pytest.fixture
def api(sign_in, operator):
    client = sign_in(operator)

    def ask(method, path, body=None, **headers):
        given = (
            {} if body is None else {"data": json.dumps(body), "content_type": "application/json"}
        )
        return getattr(client, method)(f"/api/v1/{path}", headers=headers, **given)

    return ask


def test_the_page_answers_first(sign_in, viewer, cluster):
    fill_promotion(cluster)
    text = page(sign_in(viewer))
    assert "Observer promotion" in text
    assert "Promote broker 3" in text
    assert text.index("Pending advice") < text.index("Methods</h2>")


def test_advice_comes_with_evidence_time_risk_and_the_way_back(sign_in, viewer, cluster):
    fill_promotion(cluster)
    text = page(sign_in(viewer))
    for words in (
        "Leader epoch 5",
        "High watermark 100",
        "140",
        "Nothing that was acked",
        "Fence broker 3",
    ):
        assert words in text


def test_a_finding_links_its_runbook_with_everything_filled_in(sign_in, viewer, cluster):
    fill_promotion(cluster)
    wanted = (
        "severity=under_min_isr&amp;cause=unknown&amp;topic=orders&amp;partition=0&amp;broker=2"
    )
    assert wanted in page(sign_in(viewer))


def test_the_stop_switch_is_always_in_sight(sign_in, viewer, operator, cluster):
    action = fill_promotion(cluster)
    for path in ("promotion/", f"promotion/actions/{action.pk}/"):
        assert "Stop switch" in page(sign_in(viewer), path)
        assert "Stop promotions of east" in page(sign_in(operator), path)


def test_an_operator_turns_the_switch_and_turns_it_back(sign_in, operator, cluster):
    client = sign_in(operator)
    post(client, "promotion/stop/", why="maintenance")
    assert PromotionStop.objects.get().is_on
    assert "no promotion starts" in page(client)
    post(client, "promotion/go-on/")
    assert not PromotionStop.objects.get().is_on
    assert set(AuditEntry.objects.values_list("action", flat=True)) == {
        "promotion.stop",
        "promotion.go_on",
    }


def test_viewers_see_no_buttons(sign_in, viewer, cluster):
    action = fill_promotion(cluster)
    text = page(sign_in(viewer))
    assert "Stop promotions of east" not in text
    assert "New policy" not in text
    assert "Make the dry run" not in page(sign_in(viewer), f"promotion/actions/{action.pk}/")


def test_before_the_first_round_it_says_so(sign_in, viewer, cluster):
    text = page(sign_in(viewer))
    assert "Not evaluated yet" in text
    assert "No policy yet" in text


def test_a_policy_is_written_changed_and_removed(sign_in, operator, cluster):
    client = sign_in(operator)
    values = {
        "kind": "exact", "pattern": "orders", "policy": "", "actor": "fenced_standby", "mode": "act",
        "allowed_brokers": "3", "cooldown_s": "30", "hold_s": "10",
    }  # fmt: skip
    answer = post(client, "promotion/policies/new/", **values)
    assert "To enable it, type" in answer.content.decode()
    assert not PromotionPolicy.objects.exists()
    post(client, "promotion/policies/new/", **values, confirm="orders")
    policy = PromotionPolicy.objects.get()
    assert (policy.acts, policy.opted_in_by, policy.hold_s) == (True, operator, 10)
    post(client, f"promotion/policies/{policy.pk}/", **{**values, "mode": "advise"})
    assert not PromotionPolicy.objects.get().acts
    post(client, f"promotion/policies/{policy.pk}/remove/")
    assert not PromotionPolicy.objects.exists()


def test_a_form_that_is_wrong_keeps_what_was_typed(sign_in, operator, cluster):
    values = {"kind": "exact", "pattern": "orders", "actor": "fenced_standby", "mode": "advise"}
    text = post(
        sign_in(operator),
        "promotion/policies/new/",
        **values,
        allowed_brokers="3 nine",
        note="of mine",
    ).content.decode()
    assert "is not a broker id" in text
    assert "of mine" in text
    assert "3 nine" in text


def test_applying_needs_the_name_typed_and_says_what_refuses(sign_in, operator, cluster):
    client = sign_in(operator)
    action = make_action(cluster, policy=make_policy(cluster))
    path = f"promotion/actions/{action.pk}/apply/"
    assert "Type this to confirm" in post(client, path, **{"apply-confirm": "x"}).content.decode()
    text = post(client, path, **{"apply-confirm": "broker 3"}).content.decode()
    assert "No dry run yet" in text
    assert PromotionAction.objects.get().state == ActionState.ADVISED


@pytest.mark.parametrize("path", ["plan/", "apply/", "revert/"])
def test_who_may_not_is_refused_and_written(sign_in, viewer, cluster, path):
    action = make_action(cluster)
    answer = post(sign_in(viewer), f"promotion/actions/{action.pk}/{path}")
    assert answer.status_code == 403
    entry = AuditEntry.objects.get()
    assert (entry.outcome, entry.actor_name) == ("refused", "vera")
    assert entry.action == f"promotion.{path.strip('/')}"


@pytest.mark.parametrize("path", ["plan/", "apply/", "revert/"])
def test_routes_refuse_and_write_likewise(sign_in, viewer, cluster, path):
    action = make_action(cluster)
    answer = sign_in(viewer).post(
        f"/api/v1/promotion-actions/{action.pk}/{path}", "{}", "application/json"
    )
    assert answer.status_code == 403
    entry = AuditEntry.objects.get()
    assert (entry.outcome, entry.action) == ("refused", f"promotion.{path.strip('/')}")


def test_a_write_at_a_cluster_of_others_is_refused_and_written(sign_in, viewer, cluster):
    body = {"cluster": "east", "pattern": "orders"}
    answer = sign_in(viewer).post(
        "/api/v1/promotion-policies/", json.dumps(body), "application/json"
    )
    assert answer.status_code == 403
    assert AuditEntry.objects.get().action == "promotion.policy.create"


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("promotion-policies/", {"cluster": "east", "pattern": "orders"}),
        ("promotion-stop/", {"cluster": "east", "is_on": True}),
        ("drills/", {"cluster": "east", "confirm": "east"}),
    ],
)
def test_read_only_refuses_and_writes(api, cluster, settings, path, body):
    settings.CROSSLOG_READ_ONLY = True
    answer = api("post", path, body)
    assert (answer.status_code, answer.json()["code"]) == (409, "read_only")
    assert AuditEntry.objects.get().outcome == "refused"


def test_routes_do_the_whole_of_it(api, cluster, operator):
    made = api(
        "post",
        "promotion-policies/",
        {"cluster": "east", "pattern": "orders", "allowed_brokers": [3]},
    )
    assert (made.status_code, made.json()["acts"]) == (201, False)
    changed = api("patch", f"promotion-policies/{made.json()['id']}/", {"hold_s": 30})
    assert (changed.json()["hold_s"], changed.json()["allowed_brokers"]) == (30, [3])
    policy = PromotionPolicy.objects.get()
    action = make_action(cluster, policy=policy, state=ActionState.VERIFIED)
    watched(cluster)
    told = api("get", f"promotion-actions/{action.pk}/").json()
    assert (told["subject"], told["evidence"]["leader_epoch"]) == ("broker 3", 5)
    refused = api("delete", f"promotion-policies/{policy.pk}/")
    assert (refused.status_code, refused.json()["code"]) == (409, "promotion_stands")
    reverted = api("post", f"promotion-actions/{action.pk}/revert/", {"confirm": "broker 3"})
    assert reverted.json()["state"] == "revert_asked"


def test_a_policy_cannot_be_moved_to_another_cluster_and_that_is_said(api, cluster, operator):
    made = api("post", "promotion-policies/", {"cluster": "east", "pattern": "orders"}).json()
    path = f"promotion-policies/{made['id']}/"
    refused = api("patch", path, {"cluster": "west", "hold_s": 30})
    assert refused.status_code == 400
    assert refused.json()["fields"]["cluster"] == [
        "This policy belongs to east. Create one for west, and delete this one."
    ]
    same = api("patch", path, {"cluster": "east", "hold_s": 30})
    assert (same.status_code, same.json()["hold_s"]) == (200, 30)


@pytest.mark.parametrize(
    ("body", "field"),
    [
        pytest.param({}, "cluster", id="no cluster"),
        pytest.param({"cluster": "east", "pattern": "a b"}, "pattern", id="no topic"),
        pytest.param(
            {"cluster": "east", "pattern": "a", "allowed_brokers": [99]},
            "allowed_brokers",
            id="no broker",
        ),
        pytest.param(
            {"cluster": "east", "pattern": "a", "mode": "act"}, "allowed_brokers", id="acts"
        ),
        pytest.param({"cluster": "east", "pattern": "a", "hold_s": 1}, "hold_s", id="short hold"),
    ],
)
def test_bad_input_is_said_at_its_field(api, cluster, body, field):
    answer = api("post", "promotion-policies/", body)
    assert answer.status_code == 400
    assert field in answer.json()["fields"]


def test_a_repeated_request_with_a_key_starts_one_drill(api, cluster):
    body = {"cluster": "east", "confirm": "east"}
    first, second = (api("post", "drills/", body, **{"Idempotency-Key": "k"}) for _ in (1, 2))
    assert first.json() == second.json()
    assert Drill.objects.count() == 1


def test_a_drill_is_asked_for_on_its_page(sign_in, operator, cluster):
    client = sign_in(operator)
    answer = post(
        client,
        "drills/start/",
        **{"drill-actors": ["fenced_standby"], "drill-confirm": "east"},
    )
    drill = Drill.objects.get()
    assert answer.url == f"/availability/east/drills/{drill.pk}/"
    assert "crosslog-drill-" in page(client, f"drills/{drill.pk}/")


def test_the_drill_log_tells_what_was_measured(sign_in, viewer, cluster):
    make_drill(cluster)
    text = page(sign_in(viewer), "drills/")
    assert "412" in text
    assert "38" in text


def test_a_what_if_drill_is_recorded_on_its_page(sign_in, operator, cluster):
    results = [{"subject": "orders-0", "prediction": {"leader": 2}, "seen": {"leader": 2}}]
    post(sign_in(operator), "drills/record/", title="West lost", results=json.dumps(results))
    assert Drill.objects.get().state == "succeeded"
    text = post(sign_in(operator), "drills/record/", results="[{").content.decode()
    assert "It is no JSON" in text


@pytest.mark.parametrize(
    ("query", "words"),
    [
        pytest.param("", "Runbooks", id="all"),
        pytest.param("severity=under_min_isr&cause=broker_dead", "Expected:", id="one"),
        pytest.param(
            "severity=under_min_isr&cause=broker_dead&topic=orders&partition=0&broker=2",
            "--topic orders",
            id="filled in",
        ),
        pytest.param("topic=gone", "no partition gone", id="unknown topic"),
        pytest.param("topic=orders&partition=9", "no partition orders-9", id="unknown partition"),
        pytest.param("broker=99", "Not a broker of east: 99", id="unknown broker"),
        pytest.param("severity=terrible", "valid choice", id="unknown severity"),
    ],
)
def test_runbooks(sign_in, viewer, cluster, query, words):
    assert words in page(sign_in(viewer), f"runbooks/?{query}")


def test_a_runbook_has_its_commands_over_rest(api, cluster):
    asked = "cluster=east&severity=under_min_isr&cause=broker_dead&topic=orders&partition=0"
    (found,) = api("get", f"runbooks/?{asked}").json()
    assert (found["severity"], found["cause"]) == ("under_min_isr", "broker_dead")
    assert any("orders" in line for step in found["steps"] for line in step["commands"])


@pytest.mark.parametrize("path", ["promotion/", "drills/", "runbooks/"])
def test_a_page_asks_as_many_questions_however_much_there_is(sign_in, viewer, cluster, path):
    client = sign_in(viewer)
    fill_promotion_pages(cluster)
    page(client, path)
    few = count_queries(client, f"/availability/east/{path}")
    for number in range(12):
        make_policy(cluster, pattern=f"topic-{number}")
        make_action(cluster, subject=f"t-{number}", state=ActionState.REVERTED)
        make_drill(cluster)
    assert count_queries(client, f"/availability/east/{path}") == few
    assert few <= 32


def test_promotions_are_metrics(client, settings, cluster):
    settings.METRICS_TOKEN = "a token"
    fill_promotion_pages(cluster)
    PromotionStop.objects.create(scope=PromotionStop.ALL, is_on=True, at=cluster.created_at)
    text = client.get("/metrics", headers={"Authorization": "Bearer a token"}).content.decode()
    for line in (
        'crosslog_promotions{cluster="east",state="planned"} 1.0',
        'crosslog_promotions_held{cluster="east"} 1.0',
        'crosslog_promotion_loops{cluster="east"} 1.0',
        'crosslog_observers_in_isr{cluster="east"} 1.0',
        'crosslog_promotion_stopped{cluster="east"} 1.0',
        'crosslog_open_findings{check="promotion_wanted",cluster="east",flow="",severity="critical",state="open"} 1.0',
    ):
        assert line in text


def test_observers_that_are_not_well_are_findings_and_on_the_cluster(sign_in, viewer, cluster):
    fill_promotion(cluster)
    client = sign_in(viewer)
    findings = client.get("/findings/").content.decode()
    assert "Cluster east" in findings
    assert "Promotion wanted" in findings
    assert "Observer and leader findings" in client.get("/availability/east/").content.decode()
