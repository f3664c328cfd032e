import json
from datetime import timedelta

import pytest
from django.utils import timezone

from console.accounts.models import Role
from console.replication.flows.models import FlowTopic, LagSample, ReplicationFlow
from tests.console.making import (
    NOW,
    count_queries,
    make_cluster,
    make_flow,
    make_partition,
    make_run,
    make_topic,
)
from tests.console.safety.world import make_person

pytestmark = pytest.mark.django_db
FLOWS = "/api/v1/flows/"


@pytest.fixture
def as_operator(sign_in, operator):
    return sign_in(operator)


@pytest.fixture
def as_viewer(sign_in, viewer):
    return sign_in(viewer)


def post(client, path, values=None):
    return client.post(path, json.dumps(values or {}), content_type="application/json")


def new_flow(**changes):
    return {"name": "f", "source": "east", "target": "west", "topics": ["orders"]} | changes


def test_a_flow_is_created_and_started(as_operator):
    make_cluster("east"), make_cluster("west")
    answer = post(as_operator, FLOWS, new_flow(start=True))
    assert answer.status_code == 201
    body = answer.json()
    assert (body["source"], body["is_wanted"], body["status"]["state"]) == (
        "east",
        True,
        "starting",
    )


def test_a_flow_that_copies_a_copy_back_is_made_only_when_confirmed(as_operator):
    make_topic(make_cluster("east"), "west.orders"), make_cluster("west")
    asked = new_flow(topics=["west.*"], policy="identity")
    answer = post(as_operator, FLOWS, asked)
    assert (answer.status_code, list(answer.json()["fields"])) == (400, ["confirm"])
    assert post(as_operator, FLOWS, {**asked, "confirm": "f"}).status_code == 201


def test_a_flow_says_which_engine_it_wants_and_which_one_copies_it(as_operator):
    make_cluster("east"), make_cluster("west")
    pk = post(as_operator, FLOWS, new_flow(engine="own")).json()["id"]
    body = as_operator.get(f"{FLOWS}{pk}/").json()
    assert (body["engine"], body["hosting"], body["set_apart_at"]) == ("own", None, None)
    told = {"name": "", "slots": [], "cpu_percent": None, "memory_bytes": 4096}
    ReplicationFlow.objects.update(hosting=told)
    assert as_operator.get(f"{FLOWS}{pk}/").json()["hosting"] == told


def test_who_created_a_flow_is_kept(as_operator):
    make_cluster("east"), make_cluster("west")
    post(as_operator, FLOWS, new_flow())
    assert ReplicationFlow.objects.get().created_by.role == Role.OPERATOR


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        pytest.param({"topics": ["("]}, "topics", id="pattern"),
        pytest.param({"target": "nowhere"}, "target", id="unknown cluster"),
        pytest.param({"tasks": "many"}, "tasks", id="not a number"),
        pytest.param(
            {"offset.flush.timeout.ms": 5}, "offset.flush.timeout.ms", id="client setting"
        ),
    ],
)
def test_bad_input_is_named_at_the_field(as_operator, changes, field):
    make_cluster("east"), make_cluster("west")
    answer = post(as_operator, FLOWS, new_flow(**changes))
    assert answer.status_code == 400
    assert field in answer.json()["fields"]


@pytest.mark.parametrize("path", [FLOWS, f"{FLOWS}preview/"])
def test_two_aliases_of_one_cluster_are_refused(as_operator, path):
    make_cluster("east", cluster_id="id-1"), make_cluster("west", cluster_id="id-1")
    answer = post(as_operator, path, new_flow())
    assert answer.status_code == 400
    assert "cluster id id-1" in answer.json()["fields"]["target"][0]


def test_a_list_has_the_status_and_the_freshness_of_each_flow(as_viewer):
    make_flow(lag=7, lag_ms=1500)
    (row,) = as_viewer.get(FLOWS).json()["results"]
    assert (row["lag"], row["status"]["state"]) == (7, "stopped")
    nouns = [entry["noun"] for entry in row["freshness"]]
    assert nouns == ["Positions", "Source offsets", "Offset syncs"]


def test_a_list_of_three_asks_no_more_than_a_list_of_one(as_viewer):
    make_run(make_flow("a"))
    one = count_queries(as_viewer, FLOWS)
    make_run(make_flow("b", target="b")), make_run(make_flow("c", target="c"))
    assert count_queries(as_viewer, FLOWS) == one


def test_settings_are_changed(as_operator):
    flow = make_flow()
    answer = as_operator.patch(f"{FLOWS}{flow.pk}/", json.dumps({"tasks": 3}), "application/json")
    assert (answer.status_code, answer.json()["tasks"]) == (200, 3)


@pytest.mark.parametrize(("verb", "wanted"), [("start", True), ("stop", False)])
def test_start_and_stop(as_operator, verb, wanted):
    flow = make_flow(is_wanted=not wanted)
    assert post(as_operator, f"{FLOWS}{flow.pk}/{verb}/").json()["is_wanted"] is wanted


