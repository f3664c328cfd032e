"""When a transaction is ended: a broker leaves the marker out where nobody leads, and it is told again."""

import asyncio
import time
import uuid

import pytest

from jobs.cluster.admin.metadata_propagation import topic_everywhere
from jobs.cluster.admin.topics import NewTopicSpec, create_topics
from jobs.cluster.client import ClusterClient
from jobs.cluster.descriptions import TopicPartition
from jobs.cluster.protocol.cluster import RawCluster
from jobs.cluster.protocol.data.transactions import init_producer_id
from jobs.cluster.protocol.errors import LeaderMoved
from jobs.lab.lab import Lab
from jobs.lab.plan import ClusterPlan
from jobs.lab.ports import find_base_port
from jobs.replication.copy.batches.markers import (
    TransactionCompletion,
    fence_slot,
    transactional_id,
)
from jobs.replication.copy.batches.produce import produce_until_acknowledged
from jobs.replication.copy.batches.transactions import (
    Delivery,
    ProducerSettings,
    UnfinishedTransaction,
)
from jobs.replication.flow.spec import FlowSpec
from jobs.wire.batches.records import PlacedRecord, encode_batch
from tests.live.records import read_all
from tests.live.topics import wait_until_known
from tests.live.whole_batches import follow
from tests.waiting import eventually

pytestmark = pytest.mark.timeout(900)
NOW_MS = int(time.time() * 1000)
# Longer than it takes to stop and start a broker, however busy the machine is.
OPEN_MS = 600_000


class Hurt:
    """Three nodes that stop and come back, and a partition of which there is one copy."""

    def __init__(self, lab: Lab, topic: str) -> None:
        self.lab = lab
        self.cluster = lab.cluster("hurt")
        self.connection = self.cluster.connection
        self.where = TopicPartition(topic, 0)

    def values(self) -> list[bytes | None]:
        return [record.value for record in read_all(self.cluster, self.where.topic)]


@pytest.fixture(scope="module")
def three_nodes(kafka, tmp_path_factory):
    def plans(base_port: int) -> list[ClusterPlan]:
        return [ClusterPlan("hurt", 3, base_port)]

    with Lab(tmp_path_factory.mktemp("hurt"), plans(find_base_port(plans)), jvm=kafka) as lab:
        asyncio.run(make_coordinators(lab.cluster("hurt").connection))
        yield lab


@pytest.fixture
def hurt(three_nodes):
    """All nodes as they were before, and a partition for this test alone."""
    for node in three_nodes.cluster("hurt").nodes.values():
        node.start()
    found = Hurt(three_nodes, f"one-copy-{uuid.uuid4().hex[:8]}")
    with ClusterClient(found.connection, timeout_s=60) as client:
        create_topics(client, {found.where.topic: NewTopicSpec(1, 1)})
    wait_until_known(found.connection, found.where.topic)
    return found


async def make_coordinators(connection) -> None:
    """Use a first transactional id: who begins later does not wait for the topic of all of them."""
    async with RawCluster(connection, client_id="test") as cluster:
        await init_producer_id(cluster, "the-first", budget_s=180)


async def write(target: RawCluster, where: TopicPartition, name: str) -> tuple[Delivery, int]:
    """Open a transaction with one record; returns it and who leads the partition."""
    settings = ProducerSettings(name, OPEN_MS)
    delivery = Delivery(target, settings, unfinished=UnfinishedTransaction())
    await delivery.begin()
    return delivery, await add(target, where, delivery, b"held")


async def add(target: RawCluster, where: TopicPartition, delivery: Delivery, value: bytes) -> int:
    """Write one record more; returns who leads the partition."""
    batch = encode_batch([PlacedRecord(0, NOW_MS, None, value)])
    claimed = {where: delivery.claim(where, memoryview(batch))}

    async def attempt() -> int:
        leader = (await target.metadata([where.topic])).leader(where)
        async for answers in produce_until_acknowledged(
            target, leader or 0, claimed, delivery.transactional_id
        ):
            for fault in [one.error for one in answers.values() if one.error is not None]:
                raise fault
        return leader

    # A broker may be told of as the leader a moment before it is one.
    return await follow(target, where, attempt)


async def end_without_marker(
    hurt: Hurt, target, delivery, leader, *, commit: bool
) -> TransactionCompletion:
    """End a transaction in the moment in which its partition has no leader, as a race would."""
    await asyncio.to_thread(go_away, hurt, leader)
    ends = TransactionCompletion(target, delivery.transactional_id, delivery.identity)
    await ends.end(commit=commit)
    await ends.completed()
    await asyncio.to_thread(come_back, hurt, leader)
    return ends


def go_away(hurt: Hurt, leader: int) -> None:
    """Stop who leads, and wait until every other broker knows that nobody does."""
    hurt.lab.node(f"hurt-{leader}").stop()
    eventually(lambda: asyncio.run(is_led_by_nobody(hurt)), 30)


