import pytest
from django.test import Client

from console.accounts.models import AuditEntry
from console.frame.errors import ActionRefused
from console.replication.control.actions import change_control, pause, restart_parts, resume
from console.replication.control.steering import steering_of
from console.replication.flows.models import FlowTopic, ReplicationFlow
from console.runs.models import Run, RunState
from jobs.cluster.errors import InvalidFields
from jobs.spark.contract import CONTROL, read_json
from tests.console.making import NOW, make_cluster, make_flow, make_run, make_topic, make_user

pytestmark = pytest.mark.django_db


@pytest.fixture
def flow():
    flow = make_flow(topics=["orders", "clicks", "seen"])
    FlowTopic.objects.create(flow=flow, topic="orders", partition_count=3, updated_at=NOW)
    FlowTopic.objects.create(flow=flow, topic="clicks", partition_count=1, updated_at=NOW)
    return flow


def stored():
    return ReplicationFlow.objects.get().control


def running(flow, folder, **fields):
    return make_run(flow, folder=str(folder), **fields)


def test_a_pause_is_kept_and_told_to_the_run_at_once(flow, tmp_path):
    running(flow, tmp_path)
    pause(flow, ["orders:1", "clicks"])
    assert stored() == {"paused": ["clicks", "orders:1"]}
    assert read_json(tmp_path / CONTROL) == stored()


def test_a_pause_does_not_end_the_run(flow, tmp_path):
    run = running(flow, tmp_path)
    pause(flow, ["orders"])
    run.refresh_from_db()
    assert run.cancel_requested_at is None


def test_a_resume_takes_back_a_pause(flow, tmp_path):
    running(flow, tmp_path)
    pause(flow, ["orders"])
    resume(flow, ["orders:0"])
    assert stored() == {"paused": ["orders:1", "orders:2"]}
    assert read_json(tmp_path / CONTROL) == stored()


def test_a_flow_that_does_not_run_is_paused_for_later(flow):
    pause(flow, ["orders"])
    assert stored() == {"paused": ["orders"]}


@pytest.mark.parametrize("act", [pause, resume, restart_parts])
@pytest.mark.parametrize("names", [[], ["payments"], ["orders:3"], ["orders", "payments"]])
def test_names_are_of_the_flow(flow, act, names):
    with pytest.raises(InvalidFields) as refused:
        act(flow, names)
    assert set(refused.value.errors) == {"names"}
    assert stored() == {}


def test_a_topic_that_was_only_seen_on_the_source_can_be_paused(flow):
    make_topic(make_cluster("east"), "seen")
    pause(flow, ["seen:2"])
    assert stored() == {"paused": ["seen:2"]}


def test_a_topic_that_is_gone_can_be_resumed(flow):
    ReplicationFlow.objects.update(control={"paused": ["gone"]})
    flow.refresh_from_db()
    resume(flow, ["gone"])
    assert stored() == {}


def test_a_change_keeps_what_was_not_given(flow):
    change_control(flow, {"paused": ["orders"]})
    change_control(flow, {"max_bytes_per_s": 5000})
    assert stored() == {"paused": ["orders"], "max_bytes_per_s": 5000}


@pytest.mark.parametrize(
    ("values", "field"),
    [
        pytest.param({"paused": ["payments"]}, "paused", id="unknown topic"),
        pytest.param({"priorities": {"payments": 1}}, "priorities", id="unknown priority"),
        pytest.param({"priorities": {"orders:1": 1}}, "priorities", id="priority of a partition"),
        pytest.param({"max_bytes_per_s": 3}, "max_bytes_per_s", id="limit"),
        pytest.param({"windows": ["nightly"]}, "windows", id="window"),
        pytest.param({"restart": {"token": "t"}}, "restart", id="has an action of its own"),
    ],
)
def test_a_bad_value_is_said_at_its_field_and_changes_nothing(flow, values, field):
    with pytest.raises(InvalidFields) as refused:
        change_control(flow, values)
    assert set(refused.value.errors) == {field}
    assert stored() == {}


def test_a_name_that_stood_there_before_may_stay_when_its_topic_is_gone(flow):
    ReplicationFlow.objects.update(control={"paused": ["gone"]})
    flow.refresh_from_db()
    change_control(flow, {"paused": ["gone", "orders"]})
    assert stored() == {"paused": ["gone", "orders"]}


