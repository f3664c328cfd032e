"""When a transaction is ended: a broker leaves the marker out where nobody leads, and it is told again."""

import asyncio
import time

import pytest

from jobs.cluster.admin.topics import NewTopicSpec, create_topics
from jobs.cluster.client import ClusterClient
from jobs.cluster.descriptions import TopicPartition
from jobs.cluster.protocol.cluster import RawCluster
from jobs.cluster.protocol.data.transactions import init_producer_id
from jobs.cluster.protocol.errors import LeaderMoved
from jobs.cluster.protocol.metadata_propagation import topic_everywhere
from jobs.replication.copy.batches.produce.delivery import (
    Delivery,
    ProducerSettings,
    UnfinishedTransaction,
)
from jobs.replication.copy.batches.produce.produce_request import produce_until_acknowledged
from jobs.replication.copy.batches.produce.transaction_markers import TransactionCompletion
from jobs.replication.copy.fencing import fence_slot, transactional_id
from jobs.replication.flow.spec import FlowSpec
from jobs.wire.batches.records import PlacedRecord, encode_batch
from tests.live.cluster_protocol.raw import follow
from tests.live.knowing import wait_until_known
from tests.live.records import read_all
from tests.support import wait_until

pytestmark = [pytest.mark.live, pytest.mark.timeout(900)]
WHERE = TopicPartition("one-copy", 0)
NOW_MS = int(time.time() * 1000)
# Longer than it takes to stop and start a broker, however busy the machine is.
OPEN_MS = 600_000


@pytest.fixture
def lab(small_lab):
    """Three nodes, and a topic of which there is one copy."""
    lab = small_lab("hurt", nodes=3)
    connection = lab.cluster("hurt").connection
    with ClusterClient(connection, timeout_s=60) as client:
        create_topics(client, {WHERE.topic: NewTopicSpec(1, 1)})
    wait_until_known(connection, WHERE.topic)
    asyncio.run(make_coordinators(connection))
    return lab


async def make_coordinators(connection) -> None:
    """Use a first transactional id: who begins later does not wait for the topic of all of them."""
    async with RawCluster(connection, client_id="test") as cluster:
        await init_producer_id(cluster, "the-first", budget_s=180)


async def write(target: RawCluster, name: str) -> tuple[Delivery, int]:
    """Open a transaction with one record; returns it and who leads the partition."""
    settings = ProducerSettings(name, OPEN_MS)
    delivery = Delivery(target, settings, unfinished=UnfinishedTransaction())
    await delivery.begin()
    return delivery, await add(target, delivery, b"held")


async def add(target: RawCluster, delivery: Delivery, value: bytes) -> int:
    """Write one record more; returns who leads the partition."""
    batch = encode_batch([PlacedRecord(0, NOW_MS, None, value)])
    claimed = {WHERE: delivery.claim(WHERE, memoryview(batch))}

    async def attempt() -> int:
        leader = (await target.metadata([WHERE.topic])).leader(WHERE)
        async for answers in produce_until_acknowledged(
            target, leader or 0, claimed, delivery.transactional_id
        ):
            for fault in [one.error for one in answers.values() if one.error is not None]:
                raise fault
        return leader

    # A broker may be told of as the leader a moment before it is one.
    return await follow(target, WHERE, attempt)


async def end_without_marker(
    lab, target, delivery, leader, *, commit: bool
) -> TransactionCompletion:
    """End a transaction in the moment in which its partition has no leader, as a race would."""
    await asyncio.to_thread(go_away, lab, leader)
    ends = TransactionCompletion(target, delivery.transactional_id, delivery.identity)
    await ends.end(commit=commit)
    await ends.completed()
    await asyncio.to_thread(come_back, lab, leader)
    return ends


def go_away(lab, leader: int) -> None:
    """Stop who leads, and wait until every other broker knows that nobody does."""
    lab.node(f"hurt-{leader}").stop()
    connection = lab.cluster("hurt").connection
    wait_until(lambda: asyncio.run(is_led_by_nobody(connection)), 30)


