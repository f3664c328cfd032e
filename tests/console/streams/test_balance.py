"""The balance of an application: page and REST."""

from dataclasses import replace
from datetime import timedelta

import pytest
from django.utils import timezone

from console.streams.collection.rows import save_application
from console.streams.models import StreamsApplication
from tests.console.making import count_queries, make_cluster
from tests.console.streams.making import (
    CHANGELOG,
    SHOP,
    group,
    make_streams,
    member,
    observation,
    topic,
    two_instances,
)
from tests.console.streams.test_pages import text_of

pytestmark = pytest.mark.django_db
PAGE = f"/streams/east/{SHOP}/balance/"
V1 = f"/api/v1/streams/{SHOP}/balance/"
MIB = 1 << 20


@pytest.fixture
def shop():
    """Two collections a minute apart; between them task 0_0 got 600 records. It has most of the state."""
    now = timezone.now()
    row = make_streams(make_cluster("east"), now=now - timedelta(minutes=1))
    seen = observation(two_instances(), now)
    changelog = replace(topic(4, 40, now), sizes={0: 600 * MIB, 1: MIB, 2: MIB, 3: MIB})
    orders = topic(4, 100, now)
    orders = replace(orders, ends={**orders.ends, 0: 700})
    save_application(
        row.cluster, row, replace(seen, topics={CHANGELOG: changelog, "orders": orders}), now
    )
    return StreamsApplication.objects.get()


@pytest.mark.parametrize(
    "told",
    [
        "shop-1.example:8080 601 MiB", "603 MiB", "99.7 %", " 10/s", "Idle threads 0",
        "0 4 state 0_0 99.5 %", "0 4 records/s 0_0 100 % 4x",
        "Task 0_0 has 100 % of the records", "Salt", "Rates over 1 m",
    ],
)  # fmt: skip
def test_the_page_shows_state_rates_skew_and_advice(visitor, told):
    text = text_of(visitor.get(PAGE)).replace("\N{NO-BREAK SPACE}", " ")
    assert told.lower() in text.lower()


@pytest.mark.parametrize(("role", "is_linked"), [("operator", True), ("viewer", False)])
def test_hot_partitions_lead_who_may_analyse_to_the_count_of_their_keys(
    shop, sign_in, request, role, is_linked
):
    page = sign_in(request.getfixturevalue(role)).get(PAGE).content.decode()
    assert ("/runs/new/key-skew/?cluster=east&amp;topics=orders" in page) is is_linked


def test_largest_tasks_are_sorted_by_state_or_rate(visitor):
    assert text_of(visitor.get(f"{PAGE}?order=records_per_s")).index("0_0") > 0
    tasks = visitor.get(f"{V1}?order=records_per_s").json()["tasks"]
    assert (tasks[0]["task"], tasks[0]["records_per_s"]) == ("0_0", pytest.approx(10, rel=0.01))


def test_before_the_second_collection_no_rate_is_known(sign_in, viewer):
    make_streams(make_cluster("east"), now=timezone.now())
    assert "from the second collection on" in text_of(sign_in(viewer).get(PAGE))
    told = sign_in(viewer).get(V1).json()
    assert (told["rate_span_ms"], told["instances"][0]["records_per_s"]) == (None, None)
    assert told["instances"][0]["state_share"] == 0.5


def test_unknown_sizes_are_lower_bounds_without_shares(sign_in, viewer):
    now = timezone.now()
    sizes = replace(topic(4, 40, now), sizes={0: MIB})
    topics = {CHANGELOG: sizes, "orders": topic(4, 100, now)}
    make_streams(make_cluster("east"), None, now, topics=topics)
    text = text_of(sign_in(viewer).get(PAGE)).replace("\N{NO-BREAK SPACE}", " ")
    assert "at least 1 MiB" in text
    assert "some sizes or tasks are unknown" in text
    assert sign_in(viewer).get(V1).json()["state_skew"] is None


def test_an_application_that_was_never_whole_has_no_balance(sign_in, viewer):
    make_streams(make_cluster("east"), group(state="Empty"), timezone.now())
    text = text_of(sign_in(viewer).get(PAGE))
    assert "Unknown." in text
    assert "Idle threads 0" not in text
    told = sign_in(viewer).get(V1).json()
    assert (told["instances"], told["tasks"], told["advice"]) == ([], [], [])


def test_a_large_application_has_bounded_rows_and_no_more_queries_than_its_overview(
    sign_in, viewer
):
    found = group(*(member(n, range(n * 100, n * 100 + 100)) for n in range(50)))
    visitor = sign_in(viewer)
    make_streams(make_cluster("east"), found, timezone.now(), partitions=5_000)
    assert count_queries(visitor, PAGE) <= count_queries(visitor, f"/streams/east/{SHOP}/")
    assert visitor.get(PAGE).content.decode().count("<tr>") < 250
    told = visitor.get(V1).json()
    assert (len(told["tasks"]), told["task_count"]) == (100, 5_000)
