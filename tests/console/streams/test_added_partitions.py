"""Partitions that were added to an input: from the metadata log, else from two collections."""

from datetime import timedelta

import pytest

from console.streams.collection.rows import added_partitions, save_application
from console.streams.models import StreamsApplication
from jobs.streams.audit.rules import conditions_in
from tests.console.making import NOW, make_cluster
from tests.console.quorum.making import make_change, make_log, make_partition, placed
from tests.console.streams.making import observation, two_instances

pytestmark = pytest.mark.django_db
CODE = "streams_partitions_added"


@pytest.fixture
def cluster():
    return make_cluster("east")


def add(log, *numbers, topic="orders", ago_s=60.0, offset=100, **fields):
    """Write the records of one batch that adds partitions."""
    for index, number in enumerate(numbers):
        values = {"type": "PARTITION_RECORD", "cause": "partitions_added"} | fields
        change = make_change(
            make_partition(log, topic, number), offset + index, 0, placed(1, 1), **values
        )
        change.at = NOW - timedelta(seconds=ago_s)
        change.save()


def collect(cluster, partitions, now=NOW):
    row = StreamsApplication.objects.filter(cluster=cluster).first()
    seen = observation(two_instances(), now, partitions)
    save_application(cluster, row, seen, now, added=added_partitions(cluster, now))
    return conditions_in(StreamsApplication.objects.get(cluster=cluster).audit).get(CODE)


def test_the_metadata_log_dates_an_addition(cluster):
    add(make_log(cluster), 2, 3)
    assert "orders at 2026-11-21 03:11:00 UTC (2 -> 4)" in collect(cluster, 4).text


def test_two_collections_bound_the_time_where_there_is_no_log(cluster):
    assert collect(cluster, 2) is None
    later = NOW + timedelta(minutes=1)
    assert "(2 -> 4)" in collect(cluster, 4, later).text
    assert "between" in collect(cluster, 4, later + timedelta(minutes=1)).text
    assert collect(cluster, 4, later + timedelta(days=8)) is None


@pytest.mark.parametrize(
    "fields",
    [
        pytest.param({"ago_s": 8 * 86_400.0}, id="too long ago"),
        pytest.param({"cause": "topic_created"}, id="another cause"),
        pytest.param({"is_dated": False}, id="known from a snapshot only"),
        pytest.param({"topic": "bills"}, id="a topic that it does not read"),
    ],
)
def test_other_changes_are_no_addition(cluster, fields):
    add(make_log(cluster), 2, 3, **fields)
    assert collect(cluster, 4) is None


def test_additions_to_a_topic_that_was_created_again_do_not_count(cluster):
    log = make_log(cluster)
    add(log, 2, 3)
    gone = {"type": "REMOVE_TOPIC_RECORD", "cause": "topic_deleted", "is_removed": True}
    add(log, 1, offset=300, ago_s=30, **gone)
    assert added_partitions(cluster, NOW) == ()


def test_additions_come_oldest_first_with_their_counts(cluster):
    log = make_log(cluster)
    add(log, 6, ago_s=10, offset=200)
    add(log, 4, 5, ago_s=60)
    found = added_partitions(cluster, NOW)
    assert [(one.topic, one.old, one.new) for one in found] == [("orders", 4, 6), ("orders", 6, 7)]
