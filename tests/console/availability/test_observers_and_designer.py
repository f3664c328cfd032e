"""Who observes what, and placements that are designed: pages, routes, wrong questions."""

import json
from datetime import timedelta

import pytest

from console.quorum.models import Kind
from tests.console.availability.placed_world import (
    document,
    make_placed,
    make_rule,
    make_sites,
)
from tests.console.making import NOW
from tests.console.quorum.making import (
    make_change,
    make_log,
    make_partition,
    make_quorum,
    make_status,
    make_subject,
    placed,
    replica,
)

pytestmark = pytest.mark.django_db
OBSERVED = document({"west": 2}, {"east": 1}, "under-min-isr")
OBSERVERS = "/api/v1/observers/?cluster=east"
DESIGNER = "/availability/east/designer/"
DESIGNS = "/api/v1/placement-designs/"


@pytest.fixture
def cluster():
    return make_sites()


@pytest.fixture
def visitor(sign_in, viewer, cluster):
    return sign_in(viewer)


# --- observers ----------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("isr", "leader", "state"),
    [([1, 2], 1, "waiting"), ([1, 2, 3], 1, "in_isr"), ([3], 3, "leading")],
    ids=["outside", "promoted", "leads"],
)
def test_an_observer_is_where_it_is(visitor, cluster, isr, leader, state):
    make_placed(cluster, "orders", [1, 2, 3], isr, leader=leader)
    make_rule(cluster, "orders", OBSERVED)
    told = visitor.get(OBSERVERS).json()
    (one,) = told["results"]
    assert (one["broker"], one["rack"], one["state"], one["policy"]) == (
        3, "east", state, "under-min-isr",
    )  # fmt: skip
    assert (told["counts"]["total"], told["counts"][state], one["origin"]) == (1, 1, "exact")


def test_an_observer_whose_broker_is_down_is_dead(visitor, cluster):
    cluster.brokers.filter(broker_id=3).update(is_live=False)
    make_placed(cluster, "orders", [1, 2, 3], [1, 2])
    make_rule(cluster, "orders", OBSERVED)
    assert visitor.get(OBSERVERS).json()["results"][0]["state"] == "dead"


def test_since_when_is_read_from_the_metadata_log(visitor, cluster):
    log = make_log(cluster)
    partition = make_partition(log)
    make_change(partition, 10, 900, placed(1, 1, 2))
    make_change(partition, 20, 600, placed(1, 1, 2, 3))
    make_change(partition, 30, 300, placed(2, 1, 2, 3))
    make_placed(cluster, "orders", [1, 2, 3], [1, 2, 3])
    make_rule(cluster, "orders", OBSERVED)
    (one,) = visitor.get(OBSERVERS).json()["results"]
    assert one["since"] == (NOW - timedelta(seconds=600)).isoformat().replace("+00:00", "Z")
    assert (one["since_before"], one["is_caught_up"]) == (False, True)


def test_a_fenced_standby_broker_observes_all_that_it_holds(visitor, cluster):
    cluster.brokers.filter(broker_id=4).update(is_live=False)
    log = make_log(cluster)
    make_status(log, replicas=[replica(1, "leader"), replica(4, "observer")])
    broker = make_subject(log, Kind.BROKER, "4", 5, broker=4)
    make_change(broker, 9, 100, {"is_fenced": True, "rack": "east"})
    make_placed(cluster, "orders", [1, 2, 4], [1, 2], partitions=3)
    told = visitor.get(OBSERVERS).json()
    assert [one["broker"] for one in told["results"]] == [4, 4, 4]
    assert told["standbys"] == [{"broker": 4, "rack": "east", "partitions": 3, "in_isr": 0}]
    page = visitor.get("/availability/east/observers/").content.decode()
    assert "fenced standby broker" in page


def test_observers_are_cut_into_pages_and_counted(visitor, cluster):
    make_placed(cluster, "orders", [1, 2, 3], [1, 2], partitions=120)
    make_rule(cluster, "orders", OBSERVED)
    page = visitor.get("/availability/east/observers/?page=3")
    assert page.context["observers"].summary.endswith("of 120")
    assert len(page.context["rows"]) == 20
    told = visitor.get(f"{OBSERVERS}&limit=7&offset=116").json()
    assert (len(told["results"]), told["count"]) == (4, 120)


@pytest.mark.parametrize("state", ["in_isr", "leading", "dead"])
def test_observers_are_narrowed_down(visitor, cluster, state):
    make_placed(cluster, "orders", [1, 2, 3], [1, 2])
    make_rule(cluster, "orders", OBSERVED)
    assert visitor.get(f"{OBSERVERS}&state={state}").json()["results"] == []
    assert visitor.get(f"{OBSERVERS}&state=waiting&topic=ord&broker=3").json()["count"] == 1


# --- the designer -------------------------------------------------------------------------------
SITES = "west = 1, 2\neast = 3, 4\nnorth = 5"


