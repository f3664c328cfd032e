import pytest

from console.clusters.models import Broker, Cluster, CollectionRound, Partition
from console.replication.flows.actions import check_settings
from console.replication.flows.preview import preview_flow
from tests.console.making import NOW, make_cluster, make_flow, make_partition, make_topic
from tests.jobs.cluster.capabilities.recorded import recorded_cluster

pytestmark = pytest.mark.django_db


@pytest.fixture
def clusters():
    east, west = make_cluster("east"), make_cluster("west")
    CollectionRound.objects.create(cluster=west, noun="topics", succeeded_at=NOW)
    return east, west


def preview(**changes):
    values = {"name": "f", "source": "east", "target": "west", "topics": ["orders"]} | changes
    return {row.topic: row for row in preview_flow(check_settings(values))[0]}


def make_brokers(cluster, number):
    for broker_id in range(number):
        Broker.objects.create(cluster=cluster, broker_id=broker_id, changed_at=NOW)


def write(topic, end_offset):
    Partition.objects.create(
        cluster=topic.cluster, topic=topic, partition=0, end_offset=end_offset, changed_at=NOW
    )


def test_a_topic_that_is_not_there_is_made_like_the_source(clusters):
    make_topic(clusters[0], "orders", replication_factor=3)
    make_brokers(clusters[1], 2)
    row = preview()["orders"]
    assert row.plan.startswith(
        "Will be created: 3 partitions, replication factor 2. The source has 3,"
    )
    assert (row.remote_topic, row.remote_partitions) == ("east.orders", None)


@pytest.mark.parametrize(
    ("there", "settings", "plan"),
    [
        (3, {}, "Exists with 3 partitions."),
        (1, {}, "Will grow from 1 to 3 partitions."),
        (5, {}, "Exists with 5 partitions, the source has 3. They are kept."),
        (
            1,
            {"grow_partitions": False},
            "Exists with 1 partition, the source has 3, and this flow adds no partitions: the others are "
            "not replicated.",
        ),
    ],
)
def test_a_topic_that_is_there_is_compared(clusters, there, settings, plan):
    make_topic(clusters[0], "orders")
    make_topic(clusters[1], "east.orders", partition_count=there)
    row = preview(**settings)["orders"]
    assert (row.plan, row.remote_partitions) == (plan, there)


def test_growth_of_a_compacted_topic_is_warned_about(clusters):
    make_topic(clusters[0], "orders", configs={"cleanup.policy": "compact"})
    make_topic(clusters[1], "east.orders", partition_count=1)
    assert "is compacted" in " ".join(preview()["orders"].warnings)


def test_while_the_target_was_never_seen_nothing_is_said_about_it(clusters):
    CollectionRound.objects.all().delete()
    make_topic(clusters[0], "orders")
    assert preview()["orders"].plan == "The topics of the target are not collected yet."


def test_a_topic_whose_partitions_are_not_known_promises_nothing(clusters):
    make_topic(clusters[0], "orders", partition_count=0)
    assert preview()["orders"].plan == "Its partitions are not collected yet."


def test_a_topic_that_another_producer_has_written_is_not_written(clusters):
    make_topic(clusters[0], "orders")
    write(make_topic(clusters[1], "orders"), 5)
    row = preview(policy="identity")["orders"]
    assert row.plan == "It exists on the target; the flow would not write to it."
    assert "was there before" in " ".join(row.warnings)


@pytest.mark.parametrize(
    ("end", "settings"), [(0, {}), (5, {"on_existing": "append"})], ids=["empty", "append"]
)
def test_a_topic_that_may_be_written_is_written(clusters, end, settings):
    make_topic(clusters[0], "orders")
    write(make_topic(clusters[1], "orders"), end)
    row = preview(policy="identity", **settings)["orders"]
    assert (row.plan, row.warnings) == ("Exists with 3 partitions.", ())


def test_a_topic_that_this_pair_copies_already_is_its_own(clusters):
    make_topic(clusters[0], "orders")
    write(make_topic(clusters[1], "orders"), 5)
    flow = make_flow(policy="identity")
    make_partition(flow, "orders", position=5)
    spec = flow.spec()
    assert preview_flow(spec)[0][0].plan == "Exists with 3 partitions."


def test_a_topic_that_is_left_out_has_no_plan_and_its_reason(clusters):
    make_topic(clusters[0], "clicks")
    row = preview()["clicks"]
    assert (row.is_selected, row.plan) == (False, "")
    assert "No pattern of the flow" in row.reason


def test_a_topic_that_a_default_pattern_leaves_out_is_warned_about(clusters):
    make_topic(clusters[0], "orders.internal")
    row = preview(topics=["orders.*"])["orders.internal"]
    assert "Excluded" in " ".join(row.warnings)


def test_more_topics_ask_no_more_queries(clusters, django_assert_num_queries):
    spec = check_settings(
        {"name": "f", "source": "east", "target": "west", "topics": [".*"], "policy": "identity"}
    )
    for number in range(30):
        make_topic(clusters[0], f"t{number}")
        write(make_topic(clusters[1], f"t{number}"), 5)
    with django_assert_num_queries(7):
        preview_flow(spec)


def test_a_remote_topic_that_an_old_target_would_not_let_be_written_is_told(clusters):
    Cluster.objects.filter(alias="west").update(
        versions=recorded_cluster("2.8.2-zookeeper").to_mapping()
    )
    source = {"configs": {"min.insync.replicas": "1"}, "min_isr_source": "DEFAULT_CONFIG"}
    make_topic(clusters[0], "orders", replication_factor=3, **source)
    make_topic(clusters[1], "t", min_insync_replicas=2, min_isr_source="STATIC_BROKER_CONFIG")
    make_brokers(clusters[1], 1)
    (warning,) = preview()["orders"].warnings
    assert (
        "replication factor 1 and min.insync.replicas 2: west has brokers before Kafka 3.7"
        in warning
    )
