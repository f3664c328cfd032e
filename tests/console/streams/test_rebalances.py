"""The page of rebalances and its route: lanes, what moved, why, and only of the time that is asked for."""

from dataclasses import replace

import pytest
from django.utils import timezone

from console.streams.models import StreamsSnapshot
from jobs.streams.rebalances.changes import Change, ThreadJoins
from jobs.streams.stored import pack_application, unpack_application
from tests.console.making import count_queries, make_cluster
from tests.console.streams.making import (
    SHOP,
    group,
    make_rebalances,
    make_round,
    make_streams,
    two_instances,
)
from tests.console.streams.test_pages import text_of

pytestmark = pytest.mark.django_db
PAGE = f"/streams/east/{SHOP}/rebalances/"
V1 = f"/api/v1/streams/{SHOP}/rebalances/"


@pytest.fixture
def shop():
    make_rebalances(make_cluster("east"), timezone.now())


def last() -> StreamsSnapshot:
    return StreamsSnapshot.objects.order_by("-pk")[0]


@pytest.mark.parametrize(
    "told",
    [
        "Instance left", "First seen", "shop-2.example:8080", "2 active, 2 standby", "4 active",
        "≤ 2 m", "Not watched", "Next planned rebalance None",
    ],
)  # fmt: skip
def test_the_page_shows_who_ran_what_and_what_changed(visitor, told):
    assert told in text_of(visitor.get(PAGE)).replace("\N{NO-BREAK SPACE}", " ")


def test_a_rebalance_shows_its_moved_tasks(visitor):
    text = text_of(visitor.get(f"{PAGE}?rebalance={last().pk}"))
    assert "0_2 active shop-2.example:8080 shop-1.example:8080" in text
    assert "0_0 standby shop-2.example:8080 —" in text


@pytest.mark.parametrize("number", ["0", "x", "9" * 30, "-1"])
def test_an_unknown_rebalance_shows_none(visitor, number):
    assert "Moved tasks" not in text_of(visitor.get(f"{PAGE}?rebalance={number}"))


def test_a_rebalance_of_another_application_is_not_shown(visitor):
    make_streams(make_cluster("west"), two_instances(), timezone.now())
    assert "Moved tasks" not in text_of(visitor.get(f"{PAGE}?rebalance={last().pk}"))


def test_what_ran_before_the_range_reaches_into_it(visitor):
    text = text_of(visitor.get(f"{PAGE}?range=1m"))
    assert "No rebalance in this time range" in text
    assert "4 active" in text


def test_before_the_first_collection_nothing_is_known(visitor):
    text = text_of(visitor.get(f"{PAGE}?from=2020-01-01T00:00&to=2020-01-01T06:00"))
    assert "Nothing is known of this time range" in text


def test_a_wrong_range_is_said(visitor):
    assert "range='soon' is not a time range" in text_of(visitor.get(f"{PAGE}?range=soon"))


def test_rows_of_earlier_versions_show_what_runs_now(visitor):
    StreamsSnapshot.objects.update(change=None)
    text = text_of(visitor.get(PAGE))
    assert "No rebalance in this time range" in text
    assert "4 active" in text


def test_an_application_that_was_never_seen_whole_has_no_rebalance(sign_in, viewer):
    cluster = make_cluster("east")
    make_round(cluster)
    make_streams(cluster, group(state="Empty"), timezone.now())
    assert "No rebalance in this time range" in text_of(sign_in(viewer).get(PAGE))


def test_threads_that_flap_are_listed(visitor):
    snapshot = last()
    told = Change.from_json(snapshot.change).to_json()
    thread = ThreadJoins("shop-StreamThread-7", "p", 9)
    snapshot.change = told | {"is_gap": False, "generations": 2, "joins": [thread]}
    snapshot.save()
    assert "shop-StreamThread-7 9 2 1" in text_of(visitor.get(PAGE))


@pytest.mark.parametrize(
    ("next_ms", "told"), [(0, "At once"), (1, "Due"), (2**62, "in ")], ids=["now", "past", "later"]
)
def test_the_next_rebalance_is_named(visitor, next_ms, told):
    snapshot = last()
    planned = replace(unpack_application(bytes(snapshot.content)), next_rebalance_ms=next_ms)
    snapshot.content = pack_application(planned)
    snapshot.fingerprint = f"next {next_ms}"
    snapshot.save()
    assert f"Next planned rebalance {told}" in text_of(visitor.get(PAGE))


def test_the_page_reads_the_same_for_many_rebalances(visitor):
    few = count_queries(visitor, PAGE)
    snapshot = last()
    for _ in range(230):
        snapshot.pk = None
        snapshot.save()
    assert count_queries(visitor, PAGE) <= few + 1
    assert "the newest 200 of 232" in text_of(visitor.get(PAGE))


def test_a_stranger_of_the_cluster_sees_nothing(client, shop):
    assert client.get(PAGE).status_code == 302


def test_rebalances_over_rest(visitor):
    newest, first = visitor.get(V1).json()["results"]
    change = newest["change"]
    left = {"process_id": "process-2", "place": "shop-2.example:8080"}
    taken = {"process_id": "process-1", "place": "shop-1.example:8080"}
    assert (change["reasons"], change["left"]) == (["instance left"], [left])
    move = {"task": "0_2", "role": "active", "moved_from": left, "moved_to": taken}
    assert change["moves"][0] == move
    assert first["change"]["reasons"] == ["first seen"]


@pytest.mark.parametrize(
    ("query", "count"), [("range=5m", 1), ("range=1h", 2), ("range=1m", 0), ("limit=1", 1)]
)
def test_rebalances_over_rest_are_of_the_time_asked_for(visitor, query, count):
    assert len(visitor.get(f"{V1}?{query}").json()["results"]) == count


def test_a_wrong_range_over_rest_names_its_field(visitor):
    answer = visitor.get(f"{V1}?range=soon")
    assert answer.status_code == 400
    assert "range" in answer.json()["fields"]


@pytest.mark.parametrize(("role", "is_linked"), [("operator", True), ("viewer", False)])
def test_the_time_before_the_console_watched_has_an_analysis(
    shop, sign_in, request, role, is_linked
):
    page = sign_in(request.getfixturevalue(role)).get(PAGE).content.decode()
    assert ("/runs/new/rebalances/?cluster=east&amp;group=shop" in page) is is_linked


def test_of_an_application_that_was_never_whole_nothing_is_said(sign_in, viewer):
    make_streams(make_cluster("east"), group(state="NotReady", subtopologies=None), timezone.now())
    text = text_of(sign_in(viewer).get(PAGE))
    assert "Next planned rebalance None" not in text
    assert "no task changed its thread" not in text


def test_a_change_without_known_tasks_makes_the_longest_time_unknown(visitor):
    row = last()
    row.change = {**row.change, "stopped_tasks": None, "unavailable_ms": None}
    row.save()
    text = text_of(visitor.get(PAGE)).replace("\N{NO-BREAK SPACE}", " ")
    assert "unknown for 1 of the changes" in text
