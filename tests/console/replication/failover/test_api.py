import json
from datetime import timedelta

import pytest
from django.utils import timezone

from console.replication.failover.models import FailoverPlan, FailoverRun
from jobs.replication.failover.reports.signing import verify
from tests.console.making import make_flow
from tests.console.replication.failover_world import NAME, PaperClusters, carry_out, make_plan
from tests.jobs.replication.failover.making import GROUP, REMOTE, failover_evidence

pytestmark = pytest.mark.django_db


@pytest.fixture
def clusters():
    return PaperClusters()


@pytest.fixture
def plan(clusters):
    return make_plan(clusters=clusters)


@pytest.fixture
def api(sign_in, operator):
    client = sign_in(operator)

    def ask(path, body=None, **headers):
        if body is None:
            return client.get(f"/api/v1/{path}")
        return client.post(f"/api/v1/{path}", json.dumps(body), "application/json", headers=headers)

    return ask


def base(plan):
    return f"flows/{plan.flow_id}/failover-plans/{plan.pk}/"


def test_a_plan_is_made_and_its_evidence_is_read_later(api):
    flow = make_flow()
    answer = api(f"flows/{flow.pk}/failover-plans/", {"groups": ["billing"], "name": "drill"})
    assert (answer.status_code, answer.json()["state"]) == (201, "queued")
    assert (answer.json()["origin"], answer.json()["destination"]) == ("east", "west")


@pytest.mark.parametrize(
    ("body", "field"),
    [
        pytest.param({}, "groups", id="no groups"),
        pytest.param({"groups": ["("]}, "groups", id="no pattern"),
        pytest.param({"groups": ["a"], "direction": "up"}, "direction", id="no direction"),
        pytest.param({"groups": "a" * 300}, "groups", id="no list"),
    ],
)
def test_bad_input_is_refused_at_its_field(api, body, field):
    answer = api(f"flows/{make_flow().pk}/failover-plans/", body)
    assert (answer.status_code, list(answer.json()["fields"])) == (400, [field])
    assert not FailoverPlan.objects.exists()


def test_a_plan_tells_checks_and_groups_with_their_proof(api, plan):
    told = api(base(plan)).json()
    assert {check["key"] for check in told["checks"]} == {
        "origin_answers",
        "copied",
        "offset_syncs",
    }
    assert told["topic_checks"][0]["to_topic"] == "east.orders"
    (group,) = api(f"{base(plan)}groups/?group={GROUP}").json()["results"]
    assert (group["items"][0]["lo"], group["items"][0]["target"]) == (41, 41)


def test_apply_verify_and_undo(api, plan, clusters):
    run = api(f"{base(plan)}apply/", {"confirm": NAME}).json()
    carry_out(FailoverRun.objects.get(pk=run["id"]), clusters)
    assert clusters.groups.plain() == {REMOTE: 41}
    document = api(f"{base(plan)}report/?run={run['id']}").json()
    assert verify(document, api("report-key/").json()["public_key_pem"])
    api(f"{base(plan)}undo/", {"confirm": NAME})
    carry_out(FailoverRun.objects.get(kind="undo"), clusters)
    assert clusters.groups.plain() == {}
    kinds = {row["kind"]: row["state"] for row in api(f"{base(plan)}runs/").json()["results"]}
    assert kinds == {"apply": "succeeded", "undo": "succeeded"}


def test_a_repeated_request_with_a_key_starts_one_run(api, plan):
    path = f"{base(plan)}apply/"
    first, second = (api(path, {"confirm": NAME}, **{"Idempotency-Key": "k1"}) for _ in (1, 2))
    assert first.json() == second.json()
    assert FailoverRun.objects.count() == 1


def test_without_the_name_nothing_is_applied(api, plan):
    answer = api(f"{base(plan)}apply/", {"confirm": "yes"})
    assert (answer.status_code, list(answer.json()["fields"])) == (400, ["confirm"])
    assert not FailoverRun.objects.exists()


def test_a_second_run_at_the_same_time_is_refused(api, plan):
    assert api(f"{base(plan)}rehearse/", {}).status_code == 201
    answer = api(f"{base(plan)}rehearse/", {})
    assert (answer.status_code, answer.json()["code"]) == (409, "plan_is_running")


def test_commands_are_told(api, plan):
    told = api(f"{base(plan)}commands/").json()
    assert told["apply"]["csv"] == '"billing",east.orders,0,41\n'
    assert "--delete-offsets" in told["undo"]["lines"][-1]


def test_a_report_that_is_not_there_is_not_found(api, plan):
    assert api(f"{base(plan)}report/").status_code == 404


def test_read_only_refuses_every_step(api, plan, settings):
    settings.CROSSLOG_READ_ONLY = True
    for step in ("refresh", "rehearse", "apply", "undo"):
        answer = api(f"{base(plan)}{step}/", {"confirm": NAME})
        assert (answer.status_code, answer.json()["code"]) == (409, "read_only")


def test_a_plan_whose_evidence_is_too_old_is_expired_and_refused(api, plan):
    told = api(base(plan)).json()
    assert (told["state"], told["expires_at"] > told["read_at"]) == ("ready", True)
    FailoverPlan.objects.update(read_at=timezone.now() - timedelta(minutes=6))
    assert api(base(plan)).json()["state"] == "expired"
    answers = [api(f"{base(plan)}rehearse/", {}), api(f"{base(plan)}apply/", {"confirm": NAME})]
    assert [(one.status_code, one.json()["code"]) for one in answers] == [(409, "plan_stale")] * 2


@pytest.mark.parametrize(
    ("committed", "exact"),
    [
        pytest.param(200, True, id="on an offset sync"),
        pytest.param(101, False, id="behind one, repeating nothing"),
        pytest.param(150, False, id="between two"),
    ],
)
def test_what_is_called_exact_is_what_is_counted_as_exact(api, committed, exact):
    plan = make_plan(clusters=PaperClusters(lambda: failover_evidence(committed=committed)))
    (group,) = api(f"{base(plan)}groups/").json()["results"]
    assert [item["exact"] for item in group["items"]] == [exact]
    assert (group["exact_count"], api(base(plan)).json()["exact_count"]) == (exact, exact)


def test_a_run_names_the_groups_that_are_left_out(api, plan):
    told = api(f"{base(plan)}rehearse/", {}).json()
    assert (told["groups"], told["left_out"]) == ([GROUP], {})
