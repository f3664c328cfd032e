"""A fenced standby broker is promoted and demoted on a real cluster, and stays whatever dies.

The last test loses a site of the lab: nothing else can use it after that.
"""

import asyncio
import time

import pytest
from confluent_kafka import ElectionType, KafkaException, TopicPartition

from jobs.availability.acting.fenced_standby import FencedStandby
from jobs.availability.acting.standby.promotions import Phase
from jobs.cluster.admin.configs import Resource, ResourceType, alter_configs
from jobs.cluster.admin.topics import delete_topics
from jobs.cluster.client import ClusterClient
from tests.jobs.availability.acting.memory_store import MemoryStore
from tests.live.availability.standby_cluster import (
    STANDBY,
    Acked,
    StandbyCluster,
    fencings,
    in_all_isrs,
    looping,
    now_ms,
    partitions,
    promotion,
    standby,
)
from tests.live.quorum.quorums import described, leader, remove_voter
from tests.live.records import Record, read_all, write
from tests.live.topics import admin_of, new_topic_on
from tests.waiting import PATIENCE, Stalls, eventually, pause

pytestmark = pytest.mark.timeout(900)

MANY = 1_000


@pytest.fixture
def store() -> MemoryStore:
    return MemoryStore()


def demoted(world: StandbyCluster, store) -> None:
    """Take every promotion of a store back and wait until it is over."""
    for one in store.read().promotions:
        store.move(one.promotion_id, one.generation, Phase.DEMOTING, now_ms())
    eventually(lambda: not store.read().promotions, 60)
    eventually(lambda: is_out(world, world.topic), 20)


def kinds(store: MemoryStore) -> list[str]:
    return [one.kind for one in store.events]


def is_out(world: StandbyCluster, *topics: str) -> bool:
    """Say whether the standby is in no ISR; each broker reads the metadata log in its own time."""
    return not any(STANDBY in one.isr for one in partitions(world.doors, *topics).values())


def test_a_standby_is_told_from_other_brokers_while_it_follows(world):
    found = standby(world.doors)
    assert found.is_set_up
    assert found.is_alive
    assert found.answers
    assert (found.in_isr, found.leads, found.unknown_lag) == (0, 0, 0)
    assert found.most_lag_records == 0
    assert not standby(world.doors, 1).is_set_up


def test_a_standby_is_promoted_and_demoted_by_heartbeats(world, store, record_property):
    # What the machine does to a producer that has nothing to do with the standby.
    beside = new_topic_on(world.cluster, [[1, 2], [2, 1]], min_insync_replicas="2")
    with (
        looping(world.doors, store),
        Acked(world.cluster, world.topic) as producer,
        Acked(world.cluster, beside) as control,
        Stalls() as stalls,
    ):
        actor = FencedStandby(world.doors, STANDBY, store, asked_by="test", within_s=20 * PATIENCE)
        # Whoever answers late for a moment is not promoted.
        eventually(lambda: actor.plan().refusals == (), 30)
        began = time.monotonic()
        done = actor.act()
        assert done.is_done, done.sentence
        assert done.took_ms < 5_000 + 1000 * stalls.seconds
        assert actor.verify().is_there
        # Longer than a session: somebody speaks for it.
        assert fencings(world.doors, lambda: pause(11, "longer than a session")) == 0
        back = actor.revert(done.undo)
        assert back.is_done, back.sentence
        assert back.took_ms < 5_000 + 1000 * stalls.seconds
        # The store has it a moment later than the brokers.
        eventually(lambda: "ended" in kinds(store), 10)
        producer.stop()
        control.stop()
    assert store.read().promotions == ()
    steps = ("first_heartbeat", "unfenced", "fenced", "ended")
    assert [kind for kind in kinds(store) if kind in steps] == list(steps)
    assert producer.refused == 0
    assert producer.longest_gap_s(began) < control.longest_gap_s(began) + 2.0
    record_property("promoted_ms", done.took_ms)
    record_property("demoted_ms", back.took_ms)


def test_two_promotions_of_one_broker_are_one(world, store):
    assert store.begin(promotion())
    done = FencedStandby(world.doors, STANDBY, store).act()
    assert not done.is_done
    assert "is promoted, or being demoted" in done.sentence


@pytest.mark.campaign("drills")
def test_a_promoted_standby_stays_when_the_active_controller_dies(world, store):
    with looping(world.doors, store):
        assert store.begin(promotion())
        eventually(lambda: in_all_isrs(world.doors, STANDBY, world.topic), 30)
        dead = leader(world.cluster)
        assert dead.plan.node_id != STANDBY

        def kill_the_controller() -> None:
            dead.kill()
            pause(16, "longer than a session")

        assert fencings(world.doors, kill_the_controller) == 0
        assert "fenced" not in kinds(store)
        dead.start()
        world.cluster.wait_until_serving()
        demoted(world, store)


