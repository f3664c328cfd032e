import io
from datetime import timedelta

import pyarrow.parquet as pq
import pytest

from console.accounts.models import Role
from console.runs.models import Run, RunState
from tests.console.making import NOW, make_run, make_user
from tests.console.runs.analyses.making import (
    HOUR_MS,
    KIND,
    make_analysis,
    make_answer,
    make_queued,
    make_source,
)

pytestmark = pytest.mark.django_db
RUNS = "/api/v1/runs/"


@pytest.fixture
def as_operator(client):
    client.force_login(make_user(Role.OPERATOR))
    return client


@pytest.fixture
def as_viewer(client):
    client.force_login(make_user(Role.VIEWER))
    return client


def post(client, **body):
    return client.post(RUNS, body, content_type="application/json")


def test_asking_answers_the_queued_run(as_operator):
    make_source()
    answer = post(as_operator, kind=KIND, arguments={"log": "east", "from": "2026-01-01T00:00:00Z"})
    told = answer.json()
    assert (answer.status_code, told["state"], told["queue_position"]) == (201, "QUEUED", 1)
    assert told["arguments"]["from"] == "2026-01-01T00:00:00Z"
    assert Run.objects.get().requested_by is not None


def test_the_same_question_answers_the_run_that_is_there(as_operator):
    make_source()
    first = post(as_operator, kind=KIND, arguments={"log": "east"})
    second = post(as_operator, kind=KIND, arguments={"log": "east", "most": 10})
    assert (second.status_code, second.json()["id"]) == (200, first.json()["id"])


def test_one_analysis_more_than_a_person_may_have_is_refused(as_operator, settings):
    settings.ANALYSES_PER_PERSON = 1
    make_source()
    post(as_operator, kind=KIND, arguments={"log": "east"})
    refused = post(as_operator, kind=KIND, arguments={"log": "east", "most": 3})
    assert refused.status_code == 409
    assert "You have 1 queued or running analyses already" in refused.content.decode()
    assert Run.objects.count() == 1


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "kind"),
        ({"kind": "nothing"}, "kind"),
        ({"kind": KIND}, "arguments.log"),
        ({"kind": KIND, "arguments": {"log": "east", "most": "x"}}, "arguments.most"),
        ({"kind": KIND, "arguments": {"log": "east", "speed": 1}}, "arguments.speed"),
        ({"kind": KIND, "arguments": []}, "arguments"),
    ],
    ids=["empty", "kind", "missing", "number", "unknown", "no object"],
)
def test_what_is_wrong_is_reported_by_field(as_operator, body, field):
    make_source()
    answer = post(as_operator, **body)
    assert (answer.status_code, answer.json()["code"]) == (400, "invalid")
    assert list(answer.json()["fields"]) == [field]


def test_a_viewer_asks_nothing(as_viewer):
    make_source()
    assert post(as_viewer, kind=KIND, arguments={"log": "east"}).status_code == 403


def test_kinds_are_the_registry(as_viewer):
    (told,) = [one for one in as_viewer.get(f"{RUNS}kinds/").json() if one["kind"] == KIND]
    most = next(one for one in told["arguments"] if one["name"] == "most")
    assert (most["type"], most["least"], most["most"], most["default"]) == ("integer", 1, 100, 10)
    assert told["tables"][0]["columns"][3]["type"] == "duration_ms"


def test_a_result_is_its_document(as_viewer):
    run = make_answer()
    told = as_viewer.get(f"{RUNS}{run.pk}/result/").json()
    assert (told["kind"], told["arguments"]["log"], told["facts"]["elections"]) == (
        KIND,
        "east",
        1234,
    )
    assert [len(one["preview"]) for one in told["tables"]] == [50, 50]


@pytest.mark.parametrize(
    ("make", "code", "word"),
    [
        (make_queued, "not_ready", "queued or running"),
        (make_analysis, "not_ready", "queued or running"),
        (lambda: make_analysis(state=RunState.FAILED, error="no log"), "no_answer", "no log"),
        (make_run, "no_result", "not an analysis"),
    ],
    ids=["queued", "running", "failed", "flow"],
)
def test_a_result_that_is_not_there_says_why(as_viewer, make, code, word):
    answer = as_viewer.get(f"{RUNS}{make().pk}/result/")
    assert (answer.status_code, answer.json()["code"]) == (409, code)
    assert word in answer.json()["detail"]


def test_rows_of_a_table_come_in_parts(as_viewer):
    run = make_answer(rows=120)
    told = as_viewer.get(f"{RUNS}{run.pk}/tables/leaders/?offset=100&limit=50").json()
    assert (told["total"], told["offset"], len(told["rows"])) == (120, 100, 20)
    assert told["rows"][0]["duration_ms"] == HOUR_MS + 100
    assert as_viewer.get(f"{RUNS}{run.pk}/tables/nothing/").status_code == 404


def test_without_its_files_a_table_has_its_first_rows(as_viewer, settings):
    run = make_answer(rows=120)
    settings.CROSSLOG_ARCHIVE = settings.CROSSLOG_ARCHIVE / "elsewhere"
    path = f"{RUNS}{run.pk}/tables/leaders/"
    assert len(as_viewer.get(path).json()["rows"]) == 50
    gone = [as_viewer.get(f"{path}{rest}") for rest in ("?offset=60", "csv/", "parquet/")]
    assert {(one.status_code, one.json()["code"]) for one in gone} == {(409, "tables_removed")}


def test_a_table_comes_as_csv_that_runs_no_formula(as_viewer):
    run = make_answer(rows=120)
    answer = as_viewer.get(f"{RUNS}{run.pk}/tables/leaders/csv/")
    lines = b"".join(answer.streaming_content).decode().splitlines()
    assert answer["Content-Type"].startswith("text/csv")
    assert lines[0].startswith("Elected,Last record,Leader,In office (ms),")
    assert (len(lines), lines[1].split(",")[-2:]) == (121, ["1 2 3", "'=broken"])


def test_a_table_comes_as_parquet(as_viewer):
    answer = as_viewer.get(f"{RUNS}{make_answer(rows=7).pk}/tables/hours/parquet/")
    assert pq.read_table(io.BytesIO(b"".join(answer.streaming_content))).num_rows == 7


def test_a_run_of_an_answer_says_how_long_it_is_kept(as_viewer):
    told = as_viewer.get(f"{RUNS}{make_answer().pk}/").json()
    kept = NOW + timedelta(days=30, seconds=2)
    assert told["kept_until"] == kept.isoformat().replace("+00:00", "Z")


def test_runs_are_asked_for_by_kind(as_viewer):
    make_run(), make_answer()
    rows = as_viewer.get(f"{RUNS}?kind={KIND}").json()["results"]
    assert [one["kind"] for one in rows] == [KIND]


def test_a_person_who_sees_the_cluster_sees_the_answer_and_no_other(client):
    run = make_answer()
    person = make_user(Role.NONE)
    person.cluster_grants.create(cluster=make_source("west").cluster, role=Role.VIEWER)
    client.force_login(person)
    assert client.get(f"{RUNS}{run.pk}/result/").status_code == 404
    assert client.get(RUNS).json()["results"] == []
    person.cluster_grants.create(cluster=make_source("east").cluster, role=Role.VIEWER)
    assert client.get(f"{RUNS}{run.pk}/result/").status_code == 200
    assert len(client.get(RUNS).json()["results"]) == 1
