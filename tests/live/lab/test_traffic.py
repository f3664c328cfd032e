"""The lab's traffic on a real cluster."""

import pytest

from jobs.cluster.admin.groups import list_groups, read_committed_offsets
from jobs.cluster.admin.offsets import read_offset_ranges
from jobs.cluster.admin.topics import describe_topics
from jobs.cluster.client import ClusterClient
from jobs.cluster.descriptions import TopicPartition
from jobs.cluster.records import OFFSET_BEGINNING, ClientPartition
from jobs.lab.lab import Lab
from jobs.lab.plan import ClusterPlan
from jobs.lab.ports import find_base_port
from jobs.lab.traffic import fulfilment
from jobs.lab.traffic.fulfilment import DEAD_LETTERS, DEAD_SERVICE, DONE, group_of, topic_of
from jobs.lab.traffic.shop import TOPICS
from jobs.lab.traffic.writers import GROUPS, IDLE_GROUP, Traffic
from tests.waiting import eventually


@pytest.fixture(scope="module")
def traffic(kafka, tmp_path_factory):
    def plans(base_port):
        return [ClusterPlan("busy", 1, base_port)]

    lab = Lab(tmp_path_factory.mktemp("busy"), plans(find_base_port(plans)), jvm=kafka)
    lab.start()
    with Traffic(lab.cluster("busy").connection, rate=400, seed=7) as running:
        yield running
    lab.kill()


def test_every_topic_is_written_to(traffic):
    eventually(lambda: all(traffic.written[topic] > 20 for topic in TOPICS), 30)


def test_topics_have_the_partitions_of_the_shop(traffic):
    topics = {**TOPICS, **fulfilment.TOPICS}
    described = describe_topics(traffic.client, list(topics))
    found = {topic.name: len(topic.partitions) for topic in described}
    assert found == {topic: spec.partitions for topic, spec in topics.items()}


def test_payments_are_aborted_now_and_then(traffic):
    eventually(lambda: traffic.aborted > 0, 30)


def test_every_group_commits_and_the_idle_one_falls_behind(traffic):
    wanted = {group.group_id for group in (*GROUPS, IDLE_GROUP)}
    with ClusterClient(traffic.client.connection) as client:
        # One of them rests for a minute; what it missed before, it reads after it.
        eventually(lambda: committed_groups(client) >= wanted, 60)
        eventually(lambda: lag(client, IDLE_GROUP.group_id, "orders") > 0, 20)


def test_slips_are_done_in_all_steps(traffic):
    headers = dict(records(traffic, DONE, count=3)[-1].headers())
    assert headers["slip-done"] == headers["slip"]


def test_a_dead_letter_points_to_the_record_that_failed(traffic):
    (letter,) = records(traffic, DEAD_LETTERS, count=1)
    headers = dict(letter.headers())
    at = ClientPartition(
        headers["kafka_dlt-original-topic"].decode(),
        int.from_bytes(headers["kafka_dlt-original-partition"], "big"),
        int.from_bytes(headers["kafka_dlt-original-offset"], "big"),
    )
    (failed,) = records(traffic, at.topic, count=1, start=[at])
    assert (failed.topic(), failed.offset()) == (topic_of("pay"), at.offset)
    assert (failed.key(), failed.value()) == (letter.key(), letter.value())
    assert failed.headers() == letter.headers()[:4]


def test_slips_wait_unread_for_the_dead_service_only(traffic):
    with ClusterClient(traffic.client.connection) as client:
        eventually(lambda: lag(client, group_of(DEAD_SERVICE), topic_of(DEAD_SERVICE)) > 0, 30)
        eventually(lambda: lag(client, group_of("validate"), topic_of("validate")) == 0, 30)


def test_the_next_traffic_numbers_orders_on_and_repeats_no_slip(small_lab):
    connection = small_lab("again").cluster("again").connection
    for done in (2, 6):
        with Traffic(connection, rate=1) as traffic:
            finished = records(traffic, DONE, count=done)
    ids = [dict(one.headers())["slip-id"] for one in finished]
    assert len(set(ids)) == len(ids)
    orders = sorted(int(one.key()) for one in records(traffic, topic_of("validate"), count=6))
    assert orders == sorted(set(orders))


def committed_groups(client):
    ids = [group.group_id for group in list_groups(client).groups]
    offsets = read_committed_offsets(client, ids)
    return {
        group_id for group_id, found in offsets.items() if any(o.offset for o in found.values())
    }


def lag(client, group_id, topic):
    count = {**TOPICS, **fulfilment.TOPICS}[topic].partitions
    partitions = [TopicPartition(topic, number) for number in range(count)]
    committed = read_committed_offsets(client, [group_id]).get(group_id, {})
    ends = read_offset_ranges(client, partitions, with_timestamps=False)
    read = sum(offset.offset or 0 for offset in committed.values())
    return sum(found.end_offset or 0 for found in ends.values()) - read


def records(traffic, topic, *, count, start=None):
    """Read this many records of a topic, from its beginning or `start`, as soon as they are there."""
    count_of = fulfilment.TOPICS[topic].partitions
    consumer = traffic.client.consumer({})
    consumer.assign(
        start or [ClientPartition(topic, number, OFFSET_BEGINNING) for number in range(count_of)]
    )
    found = []

    def are_there():
        found.extend(one for one in consumer.consume(count - len(found), 0.2) if not one.error())
        return len(found) == count

    eventually(are_there, 40)
    consumer.close()
    return found
