"""Objectives over REST and on their page: who may change them, what is refused, what is kept."""

import pytest

from console.accounts.models import AuditEntry
from console.findings.objectives.models import Objective, ObjectiveStep
from tests.console.checks.making import NOW, make_objective, make_step
from tests.console.making import make_cluster, make_flow
from tests.console.safety.world import make_person

pytestmark = pytest.mark.django_db
URL = "/api/v1/objectives/"
TOPICS = {"cluster": "east", "target_percent": 99.9}


@pytest.fixture
def flow():
    return make_flow()


def post(client, values):
    return client.post(URL, values, "application/json")


def test_an_objective_is_created_shown_and_audited(sign_in, admin, flow):
    answer = post(sign_in(admin), {"flow": flow.pk, "limit_ms": 60_000, "target_percent": 99.95})
    assert answer.status_code == 201, answer.json()
    shown = answer.json()
    assert (shown["kind"], shown["name"], shown["flow"]) == ("rpo", "RPO of 1\xa0m", flow.pk)
    assert shown["status"] == {
        "target": 0.9995, "achieved": None, "budget_left": None, "budget_left_s": None,
        "burn_1h": None, "burn_6h": None, "burn_30d": None, "not_measured_s": 2592000.0,
    }  # fmt: skip
    entry = AuditEntry.objects.get(action="objective.create")
    assert entry.subject == f"objective:{shown['id']}"


def test_topics_count_as_offline_without_a_leader_by_default(sign_in, admin, flow):
    assert post(sign_in(admin), TOPICS).json()["counts_as"] == "offline"


def test_the_list_has_what_was_measured(sign_in, admin, flow, monkeypatch):
    objective = make_objective(flow, target_percent=90)
    make_step(objective, int(NOW.timestamp()), 150, 100)
    monkeypatch.setattr("django.utils.timezone.now", lambda: NOW.replace(minute=10))
    (row,) = sign_in(admin).get(URL).json()["results"]
    status = row["status"]
    assert (status["achieved"], status["not_measured_s"]) == (0.6, 2_591_750)
    assert status["burn_1h"] == pytest.approx(4)
    assert status["budget_left_s"] == pytest.approx(30 * 86_400 * 0.1 - 100)


@pytest.mark.parametrize(
    ("values", "field"),
    [
        pytest.param({}, "flow", id="no scope"),
        pytest.param(TOPICS | {"flow": 1}, "flow", id="two scopes"),
        pytest.param({"cluster": "moon"}, "cluster", id="unknown cluster"),
        pytest.param({"flow": 999}, "flow", id="unknown flow"),
        pytest.param(TOPICS | {"limit_ms": 5}, "limit_ms", id="limit of topics"),
        pytest.param(TOPICS | {"topic_pattern": "[z-a]"}, "topic_pattern", id="no glob"),
        pytest.param(TOPICS | {"topic_pattern": "x" * 300}, "topic_pattern", id="long pattern"),
        pytest.param(TOPICS | {"counts_as": "slow"}, "counts_as", id="unknown state"),
        pytest.param(TOPICS | {"target_percent": 50}, "target_percent", id="50 %"),
        pytest.param(TOPICS | {"target_percent": 100}, "target_percent", id="100 %"),
        pytest.param(TOPICS | {"target_percent": 99.9999}, "target_percent", id="four decimals"),
        pytest.param(TOPICS | {"target_percent": "much"}, "target_percent", id="a word"),
        pytest.param(TOPICS | {"kind": "rpo"}, "kind", id="what is shown only"),
    ],
)
def test_bad_input_is_refused_at_its_field(sign_in, admin, flow, values, field):
    answer = post(sign_in(admin), {"target_percent": 99.9} | values)
    assert answer.status_code == 400
    assert set(answer.json()["fields"]) == {field}
    assert not Objective.objects.exists()


@pytest.mark.parametrize("limit", [None, 0, -1, 10**12])
def test_an_rpo_needs_a_limit(sign_in, admin, flow, limit):
    answer = post(
        sign_in(admin), {"flow": flow.pk, "limit_ms": limit, "target_percent": 99, "counts_as": ""}
    )
    assert set(answer.json()["fields"]) == {"limit_ms"}


def test_a_scope_has_one_objective(sign_in, admin, flow):
    client = sign_in(admin)
    assert post(client, TOPICS).status_code == 201
    assert set(post(client, TOPICS).json()["fields"]) == {"topic_pattern"}
    assert post(client, TOPICS | {"topic_pattern": "orders"}).status_code == 201


@pytest.mark.parametrize(
    ("change", "steps"),
    [
        pytest.param({"target_percent": 99}, 1, id="another target"),
        pytest.param({"counts_as": "offline"}, 1, id="the same state"),
        pytest.param({"counts_as": "under_min_isr"}, 0, id="another state"),
        pytest.param({"topic_pattern": "orders"}, 0, id="other topics"),
    ],
)
def test_what_is_measured_otherwise_is_measured_from_the_beginning(
    sign_in, admin, flow, change, steps
):
    row = make_objective(flow.source)
    make_step(row, int(NOW.timestamp()), 300)
    answer = sign_in(admin).patch(f"{URL}{row.pk}/", change, "application/json")
    assert answer.status_code == 200
    assert ObjectiveStep.objects.count() == steps


@pytest.mark.parametrize(
    ("rights", "created", "changed"),
    [
        pytest.param({"east": "operator", "west": "operator"}, 201, 200, id="operates both"),
        pytest.param({"east": "operator", "west": "viewer"}, 403, 403, id="operates one"),
        pytest.param({"east": "operator"}, 400, 404, id="does not see the other"),
        pytest.param({"east": "viewer", "west": "viewer"}, 403, 403, id="sees both"),
    ],
)
def test_an_objective_of_a_flow_needs_the_role_on_both_clusters(
    client, flow, rights, created, changed
):
    row = make_objective(make_flow("other", source="east", target="west"))
    client.force_login(make_person("eva", "none", **rights))
    body = {"flow": flow.pk, "limit_ms": 1000, "target_percent": 99.9}
    assert post(client, body).status_code == created
    change = {"target_percent": 99}
    assert client.patch(f"{URL}{row.pk}/", change, "application/json").status_code == changed


def test_only_objectives_of_seen_clusters_are_listed(client, flow):
    make_objective(flow)
    seen = make_objective(make_cluster("east"))
    client.force_login(make_person("eva", "none", east="viewer"))
    assert [row["id"] for row in client.get(URL).json()["results"]] == [seen.pk]


def test_the_page_creates_changes_and_removes(sign_in, admin, flow):
    client = sign_in(admin)
    typed = {"flow": flow.pk, "limit_ms": "60000", "target_percent": "99.9"}
    assert client.post("/objectives/", typed).status_code == 302
    row = Objective.objects.get()
    page = f"/objectives/{row.pk}/"
    changed = client.post(page, {"limit_ms": "5000", "target_percent": "99.5"})
    assert changed.status_code == 302
    assert "RPO of 5\xa0s" in client.get(page).content.decode()
    assert client.post(f"{page}remove/").status_code == 302
    assert not Objective.objects.exists()


def test_the_form_shows_what_is_wrong(sign_in, admin, flow):
    typed = {"flow": flow.pk, "target_percent": "99.9"}
    answer = sign_in(admin).post("/objectives/", typed)
    assert answer.status_code == 200
    assert "Enter a number from 1" in answer.content.decode()
