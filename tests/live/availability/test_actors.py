"""The three actors beside the standby act on a real cluster, and take back what can be taken back."""

import asyncio
import contextlib
import time

import pytest

from jobs.availability.acting.held_back_replica import FOLLOWERS, HeldBackReplica
from jobs.availability.acting.partition_facts import read_partitions
from jobs.availability.acting.reassign_to_spare import ReassignToSpare
from jobs.availability.acting.relaxed_min_isr import MIN_ISR, RelaxMinIsr
from jobs.cluster.admin.brokers import list_brokers
from jobs.cluster.admin.configs import (
    Resource,
    ResourceType,
    alter_configs,
    read_configs,
)
from jobs.cluster.admin.log_dirs import describe_replica_logs
from jobs.cluster.admin.reassignments import (
    NoReassignment,
    alter_reassignments,
    list_reassignments,
)
from jobs.cluster.descriptions import TopicPartition
from jobs.cluster.protocol.transport.connection_pool import COORDINATOR
from jobs.cluster.read_only import VARIABLE, ReadOnly
from tests.live.availability.standby_cluster import Acked, partitions
from tests.live.topics import new_topic_on
from tests.waiting import PATIENCE, eventually, eventually_async, pause

pytestmark = pytest.mark.timeout(900)

RATE = "follower.replication.throttled.rate"
# What a kill of a broker costs before anybody can react: the broker session.
DETECTED_S = 12.0


def settings_of(doors, topic, *names):
    async def ask():
        async with doors.cluster() as cluster:
            return await read_configs(cluster, Resource(ResourceType.TOPIC, topic), names)

    return {name: one.value for name, one in asyncio.run(ask()).items()}


def change(doors, kind, name, **settings):
    async def ask():
        async with doors.cluster() as cluster:
            wanted = {key.replace("_", "."): value for key, value in settings.items()}
            await alter_configs(cluster, Resource(kind, name), wanted)

    asyncio.run(ask())


@contextlib.contextmanager
def without(world, node_id):
    """Kill a node, wait until it is out of every ISR, and start it again afterwards."""
    node = world.cluster.node(node_id)
    node.kill()
    eventually(lambda: not any(node_id in p.isr for p in partitions(world.doors).values()), 60)
    try:
        yield
    finally:
        node.start()
        world.cluster.wait_until_serving()
        eventually(lambda: all_in_sync(world), 60)


def partitions_all(world):
    return partitions(world.doors).values()


def all_in_sync(world) -> bool:
    """Say whether every broker but the standby is in all its ISRs."""
    return all(set(one.replicas) - {4} <= set(one.isr) for one in partitions_all(world))


def smallest_isr(doors, topic: str) -> int:
    return min(len(one.isr) for one in partitions(doors, topic).values())


def placed(doors, places) -> list[tuple[int, ...]]:
    found = partitions(doors, places[0].topic)
    return [found[where].replicas for where in places]


async def held_back(doors, held):
    """Give a partition a third replica, and wait until that one is behind; returns what is told of it."""
    async with doors.cluster() as cluster:
        await alter_reassignments(cluster, {held: (1, 2, 3)})
        await asyncio.to_thread(pause, 3, "the new replica falls behind")
        server = (await list_brokers(cluster))[3].server
        connection = await cluster.connection_at(server, COORDINATOR)

        async def is_behind():
            facts = (await read_partitions(cluster, [held]))[held]
            logs = (await describe_replica_logs(connection, [held])).replicas
            return (facts.lag(3) or 0) > 100 and held in logs and (facts, logs[held])

        return await eventually_async(is_behind, 120, every=0.2)


def test_a_replica_that_a_throttle_holds_back_is_let_in(world):
    doors, held = world.doors, TopicPartition(new_topic_on(world.cluster, [[1, 2]]), 0)
    brake = new_topic_on(world.cluster, [[1, 3]])
    change(doors, ResourceType.BROKER, "3", **{RATE: "0"})
    for topic in (brake, held.topic):
        change(doors, ResourceType.TOPIC, topic, **{FOLLOWERS: "0:3"})
    with Acked(world.cluster, brake, 0.2, 100), Acked(world.cluster, held.topic, 0.005):
        pause(1.5, "the brake uses up the rate of the broker")
        facts, log = asyncio.run(held_back(doors, held))
        assert 3 not in facts.known.isr
        # What DescribeLogDirs says of a follower is no lag: it compares it with itself.
        assert log.offset_lag == 0

        actor = HeldBackReplica(doors, held.topic, 3, within_s=30 * PATIENCE)
        # Each broker reads the metadata log in its own time.
        eventually(lambda: all(actor.plan().refusals == () for _ in range(8)), 10)
        done = actor.act()
        assert done.is_done, done.sentence
        # Any broker tells a setting, each as far as it has read the metadata log.
        eventually(lambda: settings_of(doors, held.topic, FOLLOWERS)[FOLLOWERS] in (None, ""))
        back = actor.revert(done.undo)
        assert back.is_done, back.sentence
        eventually(lambda: settings_of(doors, held.topic, FOLLOWERS)[FOLLOWERS] == "0:3")
        # It is a way in only: the replica stays.
        assert actor.verify().is_there
    change(doors, ResourceType.BROKER, "3", **{RATE: None})
    assert actor.plan().refusals != ()


