"""The round for offsets."""

import pytest

from console.clusters.models import Partition, Topic
from jobs.cluster.descriptions import OffsetRange, TopicPartition
from tests.console.clusters.fake_kafka import FakeKafka
from tests.console.clusters.making import later, make_cluster, run_rounds

pytestmark = pytest.mark.django_db


@pytest.fixture
def kafka():
    kafka = FakeKafka()
    kafka.add_topic("orders", 2, end=100, newest=60_000)
    return kafka


@pytest.fixture
def cluster():
    return make_cluster()


def partition(number):
    return Partition.objects.get(topic__name="orders", partition=number)


def test_offsets_and_the_newest_timestamp_are_stored(cluster, kafka):
    kafka.ranges[TopicPartition("orders", 0)] = OffsetRange(10, 90, 95, 1_795_251_589_405)
    run_rounds(cluster, kafka)
    row = partition(0)
    assert (row.log_start_offset, row.end_offset, row.high_watermark) == (10, 90, 95)
    assert row.newest_at.isoformat() == "2026-11-21T08:59:49.405000+00:00"


@pytest.mark.parametrize("ms", [-1, 2**62], ids=["before 1970", "beyond all calendars"])
def test_a_timestamp_that_no_calendar_has_is_no_time(cluster, kafka, ms):
    kafka.ranges[TopicPartition("orders", 0)] = OffsetRange(0, 1, 1, ms)
    run_rounds(cluster, kafka)
    assert partition(0).newest_at is None


def test_a_topic_counts_the_records_of_its_partitions(cluster, kafka):
    run_rounds(cluster, kafka)
    kafka.set_range("orders", 1, 50, 180)
    run_rounds(cluster, kafka, later(10))
    assert Topic.objects.get().record_count == 100 + 130


def test_a_partition_without_an_answer_keeps_its_offsets_and_says_why(cluster, kafka):
    run_rounds(cluster, kafka)
    kafka.ranges[TopicPartition("orders", 0)] = OffsetRange(error="not authorized")
    rounds = run_rounds(cluster, kafka, later(10))
    assert (partition(0).end_offset, partition(0).error) == (100, "not authorized")
    assert partition(1).error == ""
    assert (
        "1 of 2 partitions without offsets: not authorized (orders-0)." in rounds["offsets"].error
    )


def test_a_partition_without_a_leader_is_not_asked_for(cluster, kafka):
    run_rounds(cluster, kafka)
    kafka.set_partition("orders", 0, leader=None)
    del kafka.ranges[TopicPartition("orders", 0)]
    run_rounds(cluster, kafka, later(10))
    assert partition(0).end_offset == 100
    assert partition(0).error.startswith("no leader")