async def is_led_by_nobody(hurt: Hurt) -> bool:
    async with RawCluster(hurt.connection, client_id="test") as cluster:
        known = (await topic_everywhere(cluster, hurt.where.topic)).values()
    leaders = [part.leader for topic in known for part in topic.partitions.values()]
    return bool(leaders) and leaders == [None] * len(leaders)


def come_back(hurt: Hurt, leader: int) -> None:
    hurt.lab.node(f"hurt-{leader}").start()
    wait_until_known(hurt.connection, hurt.where.topic)


def test_a_commit_waits_while_nobody_leads_what_it_wrote_to(hurt):
    async def commit_twice() -> None:
        async with RawCluster(hurt.connection, client_id="test") as target:
            delivery, leader = await write(target, hurt.where, "waits")
            await asyncio.to_thread(go_away, hurt, leader)
            with pytest.raises(LeaderMoved, match="has no leader"):
                await delivery.commit(await delivery.require_leaders())
            await asyncio.to_thread(come_back, hurt, leader)
            await delivery.commit(await delivery.require_leaders())

    asyncio.run(commit_twice())
    assert hurt.values() == [b"held"]


@pytest.mark.campaign("faults")
def test_who_takes_over_waits_while_nobody_leads_what_the_one_before_wrote_to(hurt):
    flow = FlowSpec("waits", hurt.connection, hurt.connection, (hurt.where.topic,))

    async def leave_open() -> int:
        async with RawCluster(hurt.connection, client_id="test") as target:
            return (await write(target, hurt.where, transactional_id(flow, 0)))[1]

    leader = asyncio.run(leave_open())
    go_away(hurt, leader)
    with pytest.raises(LeaderMoved, match="has no leader"):
        fence_slot(flow, 0)
    come_back(hurt, leader)
    fence_slot(flow, 0)
    assert hurt.values() == []


@pytest.mark.parametrize(
    "commit",
    [
        pytest.param(True, id="committed"),
        pytest.param(False, id="aborted", marks=pytest.mark.campaign("faults")),
    ],
)
def test_an_end_that_missed_a_partition_is_told_again_before_anything_follows(hurt, commit):
    """The answer to the end was lost; who goes on finds out how it was decided."""

    async def go_on() -> None:
        async with RawCluster(hurt.connection, client_id="test") as target:
            left = UnfinishedTransaction({hurt.where})
            delivery, leader = await write(target, hurt.where, "told-again")
            await end_without_marker(hurt, target, delivery, leader, commit=commit)
            again = Delivery(target, ProducerSettings("told-again"), delivery.identity, left)
            await again.begin()
            assert not left.partitions
            await add(target, hurt.where, again, b"next")
            await again.commit(await again.require_leaders())

    asyncio.run(go_on())
    values = hurt.values()
    assert values == ([b"held", b"next"] if commit else [b"next"])


def test_a_commit_stays_one_although_a_try_to_go_on_left_an_abort_of_nothing(hurt):
    """Who goes on aborts first, to be told whether it was fenced; then the coordinator went away."""

    async def go_on_twice() -> None:
        async with RawCluster(hurt.connection, client_id="test") as target:
            left = UnfinishedTransaction({hurt.where}, is_committed=True)
            delivery, leader = await write(target, hurt.where, "tried-twice")
            ends = await end_without_marker(hurt, target, delivery, leader, commit=True)
            await ends.end(commit=False)
            again = Delivery(target, ProducerSettings("tried-twice"), ends.identity, left)
            await again.begin()

    asyncio.run(go_on_twice())
    assert hurt.values() == [b"held"]


def test_a_leader_that_goes_away_after_the_leaders_were_read_is_found_after_the_end(hurt):
    async def commit_in_between() -> None:
        async with RawCluster(hurt.connection, client_id="test") as target:
            delivery, leader = await write(target, hurt.where, "read-before")
            leaders = await delivery.require_leaders()
            await asyncio.to_thread(go_away, hurt, leader)
            with pytest.raises(LeaderMoved, match="has no leader"):
                await delivery.commit(leaders)
            await asyncio.to_thread(come_back, hurt, leader)
            await delivery.begin()
            await add(target, hurt.where, delivery, b"next")
            await delivery.commit(await delivery.require_leaders())

    asyncio.run(commit_in_between())
    assert hurt.values() == [b"held", b"next"]


def test_an_end_that_reached_everything_is_not_told_again(hurt, caplog):
    async def write_twice() -> None:
        async with RawCluster(hurt.connection, client_id="test") as target:
            delivery, _ = await write(target, hurt.where, "once")
            await delivery.commit(await delivery.require_leaders())
            await add(target, hurt.where, delivery, b"next")
            await delivery.commit(await delivery.require_leaders())

    asyncio.run(write_twice())
    assert "again" not in caplog.text
    assert hurt.values() == [b"held", b"next"]
