"""What-if: steps in an address, pages and routes that answer, and what they say to wrong questions."""

import html
import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.availability.placements.models import WhatIfPicture
from console.availability.what_if import matrices
from console.availability.what_if.query import BadStep, read_steps, write_steps
from jobs.availability.what_if.steps import Loss, PreferredElection, Return, UncleanElection
from tests.console.availability.placed_world import (
    document,
    make_placed,
    make_rule,
    make_sites,
)
from tests.console.making import NOW, count_queries, make_cluster
from tests.console.quorum.making import make_quorum
from tests.console.safety.world import make_person

PAGE = "/availability/east/what-if/"
MATRIX = "/availability/east/what-if/matrix/"
API = "/api/v1/what-if/"


# --- steps as text ------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("text", "step"),
    [
        ("lose:rack:west,broker:4", Loss(frozenset({4}), frozenset({"west"}))),
        ("lose:controller:9", Loss(controllers=frozenset({9}))),
        ("return:broker:1", Return(frozenset({1}))),
        ("return-clean:broker:1", Return(frozenset({1}), is_clean=True)),
        ("unclean", UncleanElection()),
        ("preferred:orders", PreferredElection("orders")),
        ("lose:rack:a%2Cb%3B", Loss(racks=frozenset({"a,b;"}))),
    ],
)
def test_a_step_is_read(text, step):
    (found,) = read_steps(text)
    assert write_steps([found]) == write_steps([step])
    assert type(found) is type(step)


IDS = st.frozensets(st.integers(0, 2**31 - 1), max_size=3)
RACKS = st.frozensets(st.text(min_size=1, max_size=5), max_size=3)


@given(IDS, RACKS, IDS, st.booleans())
def test_what_is_written_is_read_again(brokers, racks, controllers, is_clean):
    step = Return(brokers, racks, controllers, is_clean=is_clean)
    if brokers or racks or controllers:
        (found,) = read_steps(write_steps([step]))
        told = (found.brokers, found.racks, found.controllers, found.is_clean)
        assert told == (brokers, racks, controllers, is_clean)


@pytest.mark.parametrize(
    "text",
    ["lose", "lose:", "lose:west", "lose:broker:x", "lose:broker:-1", "lose:broker:2147483648",
     "burn:broker:1", "lose:rack:", ";".join(["unclean"] * 21)],
)  # fmt: skip
def test_what_is_no_step_is_refused(text):
    with pytest.raises(BadStep):
        read_steps(text)


# --- pages --------------------------------------------------------------------------------------
@pytest.fixture
def cluster(db):
    """orders on both sites, clicks only in west; voters on brokers 1, 2 (west) and 3 (east)."""
    cluster = make_sites()
    make_quorum(cluster)
    make_placed(cluster, "orders", [1, 2, 3, 4], partitions=2)
    make_placed(cluster, "clicks", [1, 2], min_insync_replicas=1)
    return cluster


@pytest.fixture
def visitor(sign_in, viewer, cluster):
    return sign_in(viewer)


def text_of(client, path):
    answer = client.get(path)
    assert answer.status_code == 200, path
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", answer.content.decode())).split())


def test_without_steps_the_page_lists_what_can_be_lost(visitor):
    shown = text_of(visitor, PAGE)
    assert "Site west" in shown
    assert "2 brokers, 2 voters" in shown
    assert "broker 5" in shown


def test_the_loss_of_a_site_is_answered(visitor):
    shown = text_of(visitor, f"{PAGE}?steps=lose:rack:east")
    assert "Loss of rack east" in shown
    assert "3 of 3 partitions" in shown or "of 3 partitions, with acks=all" in shown
    assert "orders-1" in shown


def test_marked_things_become_a_step_of_an_address_that_can_be_shared(visitor):
    answer = visitor.get(
        PAGE, {"mark": ["rack:west", "broker:3"], "then": "lose", "steps": "unclean"}
    )
    assert answer.status_code == 302
    assert answer["Location"] == f"{PAGE}?steps=unclean;lose:rack:west,broker:3"
    assert "No majority" in text_of(visitor, answer["Location"])


