"""Incidents over REST."""

from datetime import timedelta

import pytest

from console.accounts.models import ClusterGrant
from console.findings.incidents.models import Subject
from console.findings.incidents.store import save_incidents
from jobs.checks.settings import Settings
from tests.console.findings.incident_rows import make_incident, resolved
from tests.console.findings.rows import make_row
from tests.console.making import NOW, count_queries, make_cluster, make_flow, make_user
from tests.console.quorum.making import make_log

pytestmark = pytest.mark.django_db
PATH = "/api/v1/incidents/"


@pytest.fixture
def as_operator(sign_in, operator):
    return sign_in(operator)


def rows(client, **query):
    answer = client.get(PATH, query)
    assert answer.status_code == 200, answer.content
    return answer.json()["results"]


@pytest.fixture
def four():
    flow = make_flow()
    made = {
        "broker": make_incident(cluster=flow.source, began_at=NOW - timedelta(days=3)),
        "flow": make_incident("flow", "f", "warning", flow=flow, check_id="lag"),
        "quorum": make_incident("quorum", "", log=make_log(flow.source), state="silenced"),
        "past": make_incident("group", "Billing", cluster=flow.source, **resolved()),
    }
    return {name: row.pk for name, row in made.items()}


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ({}, ["broker", "quorum", "flow"]),
        ({"state": "resolved"}, ["past"]),
        ({"state": "silenced"}, ["quorum"]),
        ({"state": "all", "subject": "bill"}, ["past"]),
        ({"severity": "warning"}, ["flow"]),
        ({"check": "lag"}, ["flow"]),
        ({"cluster": "west"}, ["flow"]),
        ({"cluster": "east"}, ["broker", "quorum", "flow"]),
        ({"flow": 1}, ["flow"]),
        ({"from": f"{NOW - timedelta(days=4):%Y-%m-%dT%H:%M:%SZ}",
          "to": f"{NOW - timedelta(days=1):%Y-%m-%dT%H:%M:%SZ}"}, ["broker"]),
    ],
    ids=str,
)  # fmt: skip
def test_filters_narrow_the_list_down(as_operator, four, query, names):
    if "flow" in query:
        (flow,) = {one["flow"] for one in rows(as_operator)} - {None}
        query = {"flow": flow}
    assert [one["id"] for one in rows(as_operator, **query)] == [four[name] for name in names]


@pytest.mark.parametrize("query", [{"state": "x"}, {"severity": "x"}, {"flow": 0}, {"a": 1}])
def test_what_is_not_known_is_refused_at_its_field(as_operator, query):
    answer = as_operator.get(PATH, query)
    assert (answer.status_code, set(answer.json()["fields"])) == (400, set(query))


def test_one_has_its_timeline_effects_and_findings(as_operator):
    east = make_cluster()
    row = make_incident(cluster=east)
    make_incident(cluster=east, key=row.key, opened_at=NOW - timedelta(hours=3), **resolved(60))
    make_row(east, incident=row, code="offline")
    make_row(east, incident=row, code="offline", subject="x", closed_at=NOW)
    found = as_operator.get(f"{PATH}{row.pk}/").json()
    assert (found["cluster"], found["owner"], found["acknowledged_by"]) == ("east", None, None)
    assert [one["kind"] for one in found["events"]] == ["opened"]
    assert found["effects"] == [{"check": "offline", "text": "2 partitions offline", "findings": 1}]
    assert found["findings_by_check"] == [{"code": "offline", "count": 2, "open": 1}]
    assert found["times_in_24_h"] == 2
    assert found["href"] == f"/incidents/{row.pk}/"


def test_findings_are_asked_for_by_their_incident(as_operator):
    east = make_cluster()
    row = make_incident(cluster=east)
    make_row(east, incident=row)
    make_row(east, subject="x")
    found = as_operator.get(f"/api/v1/findings/?incident={row.pk}").json()["results"]
    assert [one["incident"] for one in found] == [row.pk]
    assert as_operator.get("/api/v1/findings/?incident=99").status_code == 404


@pytest.mark.parametrize(
    ("name", "body", "state"),
    [
        ("acknowledge", {}, "acknowledged"),
        ("unacknowledge", {}, "open"),
        ("silence", {"duration_s": 3600}, "silenced"),
        ("unsilence", {}, "open"),
    ],
)
def test_an_action_answers_the_incident(as_operator, name, body, state):
    row = make_incident(cluster=make_cluster())
    answer = as_operator.post(f"{PATH}{row.pk}/{name}/", body, "application/json")
    assert (answer.status_code, answer.json()["state"]) == (200, state)