@pytest.mark.campaign("drills")
def test_a_standby_of_a_thousand_partitions_joins_all_their_isrs(world, store, record_property):
    replicas = [[1, 2, STANDBY], [2, 3, STANDBY], [3, 1, STANDBY]]
    topics = [
        new_topic_on(world.cluster, [replicas[n % 3] for n in range(MANY // 5)]) for _ in range(5)
    ]
    eventually(lambda: standby(world.doors).most_lag_records == 0, 60, every=0.5)
    with looping(world.doors, store):
        with Stalls() as stalls:
            assert store.begin(promotion())
            eventually(lambda: in_all_isrs(world.doors, STANDBY, *topics), 60)
        demoted(world, store)
    record_property("promoted_s", stalls.wall_s)
    eventually(lambda: is_out(world, *topics), 20)
    # A node that starts again with all of them needs minutes on a busy machine.
    with ClusterClient(world.cluster.connection) as client:
        delete_topics(client, topics)


@pytest.fixture(scope="module")
def quorum_of_both_sites(world) -> None:
    """Let the quorum outlive the primary site: its voters are 2, 3 and 4 from here on."""
    world.cluster._add_voter(world.cluster.node(STANDBY))
    gone = next(one for one in described(world.cluster).voters if one.id == 1)
    remove_voter(world.cluster, 1, gone.directory_id)


@pytest.mark.usefixtures("quorum_of_both_sites")
def test_when_the_primary_site_dies_a_promoted_standby_leads_with_every_acked_record(world, store):
    topic = new_topic_on(world.cluster, [[1, 2, STANDBY]], min_insync_replicas="2")
    with looping(world.doors, store), Acked(world.cluster, topic, 0.004) as producer:
        assert store.begin(promotion())
        eventually(lambda: in_all_isrs(world.doors, STANDBY, topic), 30)
        eventually(lambda: len(producer.acked) > 1_000, 60)
        kill_the_site(world)
        eventually(lambda: _leader(world, topic) == STANDBY, 60)
        producer.stop(flush_s=0.0)
        assert set(producer.acked) - readable(world, topic) == set()
        for node_id in (1, 2):
            world.cluster.node(node_id).start()
        world.cluster.wait_until_serving()
        eventually(lambda: all_in_sync(world, topic, world.topic), 60)
        demoted(world, store)


@pytest.mark.campaign("drills")
@pytest.mark.usefixtures("quorum_of_both_sites")
def test_when_the_primary_site_dies_a_fenced_standby_lacks_the_last_moments_at_most(
    world, store, record_property
):
    topic = new_topic_on(world.cluster, [[1, 2, STANDBY]], min_insync_replicas="2")
    with (
        looping(world.doors, store),
        Acked(world.cluster, topic, 0.004) as producer,
        Stalls() as stalls,
    ):
        eventually(lambda: len(producer.acked) > 1_000, 60)
        killed_at = time.monotonic()
        kill_the_site(world)
        eventually(lambda: _leader(world, topic) is None, 60)
        # Any broker tells who leads, each as far as it has read the metadata log.
        eventually(lambda: all(_leader(world, topic) is None for _ in range(8)), 30)
        assert not elected(world, topic), "a fenced broker must not be electable"
        with Stalls() as election:
            assert store.begin(promotion())
            eventually(lambda: elected(world, topic), 30)
            eventually(lambda: _leader(world, topic) == STANDBY, 30)
        producer.stop(flush_s=0.0)
        found = readable(world, topic)
    when = dict(zip(producer.acked, producer.times, strict=True))
    lost = [one for one in producer.acked if one not in found]
    record_property("leader_after_s", election.wall_s)
    record_property("acked", len(producer.acked))
    record_property("lost", len(lost))
    # It is outside of the ISR: nobody waited for it. What it lacks was acked within its last fetch.
    assert all(when[one] > killed_at - 1.0 - stalls.seconds for one in lost), lost


def kill_the_site(world: StandbyCluster) -> None:
    for node_id in (1, 2):
        world.cluster.node(node_id).kill()


def all_in_sync(world: StandbyCluster, *topics: str) -> bool:
    found = partitions(world.doors, *topics).values()
    return all(set(one.isr) == set(one.replicas) for one in found)


def readable(world: StandbyCluster, topic: str) -> set[int]:
    """Return the numbers of all records that the standby has, once its high watermark may move.

    With fewer in-sync replicas than min.insync.replicas it does not, and the end of the log cannot be read.
    """

    async def lower() -> None:
        async with world.doors.cluster() as cluster:
            resource = Resource(ResourceType.TOPIC, topic)
            await alter_configs(cluster, resource, {"min.insync.replicas": "1"})

    asyncio.run(lower())
    write(world.cluster, topic, [Record(value=b"-1")])
    return {int(one.value.split()[0]) for one in read_all(world.cluster, topic)}


def _leader(world: StandbyCluster, topic: str) -> int | None:
    (one,) = partitions(world.doors, topic).values()
    return one.leader


def elected(world: StandbyCluster, topic: str) -> bool:
    """Ask for an UNCLEAN election, as `kafka-leader-election.sh` does; say whether there is a leader then."""
    where = TopicPartition(topic, 0)
    asked = admin_of(world.cluster.connection).elect_leaders(ElectionType.UNCLEAN, [where])
    try:
        return asked.result(30)[where] is None
    except KafkaException:
        return False