def test_steps_follow_each_other(visitor):
    shown = text_of(
        visitor, f"{PAGE}?steps=lose:broker:1;lose:broker:2;unclean&topic=clicks&show=all"
    )
    for words in (
        "Loss of broker 1",
        "Loss of broker 2",
        "Unclean election of all topics",
        "clicks-0",
    ):
        assert words in shown


@pytest.mark.parametrize(
    ("query", "told"),
    [
        ("steps=lose:broker:99", "Unknown broker: 99"),
        ("steps=lose:rack:moon", "Nothing is in rack moon"),
        ("steps=lose:controller:9", "Unknown voter: 9"),
        ("steps=unclean:nothing", "Unknown topic: nothing"),
        ("steps=burn", "is not a step"),
        ("steps=lose:broker:1&at=yesterday", "is not a time"),
        ("steps=lose:broker:1&at=2020-01-01", "before the known range"),
        ("steps=lose:broker:1&sites=7", "Enter node=site"),
        ("steps=lose:broker:1&sites=7=west", "7 is no voter"),
        ("steps=lose:broker:1&pattern=orders&placement=%7B", "placement"),
        ("steps=lose:broker:1&pattern=orders", "Enter a placement"),
        ("steps=lose:broker:1&min_insync_replicas=many&placement=%7B%7D&pattern=a", "A number from 1"),
        ("steps=lose:broker:1&observers=none", "Select a valid choice"),
    ],
)  # fmt: skip
def test_a_wrong_question_is_told(visitor, query, told):
    assert told in text_of(visitor, f"{PAGE}?{query}")


def test_a_proposed_placement_is_asked_in_place_of_the_real_one(visitor):
    told = json.dumps(document({"east": 1, "north": 1}))
    asked = {"steps": "lose:rack:east", "topic": "clicks", "show": "all"}
    (one,) = visitor.get(PAGE, asked).context["partitions"].rows
    assert one.after.isr == (1, 2)
    answer = visitor.get(PAGE, asked | {"pattern": "clicks", "placement": told})
    (one,) = answer.context["partitions"].rows
    assert (one.before.isr, one.after.isr, one.after.is_writable) == ((3, 5), (5,), True)


def test_observers_are_promoted_where_the_brokers_do_it(visitor, cluster):
    told = document({"west": 2}, {"east": 1}, "under-min-isr")
    asked = {"steps": "lose:broker:1", "pattern": "orders", "placement": json.dumps(told)}
    asked |= {"min_insync_replicas": "2", "topic": "orders", "observers": "brokers"}
    rows = visitor.get(PAGE, asked).context["partitions"].rows
    assert [len(one.after.observers_in_isr) for one in rows] == [1, 1]


def test_a_recorded_moment_can_be_asked(visitor, cluster):
    shown = text_of(visitor, f"{PAGE}?steps=lose:rack:dc-c&at=2026-11-21T02:55:20Z&show=all")
    assert "orders-0" in shown
    assert "does not record" in shown


@pytest.mark.parametrize("path", [PAGE, MATRIX, "/availability/east/observers/"])
def test_a_page_of_a_cluster_that_was_never_seen_is_quiet(sign_in, viewer, path):
    make_cluster("east")
    assert sign_in(viewer).get(path).status_code == 200


@pytest.mark.parametrize(
    "path",
    [PAGE, f"{PAGE}?steps=lose:rack:west", MATRIX, "/availability/east/observers/",
     "/availability/east/placements/"],
)  # fmt: skip
def test_a_page_takes_as_many_queries_whatever_the_cluster(visitor, cluster, path):
    make_rule(cluster, "o.*", document({"west": 2}, {"east": 2}, "under-min-isr"), kind="regex")
    few = count_queries(visitor, path)
    for number in range(60):
        make_placed(cluster, f"o-{number}", [1, 2, 3, 4], [1, 2], partitions=3)
    assert count_queries(visitor, path) == few


# --- the matrix ---------------------------------------------------------------------------------
def test_the_worst_single_failure_stands_first(visitor):
    shown = text_of(visitor, MATRIX)
    assert "Loss of site west" in shown
    assert "site east" in shown
    assert "broker 5" in shown


