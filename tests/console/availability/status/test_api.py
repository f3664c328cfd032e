"""Availability over REST: the same as the pages, and errors at the parameter."""

import pytest
from django.utils import timezone

from console.availability.status.models import PartitionStatus
from tests.console.availability.status.test_pages import told_story
from tests.console.making import count_queries

pytestmark = pytest.mark.django_db
V1 = "/api/v1/availability/"


@pytest.fixture
def visitor(sign_in, viewer):
    told_story()
    return sign_in(viewer)


def rows(client, path):
    answer = client.get(f"{V1}{path}")
    assert answer.status_code == 200, answer.content
    return answer.json()["results"]


def test_a_cluster_is_answered_with_counts_and_who_told(visitor):
    (row,) = rows(visitor, "")
    assert (row["answer"], row["worst"], row["source"], row["resolution_ms"]) == (
        "Partitions offline", "offline", "log", None,
    )  # fmt: skip
    assert row["counts"]["offline"] == 1
    assert row["counts"]["partitions"] == 4
    assert visitor.get(f"{V1}east/").json()["cluster"] == "east"


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("", ["billing-0", "orders-0", "orders-1", "orders-2"]),
        ("?cluster=east&severity=offline", ["orders-1"]),
        ("?is_wrong=true", ["billing-0", "orders-0", "orders-1"]),
        ("?is_wrong=false", ["orders-2"]),
        ("?missing=3", ["orders-0", "orders-1"]),
        ("?cluster=east&rack=dc-a&topic=billing", ["billing-0"]),
    ],
)
def test_partitions_are_narrowed_down(visitor, query, names):
    found = rows(visitor, f"partitions/{query}")
    assert [f"{row['topic']}-{row['partition']}" for row in found] == names


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("severity=bad", "severity"),
        ("rack=dc-a", "rack"),
        ("cluster=east&rack=nowhere", "rack"),
        ("broker=-1", "broker"),
        ("nonsense=1", "nonsense"),
    ],
)
def test_a_wrong_parameter_is_an_error_at_its_name(visitor, query, field):
    answer = visitor.get(f"{V1}partitions/?{query}")
    assert (answer.status_code, list(answer.json()["fields"])) == (400, [field])


def test_a_partition_tells_where_it_stands_and_why(visitor):
    (row,) = rows(visitor, "partitions/?topic=orders&severity=at_min_isr")
    assert (row["missing"], row["spare"], row["min_isr_origin"], row["cause"]) == (
        [3], 0, "static", "isr_shrink",
    )  # fmt: skip
    assert (row["elr"], row["cause_broker"], row["source"]) == ([], 3, "log")


def test_the_history_of_a_partition_holds_moments_stretches_and_elections(visitor):
    row = PartitionStatus.objects.get(topic="billing")
    told = visitor.get(f"{V1}partitions/{row.pk}/history/").json()
    assert [one["cause"] for one in told["moments"]] == [
        "topic_created", "leader_lost", "unclean_election",
    ]  # fmt: skip
    assert [one["severity"] for one in told["stretches"]] == ["offline", "under_min_isr"]
    assert told["unclean_elections"][0]["leader"] == 3
    assert told["leaderless_s"] == 50.0
    assert {one["broker"] for one in told["out_of_sync"]} == {1, 2, 3}


@pytest.mark.parametrize(
    ("path", "told"),
    [
        ("out-of-sync/?broker=3", {"orders-0", "orders-1"}),
        ("out-of-sync/?broker=3&is_open=false", {"orders-0", "orders-1", "billing-0"}),
        ("stretches/?least=offline", {"orders-1", "billing-0"}),
        ("unclean-elections/", {"billing-0"}),
    ],
)
def test_what_happened_is_listed(visitor, path, told):
    assert {f"{row['topic']}-{row['partition']}" for row in rows(visitor, path)} == told


def test_brokers_come_with_their_churn(visitor):
    row = rows(visitor, "brokers/?cluster=east&range=24h")[2]
    assert (row["broker_id"], row["rack"], row["is_there"], row["unclean"]) == (
        3, "dc-c", True, 1,
    )  # fmt: skip
    assert row["out_of_sync_count"] == 2
    assert row["shrinks"] >= 2


def test_roll_ups_come_worst_first(visitor):
    found = rows(visitor, "rollups/?kind=topic&is_wrong=true")
    assert [(row["name"], row["worst"]) for row in found] == [
        ("orders", "offline"), ("billing", "under_min_isr"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("query", "column"),
    [("", "offline"), ("?kind=broker", "3"), ("?kind=rack&measure=offline", "dc-a")],
)
def test_series_are_columns_of_the_same_length(visitor, query, column):
    told = visitor.get(f"{V1}east/series/{query}").json()
    assert len(told["at"]) == len(told[column]) > 5
    assert max(value for value in told[column] if value is not None) >= 1
    assert {event["kind"] for event in told["events"]} == {"Unclean election", "Without a leader"}
    assert told["at"] == sorted(told["at"])
    assert told["at"][-1] <= timezone.now().timestamp()


@pytest.mark.parametrize(
    "path", ["", "partitions/", "brokers/", "out-of-sync/", "rollups/", "east/series/"]
)
def test_a_route_takes_few_queries(visitor, path):
    assert count_queries(visitor, f"{V1}{path}") <= 12
