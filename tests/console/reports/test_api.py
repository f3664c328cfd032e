"""Reports over REST."""

import pytest

from console.accounts.models import ClusterGrant
from console.reports.models import ReportRun, Trigger
from tests.console.making import count_queries, make_flow, make_user
from tests.console.reports.making.worlds import make_report, queue_run, ready_run

pytestmark = pytest.mark.django_db
REPORTS, RUNS = "/api/v1/reports/", "/api/v1/report-runs/"
JSON = "application/json"
BODY = {"kind": "replication", "name": "Weekly", "subjects": ["orders"]}


@pytest.fixture
def api(sign_in, operator):
    make_flow("orders")
    return sign_in(operator)


def test_a_report_is_made_read_changed_and_deleted(api):
    made = api.post(REPORTS, BODY, JSON)
    assert made.status_code == 201, made.content
    one = f"{REPORTS}{made.json()['id']}/"
    read = api.get(one).json()
    assert (read["owner"], read["subjects"], read["formats"]) == ("otto", ["orders"], ["pdf"])
    changed = api.patch(one, {"period": "last-month", "subjects": []}, JSON).json()
    assert (changed["period"], changed["subjects"]) == ("last-month", [])
    assert api.delete(one).status_code == 204
    assert api.get(one).status_code == 404


@pytest.mark.parametrize(
    ("changed", "field"),
    [
        ({"kind": "weather"}, "kind"),
        ({"subjects": ["nowhere"]}, "subjects"),
        ({"time_zone": "Mars"}, "time_zone"),
        ({"formats": ["docx"]}, "formats"),
        ({"recipients": [{"channel": "email", "address": "no-address"}]}, "recipients"),
        ({"keep_days": 0}, "keep_days"),
    ],
    ids=str,
)
def test_what_is_wrong_is_said_at_its_field(api, changed, field):
    answer = api.post(REPORTS, BODY | changed, JSON)
    assert answer.status_code == 400
    assert next(iter(answer.json()["fields"])).partition(".")[0] == field


def test_a_report_is_made_of_a_past_period(api, operator):
    route = f"{REPORTS}{make_report(operator).pk}/runs/"
    made = api.post(route, {"from": "2026-11-02", "to": "2026-11-09"}, JSON)
    assert (made.status_code, made.json()["state"]) == (201, "queued")
    assert made.json()["period_end"] == "2026-11-09T00:00:00Z"
    assert [row["id"] for row in api.get(route).json()["results"]] == [made.json()["id"]]


def test_a_wrong_period_is_said_at_its_field(api, operator):
    route = f"{REPORTS}{make_report(operator).pk}/runs/"
    answer = api.post(route, {"from": "soon"}, JSON)
    assert (answer.status_code, list(answer.json()["fields"])) == (400, ["from"])


def test_a_report_is_made_once_for_whoever_asks(api, operator):
    made = api.post(RUNS, {"kind": "replication", "period": "yesterday"}, JSON)
    assert made.status_code == 201, made.content
    run = ReportRun.objects.get()
    assert (run.trigger, run.person, run.name) == (Trigger.PREVIEW, operator, "Replication")


def test_no_person_has_more_than_five_in_the_making(api, operator):
    for _ in range(5):
        queue_run(operator)
    answer = api.post(RUNS, {"kind": "replication"}, JSON)
    assert (answer.status_code, answer.json()["code"]) == (409, "too_many")


def test_files_are_downloaded_and_other_formats_are_not_there(api, operator):
    one = f"{RUNS}{ready_run(operator).pk}/"
    answer = api.get(f"{one}files/pdf/")
    assert (answer["Content-Type"], answer.content[:5]) == ("application/pdf", b"%PDF-")
    assert set(api.get(one).json()["files"]) == {"html", "pdf", "csv", "json"}
    assert api.get(f"{one}files/docx/").status_code == 404


def test_a_run_is_removed_with_its_files_but_not_while_it_is_made(api, operator):
    ready, live = ready_run(operator), queue_run(operator)
    assert api.delete(f"{RUNS}{ready.pk}/").status_code == 204
    assert api.delete(f"{RUNS}{live.pk}/").status_code == 409
    assert list(ReportRun.objects.all()) == [live]


def test_a_run_of_a_cluster_that_cannot_be_seen_is_not_there(operator, sign_in):
    flow = make_flow("orders")
    run = ready_run(operator)
    person = make_user("none")
    ClusterGrant.objects.create(user=person, cluster=flow.source, role="viewer")
    client = sign_in(person)
    assert client.get(RUNS).json()["results"] == []
    assert client.get(f"{RUNS}{run.pk}/").status_code == 404
    assert client.get(f"{RUNS}{run.pk}/files/json/").status_code == 404


def test_a_report_of_the_audit_trail_is_for_admins(operator, admin, sign_in):
    run = ready_run(admin, kind="audit-trail", for_admins=True)
    assert sign_in(operator).get(f"{RUNS}{run.pk}/").status_code == 404
    assert sign_in(admin).get(f"{RUNS}{run.pk}/").status_code == 200


def test_the_number_of_queries_does_not_grow_with_the_rows(api, operator):
    make_report(operator, subjects=["orders"])
    queue_run(operator)
    before = [count_queries(api, path) for path in (REPORTS, RUNS)]
    for number in range(8):
        report = make_report(operator, name=f"Report {number}", subjects=["orders"])
        queue_run(operator, report=report)
    assert [count_queries(api, path) for path in (REPORTS, RUNS)] == before
