"""What all brokers know of a topic: one that is behind counts, one that does not answer does not."""

import pytest

from jobs.cluster.admin.metadata_propagation import is_led_everywhere, topic_everywhere
from jobs.cluster.errors import ClusterFault
from tests.jobs.cluster.protocol.fake_broker import topic
from tests.jobs.cluster.protocol.fake_cluster import brokers, cluster_of

LED = topic("orders", {0: 1, 1: 2})


@pytest.mark.parametrize(
    "behind",
    [
        pytest.param((), id="the topic is not known"),
        pytest.param((topic("orders", {0: 1, 1: -1}),), id="a partition has no leader"),
    ],
)
async def test_a_broker_that_is_behind_is_waited_for(behind):
    async with brokers(2) as (one, two), cluster_of(one, two) as cluster:
        one.topics, two.topics = (LED,), behind
        assert not await is_led_everywhere(cluster, "orders")
        two.topics = (LED,)
        assert await is_led_everywhere(cluster, "orders")
        assert set(await topic_everywhere(cluster, "orders")) == {1, 2}


async def test_a_broker_that_is_down_is_not_waited_for():
    async with brokers(2) as (one, two), cluster_of(one, two) as cluster:
        one.topics = two.topics = (LED,)
        await two.stop()
        assert await is_led_everywhere(cluster, "orders")


async def test_without_any_broker_it_is_a_fault():
    async with brokers(1) as (one,), cluster_of(one) as cluster:
        await one.stop()
        with pytest.raises(ClusterFault):
            await is_led_everywhere(cluster, "orders")