def test_an_idle_flow_is_gone_after_a_delete(as_operator):
    assert as_operator.delete(f"{FLOWS}{make_flow().pk}/").status_code == 204


def test_a_running_flow_is_deleted_after_its_run(as_operator):
    flow = make_flow(is_wanted=True)
    make_run(flow)
    answer = as_operator.delete(f"{FLOWS}{flow.pk}/")
    assert (answer.status_code, answer.json()["status"]["state"]) == (202, "deleting")


def test_a_flow_that_is_being_deleted_refuses_to_start(as_operator):
    answer = post(as_operator, f"{FLOWS}{make_flow(deletion_asked_at=NOW).pk}/start/")
    assert (answer.status_code, answer.json()["code"]) == (409, "flow_is_deleted")


def test_partitions_can_be_asked_for_one_topic(as_viewer):
    flow = make_flow()
    make_partition(flow, "orders", position=5), make_partition(flow, "clicks")
    rows = as_viewer.get(f"{FLOWS}{flow.pk}/partitions/?topic=orders").json()["results"]
    assert [(row["topic"], row["position"]) for row in rows] == [("orders", 5)]


def test_topics_are_listed(as_viewer):
    flow = make_flow()
    FlowTopic.objects.create(flow=flow, topic="orders", lag=3, updated_at=NOW)
    assert as_viewer.get(f"{FLOWS}{flow.pk}/topics/").json()["results"][0]["lag"] == 3


def test_a_series_is_columns(as_viewer):
    flow = make_flow()
    at_s = int((timezone.now() - timedelta(minutes=5)).timestamp())
    LagSample.objects.create(flow=flow, at_s=at_s, lag=4, lag_ms=100, rate_per_s=2.5)
    series = as_viewer.get(f"{FLOWS}{flow.pk}/series/?range=1h").json()
    assert (series["lag"], series["lag_ms"], series["rate_per_s"]) == ([4], [100], [2.5])


@pytest.mark.parametrize("query", ["range=1y", "points=0", "points=many", "from=yesterday"])
def test_a_series_refuses_what_it_cannot_read(as_viewer, query):
    assert as_viewer.get(f"{FLOWS}{make_flow().pk}/series/?{query}").status_code == 400


def test_a_preview_says_which_topics_match_and_why_not_the_others(as_operator):
    make_cluster("west")
    east = make_cluster("east")
    make_topic(east, "orders"), make_topic(east, "clicks"), make_topic(east, "west.orders")
    rows = {
        row["topic"]: row
        for row in post(as_operator, f"{FLOWS}preview/", new_flow(topics=[".*orders"])).json()
    }
    assert rows["orders"]["remote_topic"] == "east.orders"
    assert "No pattern of the flow" in rows["clicks"]["reason"]
    assert "cycle" in rows["west.orders"]["reason"]


def test_a_preview_says_what_happens_on_the_target(as_operator):
    make_topic(make_cluster("east"), "orders")
    make_topic(make_cluster("west"), "east.orders", partition_count=1)
    (row,) = post(as_operator, f"{FLOWS}preview/", new_flow()).json()
    assert (row["plan"], row["remote_partitions"]) == ("Will grow from 1 to 3 partitions.", 1)


def test_a_flow_that_nobody_may_see_is_not_named_by_what_it_gets_in_the_way_of(client):
    make_topic(make_cluster("east"), "orders"), make_topic(make_cluster("dark"), "orders")
    make_cluster("west")
    person = make_person("eva", east="operator", west="operator")
    make_flow("secret flow", source="dark", policy="identity")
    client.force_login(person)
    answer = post(client, FLOWS, new_flow(policy="identity"))
    (text,) = answer.json()["fields"]["topics"]
    assert "orders is written by another flow" in text
    assert not {word for word in ("secret", "dark") if word in text}


def test_a_new_topic_is_accepted(as_operator):
    flow = make_flow(topic_ids={"orders": "old"})
    FlowTopic.objects.create(flow=flow, topic="orders", updated_at=NOW)
    assert (
        post(as_operator, f"{FLOWS}{flow.pk}/accept-topics/", {"topics": ["orders"]}).status_code
        == 200
    )
    assert ReplicationFlow.objects.get().reset_topics == ["orders"]


def test_an_unknown_flow_is_not_found(as_viewer):
    assert as_viewer.get(f"{FLOWS}999/").status_code == 404


WRITES = [
    ("post", ""),
    ("patch", "1/"),
    ("delete", "1/"),
    ("post", "1/start/"),
    ("post", "1/stop/"),
    ("post", "1/accept-topics/"),
    ("post", "preview/"),
]


@pytest.mark.parametrize(("method", "path"), WRITES)
def test_a_viewer_changes_nothing(as_viewer, method, path):
    assert getattr(as_viewer, method)(FLOWS + path, "{}", "application/json").status_code == 403


@pytest.mark.parametrize("path", ["", "1/", "1/topics/", "1/partitions/", "1/series/"])
def test_anonymous_people_read_nothing(client, path):
    assert client.get(FLOWS + path).status_code in {401, 403}
