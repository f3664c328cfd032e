"""Kafka Streams applications over REST."""

import pytest
from django.utils import timezone

from console.accounts.models import AuditEntry
from console.streams.models import StreamsApplication
from tests.console.making import make_cluster
from tests.console.streams.making import (
    DESCRIPTION,
    SHOP,
    make_farm,
    make_finding,
    make_streams,
    two_instances,
)

pytestmark = pytest.mark.django_db
V1 = "/api/v1/streams/"
ONE = f"{V1}{SHOP}/"
KEY = {"store": "totals", "key": "customer-1"}
JSON = "application/json"


@pytest.fixture
def shop():
    return make_streams(make_cluster("east"), now=timezone.now())


def test_the_list_has_counts(visitor):
    (one,) = visitor.get(V1).json()["results"]
    assert (one["application"], one["cluster"], one["task_count"]) == (SHOP, "east", 4)
    assert (one["lag_records"], one["answers_wrong"]) == (46, False)


@pytest.mark.parametrize(
    ("query", "count"),
    [
        ("cluster=east", 1), ("cluster=west", 0), ("state=Stable", 1), ("state=Empty", 0),
        ("protocol=streams", 1), ("protocol=classic", 0),
    ],
)  # fmt: skip
def test_the_list_is_narrowed_down(visitor, query, count):
    assert len(visitor.get(f"{V1}?{query}").json()["results"]) == count


def test_one_application_is_a_document(visitor):
    told = visitor.get(ONE).json()
    assert told["stores"][0]["store"] == "totals"
    assert len(told["processes"]) == len(told["metadata"]) == 2
    assert told["application_answers"]["metadata"]


def test_open_findings_are_counted_in_the_list_and_whole_in_the_document(visitor, shop):
    make_finding(shop)
    (one,) = visitor.get(V1).json()["results"]
    told = visitor.get(ONE).json()
    assert (one["finding_count"], told["finding_count"]) == (1, 1)
    (found,) = told["findings"]
    assert (found["code"], found["subject"]) == ("streams_endpoint_missing", SHOP)


def test_an_id_of_several_clusters_needs_one(visitor):
    make_streams(make_cluster("west"), now=timezone.now())
    answer = visitor.get(ONE)
    assert answer.status_code == 400
    assert "east, west" in answer.json()["fields"]["cluster"][0]
    assert visitor.get(f"{ONE}?cluster=west").json()["cluster"] == "west"


def test_an_unknown_application_is_not_found(visitor):
    assert visitor.get(f"{V1}other/").status_code == 404
    assert visitor.get(f"{ONE}?cluster=west").status_code == 404


def test_a_viewer_looks_a_key_up_and_it_is_written(visitor):
    told = visitor.post(f"{ONE}key-lookup/", KEY, JSON).json()
    assert told["active"]["place"].startswith("shop-")
    assert told["application_answers"]["is_right"] is True
    assert told["changelog"] is None
    assert "customer-1" not in str(AuditEntry.objects.get().after)


def test_a_key_that_may_be_in_several_partitions_has_all_of_them(visitor):
    """tests/conformance/reported/streams_topics_of_different_sizes"""
    row = make_farm(make_cluster("farm"), timezone.now())
    asked = {"store": "totals", "key": "k2"}
    told = visitor.post(f"{V1}{row.application_id}/key-lookup/", asked, JSON).json()
    assert told["possible"] == [
        {"partition": 3, "task": "0_3", "topics": ["farm.milk"], "place": "h1.example:7071"},
        {"partition": 1, "task": "0_1", "topics": ["farm.eggs"], "place": "h1.example:7071"},
    ]
    assert (told["partition"], told["active"], told["is_global"]) == (None, None, False)
    assert told["application_answers"]["is_right"] is None


@pytest.mark.parametrize("store", ["totals", "barn", "loft", "names"])
@pytest.mark.parametrize("key", ["k0", "k1", "k2"])
def test_each_store_of_a_description_with_patterns_is_answered_for(visitor, store, key):
    row = make_farm(make_cluster("farm"), timezone.now())
    asked = {"store": store, "key": key}
    answer = visitor.post(f"{V1}{row.application_id}/key-lookup/", asked, JSON)
    assert answer.status_code == 200
    assert answer.json()["is_global"] is (store == "names")


def test_a_lookup_works_while_crosslog_is_read_only(visitor, settings):
    settings.CROSSLOG_READ_ONLY = True
    assert visitor.post(f"{ONE}key-lookup/", KEY, JSON).status_code == 200


def test_the_changelog_needs_an_operator(visitor):
    asked = KEY | {"check_changelog": True}
    assert visitor.post(f"{ONE}key-lookup/", asked, JSON).status_code == 403


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"store": "absent"}, "store"), ({"key_format": "int32"}, "key"),
        ({"key_format": "morse"}, "key_format"),
    ],
    ids=["store", "key", "format"],
)  # fmt: skip
def test_a_wrong_question_is_said_at_its_field(visitor, change, field):
    answer = visitor.post(f"{ONE}key-lookup/", KEY | change, JSON)
    assert (answer.status_code, list(answer.json()["fields"])) == (400, [field])


def test_a_description_is_put_and_removed(helper):
    for text in (DESCRIPTION, ""):
        assert helper.put(f"{ONE}description/", {"description": text}, JSON).status_code == 200
        assert StreamsApplication.objects.get().description == text.strip("\n")


def test_a_wrong_description_is_said_with_its_line(helper):
    answer = helper.put(f"{ONE}description/", {"description": "nonsense"}, JSON)
    assert answer.status_code == 400
    assert "Line 1:" in answer.json()["fields"]["description"][0]


def test_a_viewer_may_not_describe(visitor):
    answer = visitor.put(f"{ONE}description/", {"description": DESCRIPTION}, JSON)
    assert answer.status_code == 403


def test_the_same_id_in_two_clusters_is_two_rows(visitor):
    make_streams(make_cluster("west"), two_instances(), timezone.now())
    assert {one["cluster"] for one in visitor.get(V1).json()["results"]} == {"east", "west"}


def test_options_of_an_id_of_several_clusters_are_answered(helper):
    make_streams(make_cluster("west"), now=timezone.now())
    assert helper.options(ONE).status_code == 200


def test_tasks_are_in_pages(visitor):
    shop = make_streams(make_cluster("west"), now=timezone.now())
    first = visitor.get(f"{ONE}tasks/?cluster={shop.cluster.alias}&limit=3").json()
    second = visitor.get(first["next"]).json()
    told = [*first["results"], *second["results"]]
    assert [one["task"] for one in told] == ["0_0", "0_1", "0_2", "0_3"]
    assert second["next"] is None
    assert [one["role"] for one in told[0]["placements"]] == ["active", "standby"]
    assert told[0]["input"][0]["lag_records"] == 10


def test_one_application_has_no_list_of_its_tasks(visitor):
    assert "tasks" not in visitor.get(ONE).json()
