"""One of three brokers stops answering (SIGSTOP): the others answer, in time, and nothing dies of it."""

import contextlib
import threading
import uuid

import pytest

from jobs.cluster.admin.brokers import describe_cluster
from jobs.cluster.admin.groups import describe_groups, list_groups, read_committed_offsets
from jobs.cluster.admin.offsets import read_offset_ranges
from jobs.cluster.admin.topics import NewTopicSpec, create_topics, describe_topics
from jobs.cluster.client import ClusterClient
from jobs.cluster.descriptions import TopicPartition
from jobs.cluster.errors import ClusterFault
from tests.live.topics import wait_until_known
from tests.waiting import Stalls, eventually

BUDGET_S = 2.0
# A few more, so that some of them have their coordinator on the broker that hangs.
GROUPS = [f"hung-{n}" for n in range(12)]


@pytest.fixture(scope="module")
def partitions(east) -> list[TopicPartition]:
    name = f"door-{uuid.uuid4().hex[:8]}"
    with ClusterClient(east.connection, timeout_s=20) as client:
        create_topics(client, {name: NewTopicSpec(6)})
        wait_until_known(east.connection, name, 6)
        consumer = client.consumer({"group.id": GROUPS[0]})
        consumer.subscribe([name])
        eventually(lambda: consumer.poll(0.2) is None and consumer.assignment(), 30)
        consumer.close()
    return [TopicPartition(name, n) for n in range(6)]


@pytest.fixture
def client(east, partitions):
    """A client that has met every broker, and a cluster that is whole again afterwards."""
    with ClusterClient(east.connection, timeout_s=BUDGET_S) as opened:
        eventually(lambda: all_answer(opened, partitions), 20)
        yield opened
    with ClusterClient(east.connection, timeout_s=20) as healthy:
        eventually(lambda: is_whole(healthy), 60)


def all_answer(client, partitions) -> bool:
    found = read_offset_ranges(client, partitions, with_timestamps=False)
    return all(one.error is None for one in found.values())


def is_whole(client) -> bool:
    topics = describe_topics(client)
    return len(describe_cluster(client).brokers) == 3 and all(
        len(p.isr) == len(p.replicas) for topic in topics for p in topic.partitions
    )


def leaders(client, partitions) -> list[int | None]:
    (topic,) = describe_topics(client, [partitions[0].topic])
    return [partition.leader for partition in topic.partitions]


@contextlib.contextmanager
def paused(node, seconds: float):
    """Pause a broker; it comes back by itself."""
    back = threading.Timer(seconds, node.resume)
    node.pause()
    back.start()
    try:
        yield
    finally:
        back.join()


def test_a_hung_broker_costs_its_own_answers_only(east, client, partitions):
    def answered() -> int:
        found = read_offset_ranges(client, partitions, with_timestamps=True)
        return len([r for r in found.values() if r.error is None])

    with ClusterClient(east.connection, timeout_s=20) as healthy:
        known: list[int | None] = []
        eventually(lambda: known.extend(leaders(healthy, partitions)) or any(known), 20)
    node = east.node(next(leader for leader in known if leader))
    node.pause()
    try:
        # Not all of them may answer at first: a machine that is busy is as late as a broker that hangs.
        first = answered()
        eventually(lambda: answered() > 0, 20)
    finally:
        node.resume()
    assert first < len(partitions)


@pytest.mark.parametrize(
    ("ask", "budgets"),
    [
        # One to find a broker that answers, one to ask it, one for the topics themselves.
        pytest.param(describe_topics, 3, id="describe-topics"),
        pytest.param(list_groups, 1, id="list-groups"),
        pytest.param(lambda c: describe_groups(c, GROUPS), 1, id="describe-groups"),
        pytest.param(lambda c: read_committed_offsets(c, GROUPS), 1, id="committed-offsets"),
    ],
)
def test_a_hung_broker_costs_the_budget_and_its_return_no_process(east, client, ask, budgets):
    """librdkafka aborts the process when a request to a coordinator was left to time out."""
    # Not so long that others take over the groups that it coordinates.
    back = paused(east.node(2), BUDGET_S + 3.5)
    with back, Stalls() as stalls, contextlib.suppress(ClusterFault):
        ask(client)
    assert stalls.took_s < budgets * BUDGET_S + 1.5
    eventually(lambda: describe_groups(client, GROUPS[:1]), 20)