def test_owner_and_note_are_set_together_or_not_at_all(as_operator, operator):
    row = make_incident(cluster=make_cluster())
    body = {"owner": operator.username, "note": "Disk."}
    found = as_operator.patch(f"{PATH}{row.pk}/", body, "application/json").json()
    assert (found["owner"], found["note"]) == (operator.username, "Disk.")
    wrong = {"note": "Other.", "owner": "nemo"}
    answer = as_operator.patch(f"{PATH}{row.pk}/", wrong, "application/json")
    assert (answer.status_code, set(answer.json()["fields"])) == (400, {"owner"})
    row.refresh_from_db()
    assert row.note == "Disk."


@pytest.mark.parametrize(
    ("name", "body", "fields"),
    [
        ("silence", {}, {"until"}),
        ("silence", {"until": "2020-01-01T00:00:00Z"}, {"until"}),
        ("silence", {"duration_s": 0}, {"duration_s"}),
        ("silence", {"duration_s": 60, "until": "2026-11-22T00:00:00Z"}, {"until"}),
        ("silence", {"hours": 1}, {"hours"}),
    ],
)
def test_a_wrong_body_is_refused_at_its_field(as_operator, name, body, fields):
    row = make_incident(cluster=make_cluster())
    answer = as_operator.post(f"{PATH}{row.pk}/{name}/", body, "application/json")
    assert (answer.status_code, set(answer.json()["fields"])) == (400, fields)


def test_what_is_resolved_is_refused(as_operator):
    row = make_incident(cluster=make_cluster(), **resolved())
    answer = as_operator.post(f"{PATH}{row.pk}/acknowledge/", {}, "application/json")
    assert (answer.status_code, answer.json()["code"]) == (409, "resolved")


@pytest.fixture
def of_east(sign_in):
    """Sign in an operator of east, who sees nothing of west."""
    person = make_user("none")
    ClusterGrant.objects.create(user=person, cluster=make_cluster("east"), role="operator")
    return sign_in(person)


@pytest.mark.parametrize(
    ("kind", "place"),
    [
        pytest.param(Subject.BROKER, lambda: {"cluster": make_cluster("west")}, id="cluster"),
        pytest.param(Subject.FLOW, lambda: {"flow": make_flow()}, id="flow with one side"),
        pytest.param(Subject.QUORUM, lambda: {"log": make_log(make_cluster("west"))}, id="quorum"),
        pytest.param(Subject.CROSSLOG, dict, id="crosslog"),
    ],
)
def test_what_cannot_be_seen_is_not_there(of_east, kind, place):
    row = make_incident(kind, **place())
    assert rows(of_east) == []
    for answer in (
        of_east.get(f"{PATH}{row.pk}/"),
        of_east.post(f"{PATH}{row.pk}/acknowledge/"),
        of_east.get(f"/incidents/{row.pk}/"),
        of_east.get(f"/api/v1/findings/?incident={row.pk}"),
        of_east.get(f"{PATH}?cluster=west"),
        of_east.get(f"{PATH}999/"),
    ):
        assert answer.status_code == 404


def test_an_operator_of_its_cluster_acknowledges_it_and_a_viewer_does_not(of_east, client):
    row = make_incident(cluster=make_cluster())
    path = f"{PATH}{row.pk}/acknowledge/"
    assert of_east.post(path, {}, "application/json").status_code == 200
    client.force_login(make_user("viewer"))
    assert client.post(path, {}, "application/json").status_code == 403


def test_an_incident_of_a_cluster_names_no_flow_to_another_cluster(of_east):
    flow = make_flow("payroll")
    make_row(flow.source, kind="checks", code="cluster_unreachable", subject="")
    make_row(flow, code="flow_failing", sentence="payroll to west fails.")
    memory = {}
    for seconds in (0, 60, 120):
        at = NOW + timedelta(seconds=seconds)
        memory = save_incidents(at, 60, Settings(), memory)
    (row,) = rows(of_east)
    for path in (f"{PATH}{row['id']}/", row["href"], "/", "/events/"):
        text = of_east.get(path).content.decode()
        assert row["title"] in text
        assert "payroll" not in text


def test_more_rows_ask_no_more_queries(as_operator):
    make_incident(cluster=make_cluster())
    one = count_queries(as_operator, PATH)
    for number in range(5):
        flow = make_flow(f"flow {number}", target=f"target{number}")
        make_incident("flow", str(number), flow=flow, owner=make_user())
    assert count_queries(as_operator, PATH) == one