def test_every_restart_has_a_token_of_its_own(flow, tmp_path):
    running(flow, tmp_path)
    restart_parts(flow, ["orders"])
    first = stored()["restart"]["token"]
    restart_parts(flow, ["orders"])
    assert first
    assert stored()["restart"]["token"] != first
    assert read_json(tmp_path / CONTROL) == stored()


def test_a_restart_that_was_not_done_yet_is_not_forgotten_by_the_next(flow, tmp_path):
    running(flow, tmp_path)
    restart_parts(flow, ["orders"])
    restart_parts(flow, ["clicks:0"])
    assert stored()["restart"]["topics"] == ["clicks:0", "orders"]


def test_a_restart_that_was_done_is_not_done_again(flow, tmp_path):
    running(flow, tmp_path)
    restart_parts(flow, ["orders"])
    done = {"control": {"restart_token": stored()["restart"]["token"]}}
    Run.objects.update(progress=done)
    flow.refresh_from_db()
    restart_parts(flow, ["clicks:0"])
    assert stored()["restart"]["topics"] == ["clicks:0"]


@pytest.mark.parametrize("state", [None, RunState.CRASHED])
def test_without_a_run_there_is_nothing_to_restart(flow, state):
    if state:
        make_run(flow, state=state)
    with pytest.raises(ActionRefused) as refused:
        restart_parts(flow, ["orders"])
    assert (refused.value.code, stored()) == ("flow_not_running", {})


@pytest.mark.parametrize(
    ("act", "action", "after"),
    [
        pytest.param(
            lambda f: pause(f, ["orders"]), "flow.pause", {"paused": ["orders"]}, id="pause"
        ),
        pytest.param(
            lambda f: change_control(f, {"bulk_lag": 5}),
            "flow.control",
            {"bulk_lag": 5},
            id="change",
        ),
        pytest.param(
            lambda f: restart_parts(f, ["orders"]),
            "flow.restart_parts",
            {"names": ["orders"]},
            id="restart",
        ),
    ],
)
def test_the_trail_says_what_was_asked_for(flow, tmp_path, act, action, after):
    running(flow, tmp_path)
    act(flow)
    entry = AuditEntry.objects.get(action=action)
    assert (entry.subject, entry.after) == ("flow:orders to west", after)


def ask(person, path, flow, body, method="post"):
    client = Client()
    client.force_login(person)
    answer = getattr(client, method)(
        f"/api/v1/flows/{flow.pk}/{path}/", body, content_type="application/json"
    )
    assert answer.status_code == 200


def test_who_paused_what_stays_with_it_until_it_is_resumed(flow):
    ada, bob = make_user(name="ada"), make_user(name="bob")
    ask(ada, "pause", flow, {"names": ["orders"]})
    ask(bob, "pause", flow, {"names": ["clicks"]})
    ask(bob, "resume", flow, {"names": ["orders:0"]})
    flow.refresh_from_db()
    assert {one.name: one.by for one in steering_of(flow)} == {
        "clicks": "bob",
        "orders:1": "ada",
        "orders:2": "ada",
    }
    ask(ada, "resume", flow, {"names": ["orders", "clicks"]})
    flow.refresh_from_db()
    assert (steering_of(flow), flow.steered_by) == ([], {})


def test_who_set_the_limit_stays_with_it_until_it_is_another_one(flow):
    ada, bob = make_user(name="ada"), make_user(name="bob")
    ask(ada, "control", flow, {"own_limit": True, "max_bytes_per_s": 2048}, "patch")
    ask(bob, "control", flow, {"bulk_lag": 7}, "patch")
    flow.refresh_from_db()
    assert [(one.bytes_per_s, one.by) for one in steering_of(flow)] == [(2048, "ada")]
    ask(bob, "control", flow, {"max_bytes_per_s": 4096}, "patch")
    flow.refresh_from_db()
    assert [(one.bytes_per_s, one.by) for one in steering_of(flow)] == [(4096, "bob")]
    ask(bob, "control", flow, {"own_limit": False}, "patch")
    flow.refresh_from_db()
    assert (steering_of(flow), flow.steered_by) == ([], {})
