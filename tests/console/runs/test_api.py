import pytest

from console.accounts.models import Role
from console.runs.models import Run, RunState
from jobs.spark import contract
from tests.console.making import make_run, make_user, partition_row, progress

pytestmark = pytest.mark.django_db
RUNS = "/api/v1/runs/"


@pytest.fixture
def as_viewer(sign_in, viewer):
    return sign_in(viewer)


def test_runs_are_listed_without_their_documents(as_viewer):
    make_run(progress=progress(partition_row()))
    (row,) = as_viewer.get(RUNS).json()["results"]
    assert row["state"] == "RUNNING"
    assert "progress" not in row


def test_runs_can_be_asked_for_by_subject_and_state(as_viewer):
    make_run(subject="flow:1", state=RunState.CRASHED), make_run(subject="flow:2")
    assert [r["subject"] for r in as_viewer.get(f"{RUNS}?subject=flow:2").json()["results"]] == [
        "flow:2"
    ]
    assert [r["subject"] for r in as_viewer.get(f"{RUNS}?state=ERRORED").json()["results"]] == [
        "flow:1"
    ]


def test_an_unknown_state_is_refused(as_viewer):
    assert as_viewer.get(f"{RUNS}?state=BROKEN").status_code == 400


def test_one_run_has_its_progress(as_viewer):
    run = make_run(progress=progress(partition_row()))
    assert (
        as_viewer.get(f"{RUNS}{run.pk}/").json()["progress"]["partitions"][0]["topic"] == "orders"
    )


@pytest.mark.parametrize(
    "engine",
    [
        pytest.param(
            {"name": "flows-1", "slots": [0], "cpu_percent": 2.5, "memory_bytes": 4096}, id="told"
        ),
        pytest.param(None, id="not told"),
    ],
)
def test_one_run_says_what_hosts_it(as_viewer, engine):
    run = make_run(progress={"at_ms": 1, **({"engine": engine} if engine else {})})
    assert as_viewer.get(f"{RUNS}{run.pk}/").json()["hosting"] == engine


def test_a_run_that_has_not_reported_says_nothing_of_its_host(as_viewer):
    assert as_viewer.get(f"{RUNS}{make_run().pk}/").json()["hosting"] is None


def test_the_log_is_cut_to_its_last_lines(as_viewer, tmp_path):
    (tmp_path / contract.LOG).write_text("one\ntwo\nthree\n")
    run = make_run(folder=str(tmp_path))
    assert as_viewer.get(f"{RUNS}{run.pk}/log/?lines=2").json()["text"] == "two\nthree"


def test_a_viewer_cancels_nothing(as_viewer):
    assert as_viewer.post(f"{RUNS}{make_run().pk}/cancel/").status_code == 403


def test_an_operator_cancels(client):
    client.force_login(make_user(Role.OPERATOR))
    assert client.post(f"{RUNS}{make_run().pk}/cancel/").status_code == 200
    assert Run.objects.get().cancel_requested_at is not None


def test_cancelling_an_ended_run_is_a_conflict(client):
    client.force_login(make_user(Role.OPERATOR))
    answer = client.post(f"{RUNS}{make_run(state=RunState.SUCCEEDED).pk}/cancel/")
    assert (answer.status_code, answer.json()["code"]) == (409, "run_ended")


def test_anonymous_people_read_nothing(client):
    assert client.get(RUNS).status_code in {401, 403}
