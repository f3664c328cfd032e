"""A fenced standby broker is promoted by a policy when a replica dies, and demoted when it is back."""

from dataclasses import replace

import pytest

from jobs.availability.acting.cluster_connections import ClusterConnections
from tests.live.availability.standby_cluster import in_all_isrs, standby
from tests.live.records import produce
from tests.live.topics import new_topic_on
from tests.waiting import eventually

pytestmark = pytest.mark.journey
STANDBY, DIES = 3, 2
# Its own heartbeats never come again: the controller fences it, and it keeps following.
SETTINGS = {"broker.heartbeat.interval.ms": "86400000"}


@pytest.fixture
def topic(world):
    """A topic with a replica on a broker that is a fenced standby for this journey."""
    name = new_topic_on(world.east, [[1, DIES, STANDBY]], min_insync_replicas="2")
    node = world.east.node(STANDBY)
    usual = node.plan
    doors = ClusterConnections(world.east.connection)
    try:
        node.kill()
        # A broker may register again after its session; with such heartbeats it tries that only once.
        eventually(lambda: standby(doors, STANDBY).is_fenced, 60, every=0.3)
        node.plan = replace(usual, overrides=SETTINGS)
        node.start()
        eventually(lambda: follows_and_is_fenced(standby(doors, STANDBY)), 60, every=0.3)
        yield name
    finally:  # the next journey finds an ordinary broker
        node.kill()
        node.plan = usual


@pytest.fixture
def policy(world, topic):
    """A policy that acts on this topic, with this broker alone."""
    asked = {
        "cluster": "east", "pattern": topic, "mode": "act", "confirm": topic,
        "cooldown_s": 10, "hold_s": 5, "allowed_brokers": [STANDBY],
    }  # fmt: skip
    made = world.post("promotion-policies/", asked)
    yield made
    world.console.visitor.delete(f"api/v1/promotion-policies/{made['id']}/")


def test_a_fenced_standby_joins_the_isr_when_a_replica_dies_and_leaves_it_afterwards(
    world, topic, policy
):
    doors = ClusterConnections(world.east.connection)
    world.east.node(DIES).kill()
    eventually(lambda: in_all_isrs(doors, STANDBY, topic), 60, every=0.3)
    eventually(lambda: action(world, topic).get("state") == "verified", 30, every=0.3)
    told = action(world, topic)
    assert (told["is_automatic"], told["broker"]) == (True, STANDBY)
    # acks=all takes two replicas, and one of the two is the standby.
    assert len(produce(world.east, topic, 10)) == 10
    world.east.node(DIES).start()
    eventually(lambda: action(world, topic)["state"] == "reverted", 60, every=0.3)
    eventually(lambda: not in_all_isrs(doors, STANDBY, topic), 20, every=0.3)


def follows_and_is_fenced(broker) -> bool:
    """Return whether a broker is back as a standby: the quorum and the ISRs do without the next one."""
    return broker.is_set_up and broker.is_fenced and broker.answers


def action(world, topic: str) -> dict:
    """Return the newest promotion of a topic."""
    found = world.get(f"promotion-actions/?cluster=east&topic={topic}")["results"]
    return dict(found[0]) if found else {}
