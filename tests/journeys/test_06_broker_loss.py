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


# Replicas of each partition, and min.insync.replicas.
TOPICS = (
    ([[2, 1, 3], [3, 2, 1], [1, 3, 2]], "2"),
    ([[2, 1]], "2"),
    ([[2]], "1"),
    ([[1, 3]], "2"),
)


@pytest.fixture
def topics(world):
    """Topics that the loss of a broker hurts in different ways."""
    made = [
        new_topic_on(world.east, replicas, min_insync_replicas=least) for replicas, least in TOPICS
    ]
    yield made
    world.start_all()
    with ClusterClient(world.east.connection, timeout_s=60) as client:
        delete_topics(client, made)


def test_a_broker_s_loss_is_as_predicted_and_the_isr_history_names_its_cause(world, topics):
    eventually(lambda: len(seen(world, topics)) == 6, SEEN_WITHIN_S, every=0.3)
    # The simulation begins at what was last collected: replicas in one round, min.insync.replicas in another.
    eventually(lambda: is_collected(world, topics), SEEN_WITHIN_S, every=0.3)
    expected = predicted(world, topics)
    world.east.node(LOST).kill()
    eventually(lambda: seen(world, topics) == expected, SEEN_WITHIN_S, every=0.3)
    row = next(one for one in rows(world, topics[0]) if one["partition"] == 1)
    assert (row["cause"], row["cause_broker"]) == ("broker_fenced", LOST)
    path = f"partition-changes/?cluster=east&topic={topics[0]}&partition=1"
    change = world.get(path)["results"][0]
    assert (change["cause"], change["cause_broker"]) == ("broker_fenced", LOST)
    assert set(change["isr"]) == {1, 3}


def is_collected(world, topics: list[str]) -> bool:
    """Return whether the console has these topics with every replica in sync, and their settings."""
    before = [
        set(one["before"]["isr"])
        for topic in topics
        for one in sorted(simulated(world, topic), key=lambda one: one["partition"])
    ]
    are_in_sync = before == [set(one) for partitions, _ in TOPICS for one in partitions]
    return are_in_sync and {severity for _, _, severity in predicted(world, topics).values()} == {
        "ok", "at_min_isr", "under_min_isr", "offline"
    }  # fmt: skip


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
    return {
        (one["topic"], one["partition"]): (
            one["after"]["leader"],
            frozenset(one["after"]["isr"]),
            one["after"]["severity"],
        )
        for topic in topics
        for one in simulated(world, topic)
    }


def simulated(world, topic: str) -> list[dict]:
    """Return the partitions of a topic before and after the loss."""
    asked = f"what-if/?cluster=east&steps=lose:broker:{LOST}&show=all&topic={topic}"
    return list(world.get(asked)["partitions"])
