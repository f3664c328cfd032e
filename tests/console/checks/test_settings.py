"""Settings of checks: validation, rights, over REST and on the page."""

import pytest

from console.accounts.models import AuditEntry
from console.clusters.models import Cluster
from console.findings.check_settings import CheckSetting
from jobs.checks.check import CHECKS, Area, Check, Pattern, Threshold, Unit
from jobs.severity import Severity
from tests.console.checks.making import make_setting
from tests.console.making import make_cluster, make_flow
from tests.console.safety.world import make_person

pytestmark = pytest.mark.django_db
URL = "/api/v1/check-settings/"
LAG = Check(
    id="test_lag",
    title="Lag",
    question="Is it late?",
    rule="Lag above a limit.",
    severity=Severity.WARNING,
    area=Area.GROUP,
    runbook="Look.",
    thresholds=(
        Threshold("warning_s", 60, Unit.SECONDS, "Warning.", most=1000),
        Threshold("critical_s", 300, Unit.SECONDS, "Critical.", most=1000),
    ),
    narrowed_by=Pattern.GROUP,
)
FLOW_LAG = Check("test_flow_lag", "Lag", "?", "Lag.", Severity.WARNING, Area.FLOW, "Look.")
OWN = Check("test_own", "Rounds", "?", "Late.", Severity.WARNING, Area.CROSSLOG, "Look.")
HIDDEN = "There is no cluster moonbase."


@pytest.fixture(autouse=True)
def checks():
    """Checks that exist in this test only."""
    for one in (LAG, FLOW_LAG, OWN):
        CHECKS.add(one)
    yield
    for one in (LAG, FLOW_LAG, OWN):
        del CHECKS.by_id[one.id]


@pytest.fixture
def east():
    make_cluster("moonbase")
    return make_cluster("east")


def post(client, **values):
    body = {"check": LAG.id, "cluster": "east", "thresholds": {"warning_s": 90}} | values
    return client.post(URL, body, "application/json")


def fields(answer) -> dict:
    assert answer.status_code == 400, answer.json()
    return answer.json()["fields"]


def test_a_setting_is_created_shown_and_audited(sign_in, admin, east):
    answer = post(sign_in(admin), group_pattern="billing-*", note="slow by design")
    assert answer.status_code == 201
    shown = answer.json()
    assert (shown["cluster"], shown["thresholds"]) == ("east", {"warning_s": 90})
    assert (shown["group_pattern"], shown["changed_by"]) == ("billing-*", "ada")
    entry = AuditEntry.objects.get(action="check_setting.create")
    assert (entry.cluster, entry.subject) == ("east", f"check-setting:{shown['id']}")


@pytest.mark.parametrize(
    ("values", "field"),
    [
        pytest.param({"check": "none"}, "check", id="unknown check"),
        pytest.param({"thresholds": {"x": 1}}, "thresholds.x", id="unknown threshold"),
        pytest.param({"thresholds": {"warning_s": -1}}, "thresholds.warning_s", id="too small"),
        pytest.param({"thresholds": {"warning_s": 10**400}}, "thresholds.warning_s", id="huge"),
        pytest.param({"thresholds": {"warning_s": True}}, "thresholds.warning_s", id="boolean"),
        pytest.param({"thresholds": {"warning_s": "9"}}, "thresholds.warning_s", id="text"),
        pytest.param({"thresholds": {"warning_s": None}}, "thresholds.warning_s", id="null"),
        pytest.param(
            {"thresholds": {"warning_s": 400}}, "thresholds.warning_s", id="after critical"
        ),
        pytest.param(
            {"thresholds": {"critical_s": 10}}, "thresholds.critical_s", id="before warning"
        ),
        pytest.param({"thresholds": [1]}, "thresholds", id="a list"),
        pytest.param({"thresholds": {}}, "is_excluded", id="nothing set"),
        pytest.param({"is_excluded": True}, "note", id="exclusion without note"),
        pytest.param({"group_pattern": "[z-a]"}, "group_pattern", id="no glob"),
        pytest.param({"group_pattern": "x" * 10_000}, "group_pattern", id="long pattern"),
        pytest.param({"topic_pattern": "orders"}, "topic_pattern", id="not narrowed by topics"),
        pytest.param({"cluster": "gone"}, "cluster", id="removed cluster"),
        pytest.param({"flow": 7}, "flow", id="not narrowed to flows"),
        pytest.param({"check": OWN.id}, "cluster", id="crosslog is on no cluster"),
        pytest.param({"colour": 1}, "colour", id="unknown field"),
    ],
)
def test_bad_input_is_refused_at_its_field(sign_in, admin, east, values, field):
    assert field in fields(post(sign_in(admin), **values))
    assert not CheckSetting.objects.exists()