def test_the_form_begins_with_the_sites_of_the_cluster(visitor, cluster):
    make_quorum(cluster)
    form = visitor.get(DESIGNER).context["form"]
    assert form.initial["sites"] == "east = 3, 4\nnorth = 5\nwest = 1, 2"


def test_a_wish_is_answered_with_a_placement_that_can_be_asked_and_saved(
    sign_in, operator, cluster
):
    visitor = sign_in(operator)
    make_placed(cluster, "orders", [1, 2, 3])
    answer = visitor.get(DESIGNER, {"sites": SITES, "topic": "orders"})
    found = answer.context["design"]
    assert found.placement.sync_count >= 3
    assert all(one.is_writable for one in found.survives if "north" in one.loss)
    asked = visitor.get(
        answer.context["what_if_url"] + "&steps=lose:rack:east&topic=orders&show=all"
    )
    assert [one.after.is_writable for one in asked.context["partitions"].rows] == [True]
    form = visitor.get(answer.context["save_url"]).context["form"]
    assert json.loads(form.initial["placement"]) == found.placement.as_json()


def commands_of(design):
    return "\n".join(line for group in design.commands for line in group.lines)


def test_a_topic_that_exists_is_moved_and_not_created(visitor, cluster):
    make_placed(cluster, "orders", [1, 2, 3], partitions=2)
    design = visitor.get(DESIGNER, {"sites": SITES, "topic": "orders"}).context["design"]
    told = commands_of(design)
    assert "--create" not in told
    assert "kafka-reassign-partitions" in told
    assert len(design.assignment) == 2


def test_a_topic_that_does_not_exist_is_created(visitor, cluster):
    answer = visitor.get(DESIGNER, {"sites": SITES, "topic": "payments", "partitions": "3"})
    assert "--create --topic payments" in commands_of(answer.context["design"])
    assert len(answer.context["design"].assignment) == 3


def test_more_partitions_than_a_topic_has_are_refused_at_the_field(visitor, cluster):
    make_placed(cluster, "orders", [1, 2, 3])
    answer = visitor.get(DESIGNER, {"sites": SITES, "topic": "orders", "partitions": "6"})
    assert "Add partitions first" in str(answer.context["form"].errors["partitions"])
    assert "design" not in answer.context


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ({"sites": ""}, "sites"),
        ({"sites": "west = x"}, "sites"),
        ({"sites": "= 1"}, "sites"),
        ({"sites": "west = 1\nwest = 2"}, "sites"),
        ({"sites": SITES, "standbys": "9"}, "standbys"),
        ({"sites": SITES, "rpo": "much"}, "rpo"),
        ({"sites": SITES, "partitions": "0"}, "partitions"),
        ({"sites": SITES, "most_copies": "1"}, "most_copies"),
        ({"sites": SITES, "preferred_site": "moon"}, "preferred_site"),
        ({"sites": SITES, "topic": "a/b"}, "topic"),
        ({"sites": "west = 1, 2\neast = 3, 4"}, None),
    ],
    ids=lambda one: str(one)[:40],
)
def test_an_impossible_wish_is_told_at_its_field(visitor, query, field):
    answer = visitor.get(DESIGNER, query)
    errors = answer.context["form"].errors
    assert "design" not in answer.context
    assert errors
    if field:
        assert field in errors, errors


def post(client, **body):
    return client.post(DESIGNS, json.dumps(body), content_type="application/json")


def test_the_designer_is_a_route_too(visitor):
    sites = [{"name": n, "brokers": [b]} for b, n in enumerate(("a", "b", "c"), start=1)]
    told = post(visitor, sites=sites).json()
    assert [one["site"] for one in told["layout"]] == ["a", "b", "c"]
    assert told["min_insync_replicas"] == 2
    assert "--create" in json.dumps(told["commands"])
    told = post(visitor, sites=sites, topic="orders", is_existing_topic=True).json()
    assert "--create" not in json.dumps(told["commands"])
    assert [name for name in ("survives", "commands", "reasons") if not told[name]] == []


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "sites"),
        ({"sites": []}, "sites"),
        ({"sites": [{"brokers": [1]}]}, "sites"),
        ({"sites": [{"name": "a", "brokers": [-1]}]}, "sites"),
        ({"sites": [{"name": "a", "brokers": [1]}], "rpo": "x"}, "rpo"),
        ({"sites": [{"name": "a", "brokers": [1]}], "surprise": 1}, "surprise"),
        ({"sites": [{"name": "a", "brokers": [1]}]}, None),
    ],
    ids=lambda one: str(one)[:40],
)
def test_a_wish_that_nothing_fulfils_is_a_400(visitor, body, field):
    answer = post(visitor, **body)
    assert answer.status_code == 400, answer.json()
    assert answer.json()["fields"]
    if field:
        assert any(name.startswith(field) for name in answer.json()["fields"]), answer.json()