def test_min_isr_is_relaxed_without_a_stall_and_put_back(world):
    doors = world.doors
    ended = new_topic_on(world.cluster, [[1, 2]], min_insync_replicas="2")
    left = new_topic_on(world.cluster, [[1, 2]], min_insync_replicas="2")
    actor, other = (
        RelaxMinIsr(doors, ended, 1, within_s=15 * PATIENCE),
        RelaxMinIsr(doors, left, 1, ends_stall=False, within_s=1),
    )
    assert actor.plan().refusals != (), "nothing is wrong with it yet"
    with Acked(world.cluster, ended) as first, Acked(world.cluster, left) as second:
        killed_at = time.monotonic()
        with without(world, 2):
            # Brokers learn of the smaller ISR one after the other.
            eventually(lambda: all(actor.plan().is_allowed for _ in range(8)), 10)
            plan = actor.plan()
            assert any("30 s" in warning for warning in plan.warnings)
            began = time.monotonic()
            done = actor.act()
            assert done.is_done, done.sentence
            eventually(lambda: first.times[-1] > began, 20)
            # The same without ending the stall: nothing moves until the producer's request times out (30 s).
            undone = other.act()
            assert smallest_isr(doors, ended) == 1
            eventually(lambda: second.times[-1] > began, 40)
        recovered_s, without_s = first.first_after(began), second.first_after(began)
        eventually(lambda: smallest_isr(doors, ended) == 2, 30)
        assert actor.revert(done.undo).is_done
        assert other.revert(undone.undo).is_done
        eventually(lambda: settings_of(doors, ended, MIN_ISR)[MIN_ISR] == "2")
    assert recovered_s < without_s
    assert without_s > killed_at + 25
    assert first.refused == 0


def test_replicas_of_a_dead_broker_are_made_on_a_spare_and_moved_back(world):
    doors = world.doors
    topic = new_topic_on(world.cluster, [[1, 2], [2, 1]], min_insync_replicas="2")
    places = tuple(TopicPartition(topic, n) for n in (0, 1))
    actor = ReassignToSpare(doors, places, spare=3, replaced=2)
    with Acked(world.cluster, topic) as producer:
        with without(world, 2):
            plan = actor.plan()
            assert plan.refusals == ()
            assert plan.evidence["bytes"] > 0
            done = actor.act()
            assert done.is_done, done.sentence
            eventually(lambda: placed(doors, places) == [(1, 3), (3, 1)])
            eventually(lambda: producer.is_going_on, 10)
            early = actor.revert(done.undo)
            assert not early.is_done
            assert "Broker 2 is not back" in early.sentence
        back = actor.revert(done.undo)
        assert back.is_done, back.sentence
        eventually(lambda: placed(doors, places) == [(1, 2), (2, 1)])
    assert producer.refused == 0


def test_a_move_that_is_done_cannot_be_cancelled(world):
    where = TopicPartition(world.topic, 0)

    async def cancel():
        async with world.doors.cluster() as cluster:
            assert await list_reassignments(cluster, [where]) == {}
            return (await alter_reassignments(cluster, {where: None}))[where]

    assert isinstance(asyncio.run(cancel()), NoReassignment)


@pytest.mark.parametrize(
    "actor",
    [
        pytest.param(lambda world: RelaxMinIsr(world.doors, world.topic, 1), id="relax"),
        pytest.param(lambda world: HeldBackReplica(world.doors, world.topic, 3), id="lift"),
        pytest.param(
            lambda world: ReassignToSpare(world.doors, (TopicPartition(world.topic, 0),), 3),
            id="reassign",
        ),
    ],
)
def test_nothing_is_done_while_crosslog_is_read_only(world, actor, monkeypatch):
    monkeypatch.setenv(VARIABLE, "1")
    made = actor(world)
    assert "crosslog is read-only." in made.plan().refusals
    with pytest.raises(ReadOnly):
        made.act()
