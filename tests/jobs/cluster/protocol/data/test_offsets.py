"""Questions to the leaders of partitions: each is queried once, and followed when it moves."""

import pytest
from kio.schema.errors import ErrorCode
from kio.schema.list_offsets.v5 import response as listed

from jobs.cluster.descriptions import TopicPartition
from jobs.cluster.errors import UnknownTopicOrPartition
from jobs.cluster.protocol.data.offsets import (
    EARLIEST,
    EARLIEST_LOCAL,
    LATEST,
    LATEST_TIERED,
    NEWEST,
    ListedOffset,
    list_offsets,
)
from jobs.cluster.protocol.errors import LeaderMoved, VersionNotOffered
from tests.jobs.cluster.protocol import fake_broker
from tests.jobs.cluster.protocol.fake_broker import NOW, topic
from tests.jobs.cluster.protocol.fake_cluster import brokers, cluster_of

FIRST, SECOND = TopicPartition("orders", 0), TopicPartition("orders", 1)


def offsets(error=ErrorCode.none, **fields):
    """Answer every requested partition."""

    def answer(asked):
        return listed.ListOffsetsResponse(
            throttle_time=NOW,
            topics=tuple(
                listed.ListOffsetsTopicResponse(
                    name=one.name,
                    partitions=tuple(
                        listed.ListOffsetsPartitionResponse(
                            partition_index=p.partition_index, error_code=error, **fields
                        )
                        for p in one.partitions
                    ),
                )
                for one in asked.message.topics
            ),
        )

    return answer


async def test_each_leader_is_asked_for_its_partitions():
    async with brokers(2) as (one, two), cluster_of(one) as cluster:
        one.topics = two.topics = (topic("orders", {0: 1, 1: 2}, epoch=6),)
        one.answers[fake_broker.LIST_OFFSETS] = offsets(offset=10, leader_epoch=4)
        two.answers[fake_broker.LIST_OFFSETS] = offsets(offset=20, timestamp=1234)
        found = await list_offsets(cluster, {FIRST: EARLIEST, SECOND: 1200}, read_committed=True)
        assert found == {
            FIRST: ListedOffset(10, None, 4),
            SECOND: ListedOffset(20, 1234, None),
        }
        (request,) = two.of(fake_broker.LIST_OFFSETS)
        (asked,) = request.topics[0].partitions
        assert (asked.partition_index, asked.timestamp, asked.current_leader_epoch) == (1, 1200, 6)
        assert request.isolation_level == 1


async def test_no_record_that_young_has_no_offset():
    async with brokers() as (one,), cluster_of(one) as cluster:
        one.topics = (topic("orders", {0: 1}),)
        one.answers[fake_broker.LIST_OFFSETS] = offsets()
        found = await list_offsets(cluster, {FIRST: 10**13}, read_committed=False)
        assert found == {FIRST: ListedOffset(None, None, None)}


async def test_a_leader_that_moved_is_followed():
    async with brokers(2) as (one, two), cluster_of(one) as cluster:
        one.topics = two.topics = (topic("orders", {0: 1}),)

        def moved(asked):
            one.topics = two.topics = (topic("orders", {0: 2}, epoch=1),)
            return offsets(ErrorCode.not_leader_or_follower)(asked)

        one.answers[fake_broker.LIST_OFFSETS] = moved
        two.answers[fake_broker.LIST_OFFSETS] = offsets(offset=20)
        found = await list_offsets(cluster, {FIRST: LATEST}, read_committed=True)
        assert found[FIRST].offset == 20


async def test_a_broker_that_cannot_be_reached_is_asked_again_with_fresh_metadata():
    async with brokers(2) as (one, two), cluster_of(two) as cluster:
        one.topics = two.topics = (topic("orders", {0: 1}),)
        await cluster.metadata(["orders"])
        await one.stop()
        two.topics = (topic("orders", {0: 2}, epoch=1),)
        two.answers[fake_broker.LIST_OFFSETS] = offsets(offset=20)
        found = await list_offsets(cluster, {FIRST: LATEST}, read_committed=True)
        assert found[FIRST].offset == 20


async def test_a_partition_without_a_leader_is_told_when_the_budget_ends():
    async with brokers() as (one,), cluster_of(one) as cluster:
        one.topics = (topic("orders", {0: -1, 1: 1}),)
        one.answers[fake_broker.LIST_OFFSETS] = offsets(offset=20)
        moments = {FIRST: LATEST, SECOND: LATEST}
        found = await list_offsets(cluster, moments, read_committed=True, budget_s=0.1)
        assert isinstance(found[FIRST], LeaderMoved)
        assert found[SECOND].offset == 20


@pytest.mark.parametrize("where", [SECOND, TopicPartition("no-such", 0)])
async def test_a_partition_that_does_not_exist_is_told(where):
    async with brokers() as (one,), cluster_of(one) as cluster:
        one.topics = (topic("orders", {0: 1}),)
        found = await list_offsets(cluster, {where: LATEST}, read_committed=True, budget_s=0.1)
        assert isinstance(found[where], UnknownTopicOrPartition)


async def test_what_waiting_does_not_mend_is_not_asked_again():
    async with brokers() as (one,), cluster_of(one) as cluster:
        one.topics = (topic("orders", {0: 1}),)
        one.answers[fake_broker.LIST_OFFSETS] = offsets(ErrorCode.topic_authorization_failed)
        found = await list_offsets(cluster, {FIRST: LATEST}, read_committed=True)
        assert found[FIRST].code == "not_authorized"
        assert len(one.of(fake_broker.LIST_OFFSETS)) == 1


@pytest.mark.parametrize(
    ("sign", "newest"),
    [
        pytest.param(NEWEST, 6, id="newest record, before 3.0"),
        pytest.param(EARLIEST_LOCAL, 7, id="local log start, before 3.5"),
        pytest.param(LATEST_TIERED, 8, id="highest tiered offset, before 3.9"),
    ],
)
async def test_brokers_that_would_take_a_sign_for_a_time_are_not_asked(sign, newest):
    async with brokers() as (one,), cluster_of(one) as cluster:
        one.topics = (topic("orders", {0: 1}),)
        one.offered[fake_broker.LIST_OFFSETS] = (1, newest)
        found = await list_offsets(cluster, {FIRST: sign}, read_committed=False)
    assert isinstance(found[FIRST], VersionNotOffered)
    assert one.of(fake_broker.LIST_OFFSETS) == []
