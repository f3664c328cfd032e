import json

import pytest

from console.replication.flows.models import FlowTopic, ReplicationFlow
from jobs.spark.contract import CONTROL, read_json
from tests.console.making import NOW, make_flow, make_run

pytestmark = pytest.mark.django_db
SYNC = {
    "at": "2026-11-21T03:12:00+00:00",
    "changed_at": None,
    "changes": [],
    "notes": [{"topic": "east.orders", "key": "retention.ms", "text": "Only the target has it."}],
    "failures": [],
}


@pytest.fixture
def flow():
    flow = make_flow()
    FlowTopic.objects.create(flow=flow, topic="orders", partition_count=3, updated_at=NOW)
    return flow


@pytest.fixture
def send(sign_in, operator, flow):
    """Send a body to a route of the flow."""
    client = sign_in(operator)

    def send(method, route, values=None):
        path = f"/api/v1/flows/{flow.pk}/{route}"
        if method == "get":
            return client.get(path)
        return getattr(client, method)(path, json.dumps(values or {}), "application/json")

    return send


def test_nothing_is_asked_of_a_new_flow(send):
    assert send("get", "control/").json() == {
        "paused": [],
        "priorities": {},
        "own_limit": False,
        "max_bytes_per_s": None,
        "windows": [],
        "bulk_lag": 100_000,
    }


def test_control_is_changed_and_told_to_the_run(send, flow, tmp_path):
    make_run(flow, folder=str(tmp_path))
    answer = send("patch", "control/", {"max_bytes_per_s": 5000, "priorities": {"orders": 2}})
    assert (answer.status_code, answer.json()["own_limit"]) == (200, True)
    assert read_json(tmp_path / CONTROL) == {"priorities": {"orders": 2}, "max_bytes_per_s": 5000}


@pytest.mark.parametrize(
    ("values", "field"),
    [
        ({"paused": ["payments"]}, "paused"),
        ({"paused": "orders"}, "paused"),
        ({"priorities": {"payments": 1}}, "priorities"),
        ({"windows": ["at night"]}, "windows"),
        ({"max_bytes_per_s": 1}, "max_bytes_per_s"),
        ({"bulk_lag": -1}, "bulk_lag"),
        ({"restart": {"token": "t"}}, "restart"),
    ],
)
def test_a_bad_value_is_named_at_its_field(send, values, field):
    answer = send("patch", "control/", values)
    assert (answer.status_code, list(answer.json()["fields"])) == (400, [field])


def test_topics_and_partitions_are_paused_and_resumed(send):
    assert send("post", "pause/", {"names": ["orders"]}).json()["paused"] == ["orders"]
    answer = send("post", "resume/", {"names": ["orders:1"]})
    assert answer.json()["paused"] == ["orders:0", "orders:2"]


@pytest.mark.parametrize("route", ["pause/", "resume/", "restart/"])
@pytest.mark.parametrize("names", [[], ["payments"], ["orders:7"], "orders"])
def test_names_are_of_the_flow(send, route, names):
    answer = send("post", route, {"names": names})
    assert (answer.status_code, list(answer.json()["fields"])) == (400, ["names"])


def test_a_partition_is_restarted(send, flow, tmp_path):
    make_run(flow, folder=str(tmp_path))
    assert send("post", "restart/", {"names": ["orders:1"]}).status_code == 200
    assert read_json(tmp_path / CONTROL)["restart"]["topics"] == ["orders:1"]


def test_a_flow_without_a_run_restarts_nothing(send):
    answer = send("post", "restart/", {"names": ["orders"]})
    assert (answer.status_code, answer.json()["code"]) == (409, "flow_not_running")


def test_a_flow_says_how_long_it_goes_on_what_it_cannot_obey_and_what_topics_were_told(send, flow):
    ReplicationFlow.objects.update(eta_s=300.5, control_problem="windows: no", topic_sync=SYNC)
    body = send("get", "").json()
    assert (body["eta_s"], body["control_problem"]) == (300.5, "windows: no")
    assert body["topic_sync"]["notes"] == SYNC["notes"]


def test_what_is_not_known_is_null(send):
    body = send("get", "").json()
    assert (body["eta_s"], body["topic_sync"], body["held_back"]) == (None, None, {})


@pytest.mark.parametrize(
    ("method", "route"),
    [("patch", "control/"), ("post", "pause/"), ("post", "resume/"), ("post", "restart/")],
)
def test_a_viewer_steers_nothing(sign_in, viewer, flow, method, route):
    client = sign_in(viewer)
    path = f"/api/v1/flows/{flow.pk}/{route}"
    assert getattr(client, method)(path, "{}", "application/json").status_code == 403


def test_a_flow_says_what_came_of_its_checkpoints(send, flow):
    told = {"at_ms": None, "fault": "west: No broker answers.", "group_sync": None}
    told |= dict.fromkeys(
        ("groups", "told", "exact", "written", "written_total", "corrected", "stale_groups"), 0
    )
    told |= {"without": {}, "errors": {}, "findings": []}
    assert send("get", "").json()["checkpoint_writing"] is None
    ReplicationFlow.objects.update(checkpoint_writing=told)
    assert send("get", "").json()["checkpoint_writing"] == told
