"""A client in a rack is sent to the replica there (KIP-392)."""

import pytest

from jobs.cluster.descriptions import TopicPartition
from tests.live.records import produce
from tests.live.topics import new_topic
from tests.live.whole_batches import fetch_at, follow, opened

SELECTOR = "org.apache.kafka.common.replica.RackAwareReplicaSelector"


@pytest.fixture
def racks(small_lab):
    lab = small_lab(
        "racks", nodes=2, racks=("dc-a", "dc-b"), overrides={"replica.selector.class": SELECTOR}
    )
    return lab.cluster("racks")


async def test_a_client_is_sent_to_the_replica_in_its_rack(racks):
    where = TopicPartition(new_topic(racks), 0)
    produce(racks, where.topic, 10)
    async with opened(racks.connection) as anywhere:
        metadata = await anywhere.metadata([where.topic])
        leader = metadata.leader(where)
        other = next(n for n in metadata.brokers if n != leader)
        assert (await fetch_at(anywhere, where)).preferred_read_replica is None
    async with opened(racks.connection, rack=metadata.brokers[other].rack) as nearby:
        # The replica may not be in sync at first, and it hears of what is committed a moment later.
        async def is_sent():
            one = await fetch_at(nearby, where)
            return None if one.preferred_read_replica is None else one

        async def is_read():
            one = await fetch_at(nearby, where, broker_id=other)
            return one if one.error is not None or len(one.records) else None

        sent = await follow(nearby, where, is_sent)
        read = await follow(nearby, where, is_read)
    assert sent.preferred_read_replica == other
    assert len(sent.records) == 0
    assert read.error is None
    assert len(read.records) > 0
    async with opened(racks.connection, rack=metadata.brokers[leader].rack) as at_leader:
        assert len((await fetch_at(at_leader, where)).records) > 0
