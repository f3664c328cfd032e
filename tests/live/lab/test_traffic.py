"""The lab's traffic on a real cluster."""

import pytest

from jobs.cluster.admin.groups import list_groups, read_committed_offsets
from jobs.cluster.admin.offsets import read_offset_ranges
from jobs.cluster.admin.topics import describe_topics
from jobs.cluster.client import ClusterClient
from jobs.cluster.descriptions import TopicPartition
from jobs.lab.lab import Lab
from jobs.lab.plan import ClusterPlan
from jobs.lab.ports import find_base_port
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
    described = describe_topics(traffic.client, list(TOPICS))
    found = {topic.name: len(topic.partitions) for topic in described}
    assert found == {topic: spec.partitions for topic, spec in TOPICS.items()}


def test_payments_are_aborted_now_and_then(traffic):
    eventually(lambda: traffic.aborted > 0, 30)


def test_every_group_commits_and_the_idle_one_falls_behind(traffic):
    wanted = {group.group_id for group in (*GROUPS, IDLE_GROUP)}
    with ClusterClient(traffic.client.connection) as client:
        # One of them rests for a minute; what it missed before, it reads after it.
        eventually(lambda: committed_groups(client) >= wanted, 60)
        eventually(lambda: idle_lag(client) > 0, 20)


def committed_groups(client):
    ids = [group.group_id for group in list_groups(client).groups]
    offsets = read_committed_offsets(client, ids)
    return {
        group_id for group_id, found in offsets.items() if any(o.offset for o in found.values())
    }


def idle_lag(client):
    partitions = [TopicPartition("orders", number) for number in range(TOPICS["orders"].partitions)]
    committed = read_committed_offsets(client, [IDLE_GROUP.group_id])[IDLE_GROUP.group_id]
    ends = read_offset_ranges(client, partitions, with_timestamps=False)
    read = sum(offset.offset or 0 for offset in committed.values())
    return sum(found.end_offset or 0 for found in ends.values()) - read
