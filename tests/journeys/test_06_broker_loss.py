"""What is predicted of a broker's loss is what happens, and the history says why."""

import pytest

from jobs.cluster.admin.topics import delete_topics
from jobs.cluster.client import ClusterClient
from tests.live.topics import new_topic_on
from tests.waiting import eventually

pytestmark = pytest.mark.journey
LOST = 2
SEEN_WITHIN_S = 60
Partition = tuple[str, int]
State = tuple[int | None, frozenset[int], str]


@pytest.fixture
def topics(world):
    """Topics that the loss of a broker hurts in different ways, as the console knows them."""
    made = [
        new_topic_on(world.east, [[2, 1, 3], [3, 2, 1], [1, 3, 2]], min_insync_replicas="2"),
        new_topic_on(world.east, [[2, 1]], min_insync_replicas="2"),
        new_topic_on(world.east, [[2]], min_insync_replicas="1"),
        new_topic_on(world.east, [[1, 3]], min_insync_replicas="2"),
    ]
    yield made
    world.start_all()
    with ClusterClient(world.east.connection, timeout_s=60) as client:
        delete_topics(client, made)


def test_a_broker_s_loss_is_as_predicted_and_the_isr_history_names_its_cause(world, topics):
    eventually(lambda: len(seen(world, topics)) == 6, SEEN_WITHIN_S, every=0.3)
    eventually(lambda: len(predicted(world, topics)) == 6, SEEN_WITHIN_S, every=0.3)
    expected = predicted(world, topics)
    severities = {severity for _, _, severity in expected.values()}
    assert severities == {"ok", "at_min_isr", "under_min_isr", "offline"}
    world.east.node(LOST).kill()
    eventually(lambda: seen(world, topics) == expected, SEEN_WITHIN_S, every=0.3)
    row = next(one for one in rows(world, topics[0]) if one["partition"] == 1)
    assert (row["cause"], row["cause_broker"]) == ("broker_fenced", LOST)
    path = f"partition-changes/?cluster=east&topic={topics[0]}&partition=1"
    change = world.get(path)["results"][0]
    assert (change["cause"], change["cause_broker"]) == ("broker_fenced", LOST)
    assert set(change["isr"]) == {1, 3}


def rows(world, topic: str) -> list[dict]:
    return list(world.get(f"availability/partitions/?cluster=east&topic={topic}")["results"])


def seen(world, topics: list[str]) -> dict[Partition, State]:
    """Return the partitions as the followed metadata log has them."""
    return {
        (one["topic"], one["partition"]): (one["leader"], frozenset(one["isr"]), one["severity"])
        for topic in topics
        for one in rows(world, topic)
        if one["source"] == "log"
    }


def predicted(world, topics: list[str]) -> dict[Partition, State]:
    """Return what is left of the partitions when the broker is lost."""
    asked = f"what-if/?cluster=east&steps=lose:broker:{LOST}&show=all&topic="
    found = [one for topic in topics for one in world.get(asked + topic)["partitions"]]
    return {
        (one["topic"], one["partition"]): (
            one["after"]["leader"],
            frozenset(one["after"]["isr"]),
            one["after"]["severity"],
        )
        for one in found
    }
