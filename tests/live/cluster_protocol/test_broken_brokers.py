"""Brokers that die or hang: the leader is followed, and no wait is longer than its bound."""

import asyncio
import contextlib

import pytest
from confluent_kafka import ElectionType, KafkaException
from confluent_kafka import TopicPartition as ClientPartition

from jobs.cluster.admin.groups import alter_group_offsets, read_committed_offsets
from jobs.cluster.admin.topics import describe_topics
from jobs.cluster.client import ClusterClient
from jobs.cluster.descriptions import CommittedOffset, TopicPartition
from jobs.cluster.errors import ClusterFault
from jobs.cluster.protocol.data.fetch import fetch
from jobs.cluster.protocol.data.offsets import LATEST, list_offsets
from jobs.cluster.protocol.data.transactions import end_txn, init_producer_id
from jobs.cluster.protocol.errors import ConnectionLost, RequestTimedOut
from jobs.cluster.protocol.transport.connection_pool import FETCH
from jobs.cluster.protocol.transport.timing import Timing
from tests.jobs.cluster.protocol.batches import claimed
from tests.live.records import produce, read_all
from tests.live.topics import admin_of, new_topic
from tests.live.whole_batches import (
    LIMITS,
    fetch_all,
    fetch_at,
    fetch_once,
    follow,
    opened,
    position,
    settle,
    write,
)
from tests.waiting import PATIENCE, Stalls, eventually, eventually_async

COUNT = 10
BOUND_S = 2.0
IMPATIENT = Timing(request_timeout_s=BOUND_S, connect_timeout_s=BOUND_S, metadata_timeout_s=1.0)


@pytest.fixture
def partition(east) -> TopicPartition:
    where = TopicPartition(new_topic(east), 0)
    produce(east, where.topic, COUNT, **{"linger.ms": 500})
    return where


@pytest.fixture
def whole(east):
    """Bring the cluster back to three serving nodes after a test."""
    yield east
    for node in east.nodes.values():
        node.resume()
        node.start()
    east.wait_until_serving()


async def leader_of(door, where) -> int:
    return (await door.metadata([where.topic])).leader(where)


async def newer_metadata(door):
    return await door.metadata(newer_than=await door.metadata())


async def test_a_leader_that_dies_is_followed(whole, partition):
    async with opened(whole.connection, timing=IMPATIENT) as door:
        (one,) = await fetch_all(door, partition)
        dead = await leader_of(door, partition)
        whole.node(dead).kill()
        done = await write(door, partition, claimed(one))
        assert done.error is None
        assert await leader_of(door, partition) != dead
        assert len(await fetch_all(door, partition)) == 2
        end = await follow(
            door, partition, lambda: list_offsets(door, {partition: LATEST}, read_committed=True)
        )
    assert end[partition].offset == 2 * COUNT


async def test_a_broker_that_dies_fails_a_fetch_that_waits_at_once(whole, partition):
    async with opened(whole.connection) as door:
        leader = await leader_of(door, partition)
        lane = await door.connection_to(leader, FETCH)
        waiting = asyncio.ensure_future(
            fetch_once(door, partition, COUNT, limits=LIMITS._replace(max_wait_ms=30_000))
        )
        await eventually_async(lambda: lane.in_flight)
        whole.node(leader).kill()
        with Stalls() as stalls, pytest.raises(ConnectionLost) as caught:
            await waiting
        assert stalls.took_s < 5
    assert caught.value.may_have_arrived


async def test_a_broker_that_hangs_is_noticed_within_the_bound(whole, partition):
    async with opened(whole.connection, timing=IMPATIENT) as door:
        await fetch_at(door, partition)  # until the leader has answered once
        leader = await leader_of(door, partition)
        one = await position(door, partition)
        whole.node(leader).pause()
        with Stalls() as stalls, pytest.raises(RequestTimedOut, match=f"broker {leader}"):
            await fetch(door, leader, [one], LIMITS)
        assert stalls.wall_s >= BOUND_S
        assert stalls.took_s < 3 * BOUND_S


async def test_the_others_answer_while_one_hangs(whole, partition):
    async with opened(whole.connection, timing=IMPATIENT) as door:
        leader = await follow(door, partition, lambda: leader_of(door, partition))
        whole.node(leader).pause()
        with Stalls() as stalls:
            for _ in range(5):
                metadata = await follow(door, partition, lambda: newer_metadata(door))
        assert stalls.took_s < 10
    assert metadata.cluster_id


async def test_a_connect_to_a_broker_that_hangs_ends_in_time(whole, partition):
    async with opened(whole.connection, timing=IMPATIENT) as door:
        leader = await follow(door, partition, lambda: leader_of(door, partition))
        whole.node(leader).pause()
        with (
            Stalls() as stalls,
            pytest.raises(ClusterFault, match="did not finish the connection"),
        ):
            await door.connection_to(leader, "a-new-lane")
        assert stalls.took_s < 3 * BOUND_S


def all_lead_again(client, name: str = "__consumer_offsets") -> bool:
    """Elect the preferred leaders of a topic's partitions; returns whether all of them lead now."""
    (topic,) = describe_topics(client, [name])
    away = [p for p in topic.partitions if p.leader != p.replicas[0]]
    where = [ClientPartition(topic.name, p.partition) for p in away]
    if where:
        with contextlib.suppress(KafkaException, TimeoutError):
            admin_of(client.connection).elect_leaders(ElectionType.PREFERRED, where).result(60)
    return bool(topic.partitions) and not away


def is_set(client, group: str, partition: TopicPartition) -> bool:
    answers = alter_group_offsets(client, group, {partition: CommittedOffset(5)})
    return answers == {partition: None}


@pytest.mark.campaign("faults")
def test_committed_offsets_are_read_while_their_coordinators_die_and_come_back(whole, partition):
    """The client library's own reading ends the process here, with a segmentation fault."""
    groups = [f"{partition.topic}-{number}" for number in range(12)]
    with ClusterClient(whole.connection, timeout_s=20) as client:
        for group in groups:
            eventually(lambda group=group: is_set(client, group, partition), 20)
        expected = {group: {partition: CommittedOffset(5)} for group in groups}

        def all_are_read() -> bool:
            with contextlib.suppress(ClusterFault):
                return read_committed_offsets(client, groups) == expected
            return False

        for number in (1, 2):
            whole.node(number).kill()
            # Nobody coordinates the groups of a dead broker before the cluster has noticed it.
            eventually(all_are_read, 60)
            whole.start_nodes()
            whole.wait_until_serving()
            eventually(lambda: all_lead_again(client), 60)
            # Whoever coordinated them meanwhile is asked first, and refuses.
            eventually(all_are_read, 60)


async def test_a_transaction_survives_the_death_of_its_coordinator(whole, partition):
    name = f"survivor-{partition.topic}"
    async with opened(whole.connection, timing=IMPATIENT) as door:
        (one,) = await fetch_all(door, partition)
        target = TopicPartition(new_topic(whole), 0)
        # It must not end by itself before there is another coordinator.
        me = await init_producer_id(door, name, transaction_timeout_ms=600_000)
        mine = claimed(one, me, 0, is_transactional=True)
        assert (await write(door, target, mine, transactional_id=name)).error is None
        whole.node(door.coordinators[name]).kill()
        following = await end_txn(door, name, me, commit=True, budget_s=60 * PATIENCE)
        assert following.producer_epoch > me.producer_epoch
        await settle(door, target)
    whole.start_nodes()
    whole.wait_until_serving()
    assert len(read_all(whole, target.topic)) == COUNT
