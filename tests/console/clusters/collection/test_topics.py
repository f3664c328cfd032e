"""The round for topics."""

import pytest

from console.clusters.models import Broker, Partition, Topic
from jobs.availability.status.severity import Severity
from jobs.cluster.descriptions import TopicDescription
from jobs.cluster.errors import NotAuthorized
from tests.console.clusters.fake_kafka import FakeKafka
from tests.console.clusters.making import NOW, later, make_cluster, run_rounds

pytestmark = pytest.mark.django_db


@pytest.fixture
def kafka():
    kafka = FakeKafka()
    kafka.add_topic("orders", 2)
    return kafka


@pytest.fixture
def cluster():
    return make_cluster()


def severity_of(topic, partition):
    row = Partition.objects.get(topic__name=topic, partition=partition)
    return Severity(row.severity)


def test_every_partition_is_stored_with_its_placement(cluster, kafka):
    run_rounds(cluster, kafka)
    row = Partition.objects.get(topic__name="orders", partition=1)
    assert (row.leader, row.replicas, row.isr, row.cluster) == (2, [1, 2, 3], [1, 2, 3], cluster)


@pytest.mark.parametrize(
    ("changes", "severity"),
    [
        pytest.param({}, Severity.OK, id="all in sync"),
        pytest.param({"isr": (1, 2)}, Severity.AT_MIN_ISR, id="one lost of three, two needed"),
        pytest.param({"isr": (1,)}, Severity.UNDER_MIN_ISR, id="fewer than needed"),
        pytest.param({"leader": None, "isr": (1,)}, Severity.OFFLINE, id="no leader"),
        pytest.param(
            {"replicas": (1, 2, 3, 4), "isr": (1, 2, 3)},
            Severity.UNDER_REPLICATED,
            id="one to spare",
        ),
    ],
)
def test_the_severity_of_a_partition_follows_from_its_min_isr(cluster, kafka, changes, severity):
    kafka.set_partition("orders", 1, **changes)
    run_rounds(cluster, kafka)
    assert severity_of("orders", 1) is severity


def test_a_topic_shows_its_worst_partition(cluster, kafka):
    kafka.set_partition("orders", 1, leader=None, isr=(1,))
    run_rounds(cluster, kafka)
    topic = Topic.objects.get(name="orders")
    assert Severity(topic.severity) is Severity.OFFLINE
    assert (topic.offline_count, topic.under_replicated_count) == (1, 1)


def test_a_deleted_topic_goes_with_its_partitions(cluster, kafka):
    run_rounds(cluster, kafka)
    del kafka.topics["orders"]
    run_rounds(cluster, kafka)
    assert not Topic.objects.exists()
    assert not Partition.objects.exists()


def test_a_topic_made_again_is_the_same_row_with_a_new_id_and_its_settings_read_again(
    cluster, kafka
):
    run_rounds(cluster, kafka)
    old = kafka.topics["orders"]
    kafka.topics["orders"] = TopicDescription("orders", "another", False, old.partitions[:1])
    kafka.configs["orders"] = {"min.insync.replicas": "1"}
    run_rounds(cluster, kafka, later(1))
    topic = Topic.objects.get(name="orders")
    assert (topic.topic_id, topic.partition_count, topic.min_insync_replicas) == ("another", 1, 1)


def test_settings_are_read_again_only_after_a_while(cluster, kafka):
    for seconds in (0, 10, 20, 70):
        run_rounds(cluster, kafka, later(seconds))
    assert kafka.asked.count("read_topic_configs") == 2


def test_a_topic_that_cannot_be_described_keeps_what_was_known_of_it(cluster, kafka):
    run_rounds(cluster, kafka)
    kafka.topics["orders"] = TopicDescription("orders", None, False, (), error="not authorized")
    rounds = run_rounds(cluster, kafka)
    topic = Topic.objects.get(name="orders")
    assert (topic.error, topic.partition_count) == ("not authorized", 2)
    assert Partition.objects.count() == 2
    assert (
        "1 of 1 topics could not be described: not authorized (orders)." in rounds["topics"].error
    )
    assert rounds["topics"].failing_since is None


def test_without_the_right_to_read_settings_topics_are_still_seen(cluster, kafka):
    kafka.faults["read_topic_configs"] = NotAuthorized(
        "DESCRIBE_CONFIGS is missing", cluster="east"
    )
    kafka.set_partition("orders", 0, isr=(1,))
    rounds = run_rounds(cluster, kafka)
    assert Topic.objects.get().min_insync_replicas is None
    assert severity_of("orders", 0) is Severity.UNDER_REPLICATED
    assert "DESCRIBE_CONFIGS is missing" in rounds["topics"].error


def test_only_changed_partitions_are_written(cluster, kafka):
    run_rounds(cluster, kafka, NOW)
    kafka.set_partition("orders", 1, isr=(1, 2))
    run_rounds(cluster, kafka, later(10))
    changed = Partition.objects.order_by("partition").values_list("changed_at", flat=True)
    assert list(changed) == [NOW, later(10)]


def test_a_broker_that_only_replicas_name_is_shown_as_missing(cluster, kafka):
    kafka.set_partition("orders", 0, replicas=(1, 2, 9))
    run_rounds(cluster, kafka)
    broker = Broker.objects.get(broker_id=9)
    assert (broker.is_live, broker.replica_count, broker.host) == (False, 1, "")


def test_brokers_know_how_many_partitions_they_lead(cluster, kafka):
    run_rounds(cluster, kafka)
    counts = Broker.objects.values_list("broker_id", "leader_count", "replica_count")
    assert set(counts) == {(1, 1, 2), (2, 1, 2), (3, 0, 2)}
