"""One of three brokers stops answering (SIGSTOP): the others answer, in time, and nothing dies of it."""

import contextlib
import threading
import time

import pytest

from jobs.cluster.brokers import describe_cluster
from jobs.cluster.client import ClusterClient
from jobs.cluster.descriptions import TopicPartition
from jobs.cluster.errors import ClusterFault
from jobs.cluster.groups import describe_groups, list_groups, read_committed_offsets
from jobs.cluster.offsets import read_offset_ranges
from jobs.cluster.topics import NewTopicSpec, create_topics, describe_topics
from tests.support import wait_until

pytestmark = pytest.mark.live

BUDGET_S = 3.0
TOPIC = "spread"
PARTITIONS = [TopicPartition(TOPIC, n) for n in range(6)]
GROUPS = [f"group-{n}" for n in range(12)]


@pytest.fixture
def cluster(small_lab):
    made = small_lab("three", nodes=3).cluster("three")
    with ClusterClient(made.connection, timeout_s=20) as client:
        create_topics(client, {TOPIC: NewTopicSpec(len(PARTITIONS))})
        wait_until(lambda: has_leaders(client), 30)
        consumer = client.consumer({"group.id": GROUPS[0]})
        consumer.subscribe([TOPIC])
        wait_until(lambda: consumer.poll(0.2) is None and consumer.assignment(), 30)
        consumer.close()
    return made


def has_leaders(client) -> bool:
    topic = describe_topics(client, [TOPIC])[0]
    return len(topic.partitions) == len(PARTITIONS) and all(p.leader for p in topic.partitions)


def test_a_hung_broker_costs_its_own_answers_only(cluster):
    with ClusterClient(cluster.connection, timeout_s=BUDGET_S) as client:
        read_offset_ranges(client, PARTITIONS, with_timestamps=False)
        node = cluster.node(3)
        node.pause()
        try:
            found = read_offset_ranges(client, PARTITIONS, with_timestamps=True)
            assert 0 < len([r for r in found.values() if r.error is None]) < len(PARTITIONS)
        finally:
            node.resume()


@pytest.mark.parametrize(
    "ask",
    [
        pytest.param(describe_cluster, id="describe-cluster"),
        pytest.param(describe_topics, id="describe-topics"),
        pytest.param(list_groups, id="list-groups"),
        pytest.param(lambda c: describe_groups(c, GROUPS), id="describe-groups"),
        pytest.param(lambda c: read_committed_offsets(c, GROUPS), id="committed-offsets"),
    ],
)
def test_a_hung_broker_costs_the_budget_at_most_and_its_return_no_process(cluster, ask):
    """librdkafka aborts the process when a request to a coordinator was left to time out."""
    node = cluster.node(2)
    with ClusterClient(cluster.connection, timeout_s=BUDGET_S) as client:
        read_offset_ranges(client, PARTITIONS, with_timestamps=False)
        node.pause()
        timer = threading.Timer(2 * BUDGET_S + 1, node.resume)
        timer.start()
        try:
            # Listing topics may need two budgets: one to find a live broker, one to ask it.
            began = time.monotonic()
            with contextlib.suppress(ClusterFault):
                ask(client)
            assert time.monotonic() - began < 2 * BUDGET_S + 1.5
        finally:
            timer.join()
        wait_until(lambda: len(describe_cluster(client).brokers) == 3, 30)