async def is_led_by_nobody(connection) -> bool:
    async with RawCluster(connection, client_id="test") as cluster:
        known = (await topic_everywhere(cluster, WHERE.topic)).values()
    leaders = [part.leader for topic in known for part in topic.partitions.values()]
    return bool(leaders) and leaders == [None] * len(leaders)


def come_back(lab, leader: int) -> None:
    lab.node(f"hurt-{leader}").start()
    wait_until_known(lab.cluster("hurt").connection, WHERE.topic)


def test_a_commit_waits_while_nobody_leads_what_it_wrote_to(lab):
    hurt = lab.cluster("hurt")

    async def commit_twice() -> None:
        async with RawCluster(hurt.connection, client_id="test") as target:
            delivery, leader = await write(target, "waits")
            await asyncio.to_thread(go_away, lab, leader)
            with pytest.raises(LeaderMoved, match="Nobody leads one-copy-0"):
                await delivery.commit()
            await asyncio.to_thread(come_back, lab, leader)
            await delivery.commit()

    asyncio.run(commit_twice())
    assert [record.value for record in read_all(hurt, WHERE.topic)] == [b"held"]


@pytest.mark.campaign("faults")
def test_who_takes_over_waits_while_nobody_leads_what_the_one_before_wrote_to(lab):
    hurt = lab.cluster("hurt")
    flow = FlowSpec("waits", hurt.connection, hurt.connection, (WHERE.topic,))

    async def leave_open() -> int:
        async with RawCluster(hurt.connection, client_id="test") as target:
            return (await write(target, transactional_id(flow, 0)))[1]

    leader = asyncio.run(leave_open())
    go_away(lab, leader)
    with pytest.raises(LeaderMoved, match="Nobody leads one-copy-0"):
        fence_slot(flow, 0)
    come_back(lab, leader)
    fence_slot(flow, 0)
    assert read_all(hurt, WHERE.topic) == []


@pytest.mark.parametrize(
    "commit",
    [
        pytest.param(True, id="committed"),
        pytest.param(False, id="aborted", marks=pytest.mark.campaign("faults")),
    ],
)
def test_an_end_that_missed_a_partition_is_told_again_before_anything_follows(lab, commit):
    """The answer to the end was lost; who goes on finds out how it was decided."""
    hurt = lab.cluster("hurt")

    async def go_on() -> None:
        async with RawCluster(hurt.connection, client_id="test") as target:
            left = UnfinishedTransaction({WHERE})
            delivery, leader = await write(target, "told-again")
            await end_without_marker(lab, target, delivery, leader, commit=commit)
            again = Delivery(target, ProducerSettings("told-again"), delivery.identity, left)
            await again.begin()
            assert not left.partitions
            await add(target, again, b"next")
            await again.commit()

    asyncio.run(go_on())
    values = [record.value for record in read_all(hurt, WHERE.topic)]
    assert values == ([b"held", b"next"] if commit else [b"next"])


def test_a_commit_stays_one_although_a_try_to_go_on_left_an_abort_of_nothing(lab):
    """Who goes on aborts first, to be told whether it was fenced; then the coordinator went away."""
    hurt = lab.cluster("hurt")

    async def go_on_twice() -> None:
        async with RawCluster(hurt.connection, client_id="test") as target:
            left = UnfinishedTransaction({WHERE}, is_committed=True)
            delivery, leader = await write(target, "tried-twice")
            ends = await end_without_marker(lab, target, delivery, leader, commit=True)
            await ends.end(commit=False)
            again = Delivery(target, ProducerSettings("tried-twice"), ends.identity, left)
            await again.begin()

    asyncio.run(go_on_twice())
    assert [record.value for record in read_all(hurt, WHERE.topic)] == [b"held"]


def test_an_end_that_reached_everything_is_not_told_again(lab, caplog):
    hurt = lab.cluster("hurt")

    async def write_twice() -> None:
        async with RawCluster(hurt.connection, client_id="test") as target:
            delivery, _ = await write(target, "once")
            await delivery.commit()
            await add(target, delivery, b"next")
            await delivery.commit()

    asyncio.run(write_twice())
    assert "again" not in caplog.text
    assert [record.value for record in read_all(hurt, WHERE.topic)] == [b"held", b"next"]
