"""When a transaction is ended: a broker leaves the marker out where nobody leads."""

import asyncio
import time

import pytest

from jobs.cluster.client import ClusterClient
from jobs.cluster.descriptions import TopicPartition
from jobs.cluster.raw.cluster import RawCluster
from jobs.cluster.raw.errors import LeaderMoved
from jobs.cluster.topics import NewTopicSpec, create_topics
from jobs.replication.batches.delivery import Delivery, ProducerSettings
from jobs.replication.batches.producing import produce_until_taken
from jobs.replication.fencing import fence_slot, transactional_id
from jobs.replication.flow import FlowSpec
from jobs.wire.records import PlacedRecord, encode_batch
from tests.live.knowing import wait_until_known
from tests.live.records import read_all

pytestmark = [pytest.mark.live, pytest.mark.timeout(240)]
WHERE = TopicPartition("one-copy", 0)
NOW_MS = int(time.time() * 1000)


@pytest.fixture
def lab(small_lab):
    """Three nodes, and a topic of which there is one copy."""
    lab = small_lab("hurt", nodes=3)
    connection = lab.cluster("hurt").connection
    with ClusterClient(connection) as client:
        create_topics(client, {WHERE.topic: NewTopicSpec(1, 1)})
    wait_until_known(connection, WHERE.topic)
    return lab


async def write(target: RawCluster, name: str) -> tuple[Delivery, int]:
    """Open a transaction with one record; returns it and who leads the partition."""
    delivery = Delivery(target, ProducerSettings(name))
    await delivery.begin()
    leader = (await target.metadata([WHERE.topic])).leader(WHERE)
    batch = encode_batch([PlacedRecord(0, NOW_MS, None, b"held")])
    claimed = {WHERE: delivery.claim(WHERE, memoryview(batch))}
    async for _ in produce_until_taken(target, leader, claimed, name):
        pass
    return delivery, leader


def come_back(lab, leader: int) -> None:
    lab.node(f"hurt-{leader}").start()
    wait_until_known(lab.cluster("hurt").connection, WHERE.topic)


def test_a_commit_waits_while_nobody_leads_what_it_wrote_to(lab):
    hurt = lab.cluster("hurt")

    async def commit_twice() -> None:
        async with RawCluster(hurt.connection, client_id="test") as target:
            delivery, leader = await write(target, "waits")
            await asyncio.to_thread(lab.node(f"hurt-{leader}").stop)
            with pytest.raises(LeaderMoved, match="Nobody leads one-copy-0"):
                await delivery.commit()
            await asyncio.to_thread(come_back, lab, leader)
            await delivery.commit()

    asyncio.run(commit_twice())
    assert [record.value for record in read_all(hurt, WHERE.topic)] == [b"held"]


def test_who_takes_over_waits_while_nobody_leads_what_the_one_before_wrote_to(lab):
    hurt = lab.cluster("hurt")
    flow = FlowSpec("waits", hurt.connection, hurt.connection, (WHERE.topic,))

    async def leave_open() -> int:
        async with RawCluster(hurt.connection, client_id="test") as target:
            return (await write(target, transactional_id(flow, 0)))[1]

    leader = asyncio.run(leave_open())
    lab.node(f"hurt-{leader}").stop()
    with pytest.raises(LeaderMoved, match="Nobody leads one-copy-0"):
        fence_slot(flow, 0)
    come_back(lab, leader)
    fence_slot(flow, 0)
    assert read_all(hurt, WHERE.topic) == []