def test_a_kept_matrix_says_its_age_and_is_made_anew_when_something_changed(cluster):
    row = matrices.keep_picture(cluster, NOW)
    assert row.matrix["worst"]["name"] == "site west"
    assert matrices.matrix_of(cluster).made_at == NOW
    make_rule(cluster, "orders", document({"west": 2}, {"east": 2}, "under-min-isr"))
    assert matrices.matrix_of(cluster).made_at is None
    matrices.keep_picture(cluster, NOW)
    assert matrices.matrix_of(cluster).made_at == NOW


def test_a_picture_is_written_anew_only_when_it_changed(cluster):
    first = matrices.keep_picture(cluster, NOW)
    again = matrices.keep_picture(cluster, NOW.replace(hour=4))
    assert (again.changed_at, again.made_at) == (NOW, NOW.replace(hour=4))
    assert (again.digest, again.matrix_at) == (first.digest, first.matrix_at)
    assert WhatIfPicture.objects.count() == 1


def test_a_cluster_is_due_when_a_round_came_after_its_picture(cluster):
    assert matrices.SNAPSHOTS.due(NOW) == [cluster.pk]
    assert matrices.keep_due_picture(cluster.pk, lambda: NOW)
    assert matrices.SNAPSHOTS.due(NOW.replace(hour=4)) == []


# --- REST ---------------------------------------------------------------------------------------
def post(client, **body):
    return client.post(API, json.dumps(body), content_type="application/json")


def test_the_route_answers_the_pages_question(visitor):
    told = visitor.get(f"{API}?cluster=east&steps=lose:rack:east").json()
    assert told["counts"]["partitions"] == 3
    assert told["partition_count"] == len(told["partitions"]) == 2
    assert told["steps"][0]["step"] == "lose:rack:east"
    assert told["topics"][0]["topic"] == "orders"
    assert told["quorum"]["failures_tolerated"] == 0


def test_the_same_question_can_be_posted(visitor):
    asked = {"cluster": "east", "steps": [{"action": "lose", "racks": ["east"]}]}
    told = post(visitor, **asked)
    assert told.status_code == 200
    assert told.json() == visitor.get(f"{API}?cluster=east&steps=lose:rack:east").json()


def test_a_cluster_that_is_described_can_be_asked(visitor):
    model = {
        "brokers": [{"id": 1, "rack": "a"}, {"id": 2, "rack": "b"}],
        "topics": [{"name": "t", "min_insync_replicas": 1,
                    "partitions": [{"partition": 0, "replicas": [1, 2], "isr": [1, 2], "leader": 1}]}],
    }  # fmt: skip
    told = post(visitor, model=model, steps=[{"action": "lose", "brokers": [1]}])
    assert told.status_code == 200, told.json()
    (one,) = told.json()["partitions"]
    assert (one["after"]["leader"], one["after"]["isr"]) == (2, [2])


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "cluster"),
        ({"cluster": "east", "model": {}}, "cluster"),
        ({"cluster": "east", "surprise": 1}, "surprise"),
        ({"cluster": "east", "steps": [{"action": "lose"}]}, "steps[0]"),
        ({"cluster": "east", "steps": [{"action": "burn"}]}, "steps.0.action"),
        ({"cluster": "east", "steps": [{"action": "lose", "racks": ["east"], "broker": [1]}]}, "steps.0.broker"),
        ({"cluster": "east", "proposed": [{"pattern": "a", "placement": {}, "min_isr": 2}]}, "proposed.0.min_isr"),
        ({"cluster": "east", "steps": [{"action": "lose", "brokers": [99]}]}, "steps[0].brokers"),
        ({"cluster": "east", "steps": [{"action": "unclean_election", "topic": "x"}]}, "steps[0].topic"),
        ({"cluster": "east", "at": "2020-01-01T00:00:00Z"}, "at"),
        ({"cluster": "east", "sites": {"x": "west"}}, "sites"),
        ({"cluster": "east", "proposed": [{"pattern": "a", "placement": {"version": 3}}]}, "proposed[0].placement"),
        ({"model": {"brokers": "none"}}, "model"),
        ({"model": {"brokers": []}, "sites": {"1": "a"}}, "sites"),
    ],
)  # fmt: skip
def test_a_wrong_question_is_told_at_its_field(visitor, body, field):
    answer = post(visitor, **body)
    assert answer.status_code == 400, answer.json()
    assert any(name.startswith(field) for name in answer.json()["fields"]), answer.json()


