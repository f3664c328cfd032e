"""A flow copies exactly once while a broker of its source is killed and comes back."""

import pytest

from tests.live.mirror_maker.mirrored import produce_transactions
from tests.live.records import SteadyProducer, read_all
from tests.live.topics import ends_of

pytestmark = pytest.mark.journey
PARTITIONS = 3


def test_every_record_is_copied_once_and_in_order_while_a_source_broker_is_killed(world):
    topic, paid = world.topic("exact", PARTITIONS), world.topic("exact-paid")
    with world.flow(f"{topic}|{paid}", name=topic) as flow:
        flow.topic = topic
        with SteadyProducer(world.east, topic, PARTITIONS) as writer:
            flow.wait_for_positions(dict.fromkeys(range(PARTITIONS), 100))
            world.east.node(world.partition(topic).leader).kill()
            beyond = writer.written + 300
            produce_transactions(world.east, paid, 9)
            flow.wait_for_positions(dict.fromkeys(range(PARTITIONS), beyond))
            world.start_all()
        flow.wait_for_positions(ends_of(world.east, topic))
        flow.topic = paid
        flow.wait_for_positions(ends_of(world.east, paid))
        for name in (topic, paid):
            written, copied = read_all(world.east, name), read_all(world.west, f"east.{name}")
            assert len(copied) > 0
            assert copied == written
