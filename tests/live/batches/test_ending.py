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
from jobs.wire.records import PlacedRecord, encode_batch
from tests.live.knowing import wait_until_known
from tests.live.records import read_all

pytestmark = [pytest.mark.live, pytest.mark.timeout(240)]
NOW_MS = int(time.time() * 1000)


def test_a_commit_waits_while_nobody_leads_what_it_wrote_to(small_lab):
    lab = small_lab("hurt", nodes=3)
    hurt, where = lab.cluster("hurt"), TopicPartition("one-copy", 0)
    with ClusterClient(hurt.connection) as client:
        create_topics(client, {where.topic: NewTopicSpec(1, 1)})
    wait_until_known(hurt.connection, where.topic)
    batch = encode_batch([PlacedRecord(0, NOW_MS, None, b"held")])

    async def commit_twice() -> None:
        async with RawCluster(hurt.connection, client_id="test") as target:
            delivery = Delivery(target, ProducerSettings("waits"))
            await delivery.begin()
            leader = (await target.metadata([where.topic])).leader(where)
            claimed = {where: delivery.claim(where, memoryview(batch))}
            async for _ in produce_until_taken(target, leader, claimed, "waits"):
                pass
            await asyncio.to_thread(lab.node(f"hurt-{leader}").stop)
            with pytest.raises(LeaderMoved, match="Nobody leads one-copy-0"):
                await delivery.commit()
            await asyncio.to_thread(lab.node(f"hurt-{leader}").start)
            await asyncio.to_thread(wait_until_known, hurt.connection, where.topic)
            await delivery.commit()

    asyncio.run(commit_twice())
    assert [record.value for record in read_all(hurt, where.topic)] == [b"held"]