def test_a_large_answer_is_cut_and_says_how_many_there_are(visitor, cluster):
    make_placed(cluster, "many", [1, 2], partitions=70)
    told = visitor.get(f"{API}?cluster=east&steps=lose:rack:west&limit=10&offset=5").json()
    assert (len(told["partitions"]), told["partition_count"]) == (10, 73)
    assert told["topic_count"] == 3


def test_a_cluster_that_one_may_not_see_is_not_there(client, cluster):
    make_sites("west")
    client.force_login(make_person("somebody", west="viewer"))
    assert client.get(f"{API}?cluster=east").status_code == 404
    assert post(client, cluster="east").status_code == 404
    assert client.get(f"{API}matrix/?cluster=east").status_code == 404


def test_the_matrix_is_a_route_too(visitor):
    told = visitor.get(f"{API}matrix/?cluster=east&limit=1").json()
    assert told["worst"]["name"] == "site west"
    assert (told["topic_count"], len(told["topics"])) == (2, 1)
    assert {one["site"] for one in told["topics"][0]["sites"]} == {"west", "east", "north"}


def test_losing_what_is_not_marked_says_what_to_do(visitor):
    assert "No rack or node is selected. Select at least one below." in text_of(
        visitor, f"{PAGE}?then=lose"
    )


DESCRIBED = """\
Topic: t\tTopicId: x\tPartitionCount: 1\tReplicationFactor: 2\tConfigs: min.insync.replicas=2
\tTopic: t\tPartition: 0\tLeader: 1\tReplicas: 1,2\tIsr: 1,2\tElr: \tLastKnownElr: \
"""


@pytest.mark.parametrize(
    ("model", "least", "writable"),
    [
        (DESCRIBED, 2, False),
        ([{"name": "t", "partitions": [{"id": 0, "leader": 1, "replicas": [1, 2], "isrs": [1, 2]}]}], None, None),
    ],
    ids=["text of kafka-topics", "a list of topics"],
)  # fmt: skip
def test_a_cluster_is_described_as_other_tools_print_it(visitor, model, least, writable):
    told = post(visitor, model=model, steps=[{"action": "lose", "brokers": [2]}])
    assert told.status_code == 200, told.json()
    (one,) = told.json()["partitions"]
    assert (one["min_insync_replicas"], one["after"]["is_writable"]) == (least, writable)
    assert told.json()["counts"]["writable_unknown"] == (writable is None)


def test_text_that_is_no_cluster_is_refused(visitor):
    answer = post(visitor, model="brokers:\n- 1\n", steps=[])
    assert answer.status_code == 400
    assert "neither JSON nor what kafka-topics.sh --describe prints" in str(answer.json())


def test_a_voter_that_may_live_is_told(visitor):
    model = {
        "votersOffset": 1, "voters": [1, 2, 3], "brokers": [{"brokerId": 1}, {"brokerId": 2, "fenced": True}],
        "partitions": [{"topic": "t", "replicas": [1], "isr": [1], "leader": 1}],
    }  # fmt: skip
    told = post(visitor, model=model, steps=[{"action": "lose", "controllers": [3]}]).json()
    assert (told["quorum"]["unsure_ids"], told["quorum"]["has_majority"]) == ([2], None)


def test_what_depends_on_a_min_isr_that_is_not_known_is_on_the_pages(visitor, cluster):
    make_placed(cluster, "bare", [1, 2], min_insync_replicas=None)
    page = visitor.get(f"{PAGE}?steps=lose:broker:2&show=unknown").content.decode()
    assert "min.insync.replicas is unknown: writable if it is 1, not if it is 2 or more." in page
    assert "Unknown" in page
    assert "min.insync.replicas of 1 topics is not known" in page
    assert "not known" in visitor.get(MATRIX).content.decode()
    (told,) = visitor.get(f"{API}?cluster=east&steps=lose:broker:2&show=unknown").json()["partitions"]  # fmt: skip
    assert (told["topic"], told["after"]["is_writable"]) == ("bare", None)