@pytest.mark.parametrize("rule", ["open_after_s", "close_after_s"])
def test_when_incidents_open_is_not_set_for_topics(sign_in, admin, east, rule):
    values = {"check": "at_min_isr", "topic_pattern": "orders-*", "thresholds": {rule: 60}}
    assert set(fields(post(sign_in(admin), **values))) == {"topic_pattern"}
    assert post(sign_in(admin), **values | {"thresholds": {"for_s": 60}}).status_code == 201


@pytest.mark.parametrize(
    "typed",
    [
        pytest.param({"thresholds.warning_s": "nan"}, id="NaN"),
        pytest.param({"thresholds.warning_s": "inf"}, id="infinity"),
        pytest.param({"thresholds.warning_s": "1e400"}, id="1e400"),
        pytest.param({"thresholds.warning_s": "9", "note": "x" * 100_000}, id="huge note"),
        pytest.param({"thresholds.warning_s": "9", "group_pattern": "x" * 10_000}, id="long glob"),
        pytest.param({"thresholds.warning_s": "9", "cluster": "gone"}, id="removed cluster"),
    ],
)
def test_the_form_refuses_bad_input(sign_in, admin, east, typed):
    answer = sign_in(admin).post(
        "/checks/settings/new/?check=test_lag", {"cluster": "east"} | typed
    )
    assert answer.status_code == 200
    assert not CheckSetting.objects.exists()


def test_what_is_shown_only_cannot_be_sent(sign_in, admin, east):
    assert set(fields(post(sign_in(admin), changed_by="eva"))) == {"changed_by"}


@pytest.mark.parametrize("number", ["NaN", "Infinity", "1e999"])
def test_what_is_no_finite_number_is_refused(sign_in, admin, east, number):
    body = f'{{"check": "test_lag", "cluster": "east", "thresholds": {{"warning_s": {number}}}}}'
    assert sign_in(admin).post(URL, body, "application/json").status_code == 400


def test_all_faults_come_at_once(sign_in, admin, east):
    answer = post(sign_in(admin), cluster="gone", thresholds={"x": 1}, group_pattern="[z-a]")
    assert set(fields(answer)) == {"cluster", "thresholds.x", "group_pattern"}


def test_a_scope_has_one_setting(sign_in, admin, east):
    client = sign_in(admin)
    assert post(client, group_pattern="a*").status_code == 201
    assert set(fields(post(client, group_pattern="a*"))) == {"group_pattern"}
    assert post(client, group_pattern="b*").status_code == 201


@pytest.mark.parametrize(
    ("who", "cluster", "status"),
    [
        pytest.param({"east": "operator"}, "east", 201, id="operator of the cluster"),
        pytest.param({"east": "operator"}, None, 403, id="operator of a cluster, for all"),
        pytest.param(
            {"east": "operator"}, "moonbase", 400, id="operator, cluster that is not seen"
        ),
        pytest.param({"east": "viewer"}, "east", 403, id="viewer"),
        pytest.param({"role": "operator"}, None, 403, id="operator everywhere, for all"),
        pytest.param({"role": "admin"}, None, 201, id="admin"),
    ],
)
def test_a_setting_needs_the_right_where_it_holds(client, east, who, cluster, status):
    client.force_login(
        make_person("eva", who.get("role", "none"), **{k: v for k, v in who.items() if k == "east"})
    )
    answer = post(client, cluster=cluster)
    assert answer.status_code == status, answer.json()
    if status == 400:
        assert answer.json()["fields"] == {"cluster": [HIDDEN]} or HIDDEN in str(answer.json())


