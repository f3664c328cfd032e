import pytest
from django.urls import reverse

from console.runs.models import Run, RunState
from jobs.spark import contract
from tests.console.making import (
    NOW,
    count_queries,
    make_flow,
    make_run,
    partition_row,
    progress,
)

pytestmark = pytest.mark.django_db


@pytest.fixture
def as_operator(sign_in, operator):
    return sign_in(operator)


@pytest.fixture
def as_viewer(sign_in, viewer):
    return sign_in(viewer)


def text_of(client, run):
    answer = client.get(reverse("runs:detail", args=[run.pk]))
    assert answer.status_code == 200
    return answer.content.decode()


def test_an_empty_list_says_what_will_appear(as_viewer):
    assert "No runs yet" in as_viewer.get(reverse("runs:list")).content.decode()


def test_the_list_shows_runs_with_their_error(as_viewer):
    make_run(title="Replicate orders", state=RunState.CRASHED, error="no java")
    text = as_viewer.get(reverse("runs:list")).content.decode()
    assert "Replicate orders" in text
    assert "no java" in text


def test_a_list_of_three_asks_no_more_than_a_list_of_one(as_viewer):
    make_run()
    one = count_queries(as_viewer, reverse("runs:list"))
    make_run(), make_run()
    assert count_queries(as_viewer, reverse("runs:list")) == one


def test_a_run_shows_its_log_and_its_progress(as_viewer, tmp_path):
    (tmp_path / contract.LOG).write_text("spark is up\n<script>\n")
    run = make_run(folder=str(tmp_path), progress=progress(partition_row(), fault="west: slow."))
    text = text_of(as_viewer, run)
    assert "west: slow." in text
    assert "spark is up\n&lt;script&gt;" in text


def test_a_log_on_another_host_is_said_to_be_there(as_viewer):
    assert "The log is on host elsewhere" in text_of(
        as_viewer, make_run(host="elsewhere", folder="/r")
    )


def test_why_it_ended_is_first(as_viewer):
    run = make_run(state=RunState.CRASHED, error="Its keeper process is gone", finished_at=NOW)
    assert "Its keeper process is gone" in text_of(as_viewer, run)


def test_a_run_of_a_flow_leads_to_the_flow(as_viewer):
    flow = make_flow()
    assert reverse("replication:detail", args=[flow.pk]) in text_of(as_viewer, make_run(flow))


def test_an_operator_cancels_a_run(as_operator):
    run = make_run()
    assert "Cancel run" in text_of(as_operator, run)
    as_operator.post(reverse("runs:cancel", args=[run.pk]))
    assert Run.objects.get().cancel_requested_at is not None


def test_a_viewer_cancels_nothing(as_viewer):
    run = make_run()
    assert "Cancel run" not in text_of(as_viewer, run)
    assert as_viewer.post(reverse("runs:cancel", args=[run.pk])).status_code == 403


def test_anonymous_people_see_no_run(client):
    assert client.get(reverse("runs:detail", args=[make_run().pk])).status_code == 302


def test_an_unknown_run_is_not_found(as_viewer):
    path = reverse("runs:detail", args=["00000000-0000-0000-0000-000000000000"])
    assert as_viewer.get(path).status_code == 404


HOSTED = {"name": "flows-1", "slots": [0, 2], "cpu_percent": 12.4, "memory_bytes": 15 << 20}
ALONE = {"name": "", "slots": [], "cpu_percent": None, "memory_bytes": 640 << 20}


@pytest.mark.parametrize(
    ("engine", "sentence"),
    [
        pytest.param(
            HOSTED,
            'Engine <a href="/runs/engines/flows-1/">flows-1</a>, slots 0, 2, 12 % of a core, 15 MiB of memory',
            id="hosted by an engine",
        ),
        pytest.param(ALONE, "Application of its own, 640 MiB of memory", id="its own"),
    ],
)
def test_a_run_shows_what_hosts_it_and_what_that_takes(as_viewer, engine, sentence):
    run = make_run(progress=progress(partition_row()) | {"engine": engine})
    assert sentence in " ".join(text_of(as_viewer, run).split())


def test_a_run_lists_its_tasks_with_their_slots(as_viewer):
    tasks = [{"task": 0, "state": "running", "slot": 7, "partitions": 3, "bytes_per_s": 10.0}]
    text = text_of(as_viewer, make_run(progress=progress(partition_row()) | {"tasks": tasks}))
    assert '<th scope="row">0</th><td>running</td><td>7</td>' in text