def test_a_setting_of_a_flow_needs_both_clusters(client):
    flow = make_flow(source="east", target="west")
    client.force_login(make_person("eva", east="operator", west="viewer"))
    values = {"check": FLOW_LAG.id, "flow": flow.pk, "thresholds": {"close_after_s": 5}}
    assert client.post(URL, values, "application/json").status_code == 403
    client.force_login(make_person("ute", east="operator", west="operator"))
    assert client.post(URL, values, "application/json").status_code == 201


def test_settings_of_invisible_clusters_are_not_shown(client, east):
    make_setting(LAG.id, cluster=Cluster.objects.get(alias="moonbase"))
    make_setting(LAG.id, cluster=east), make_setting(LAG.id)
    client.force_login(make_person("eva", east="viewer"))
    shown = [one["cluster"] for one in client.get(URL).json()["results"]]
    assert sorted(shown, key=str) == [None, "east"]
    assert "moonbase" not in client.get("/checks/settings/").content.decode()


def test_a_change_keeps_other_fields_and_needs_the_right(client, east):
    row = make_setting(LAG.id, cluster=east, note="kept", group_pattern="a*")
    client.force_login(make_person("eva", east="operator"))
    answer = client.patch(f"{URL}{row.pk}/", {"thresholds": {"warning_s": 5}}, "application/json")
    assert (answer.status_code, answer.json()["note"]) == (200, "kept")
    everywhere = make_setting(LAG.id)
    answer = client.patch(f"{URL}{everywhere.pk}/", {"note": "x"}, "application/json")
    assert answer.status_code in {403, 404}
    assert client.delete(f"{URL}{row.pk}/").status_code == 204


def test_a_form_is_filled_in_by_the_address(sign_in, admin, east):
    html = (
        sign_in(admin)
        .get("/checks/settings/?check=test_lag&cluster=east&group=billing")
        .content.decode()
    )
    assert '<option value="east" selected>' in html
    assert 'value="billing"' in html
    assert 'placeholder="60"' in html


def test_a_refused_form_keeps_what_was_typed(sign_in, admin, east):
    typed = {
        "cluster": "east",
        "group_pattern": "[z-a]",
        "thresholds.warning_s": "5000",
        "is_excluded": "on",
        "note": "",
    }
    html = sign_in(admin).post("/checks/settings/new/?check=test_lag", typed).content.decode()
    for text in ("[z-a]", "5000", "Say why the check is off there.", "from 0 to 1000", "selected"):
        assert text in html, text


def test_the_page_creates_changes_and_removes_a_setting(sign_in, admin, east):
    client = sign_in(admin)
    typed = {"cluster": "east", "thresholds.warning_s": "90", "note": "slow"}
    assert client.post("/checks/settings/new/?check=test_lag", typed).status_code == 302
    row = CheckSetting.objects.get()
    typed = {"thresholds.warning_s": "95", "thresholds.open_after_s": "10"}
    assert client.post(f"/checks/settings/{row.pk}/", typed).status_code == 302
    row.refresh_from_db()
    assert row.thresholds == {"warning_s": 95, "open_after_s": 10}
    client.post(f"/checks/settings/{row.pk}/remove/")
    assert not CheckSetting.objects.exists()


def test_a_setting_of_a_check_that_is_gone_can_be_removed(sign_in, admin):
    row = make_setting("of_another_version")
    client = sign_in(admin)
    assert "has no effect" in client.get(f"/checks/settings/{row.pk}/").content.decode()
    assert client.post(f"/checks/settings/{row.pk}/", {"note": "x"}).status_code == 200
    assert client.post(f"/checks/settings/{row.pk}/remove/").status_code == 302
