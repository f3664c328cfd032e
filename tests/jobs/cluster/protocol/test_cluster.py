"""A cluster: found over any of its addresses, read again when it is old, connected once per lane."""

import asyncio
import time
import uuid
from dataclasses import replace

import pytest
from kio.schema.errors import ErrorCode
from kio.schema.metadata.v10.response import MetadataResponseTopic

from jobs.cluster.descriptions import TopicPartition
from jobs.cluster.errors import ClusterFault, ClusterIdChanged, Remedy, TimedOut, Unreachable
from jobs.cluster.protocol.cluster import bootstrap_servers
from jobs.cluster.protocol.errors import (
    BrokerNotKnown,
    ConnectionLost,
    TopicUnknown,
    VersionNotOffered,
)
from jobs.cluster.protocol.transport.apis import LIST_TRANSACTIONS
from jobs.cluster.protocol.transport.connection_pool import FETCH, PRODUCE
from jobs.cluster.protocol.transport.transport_faults import Server
from tests.jobs.cluster.protocol import fake_broker
from tests.jobs.cluster.protocol.fake_broker import PATIENT, QUICK, Hang, topic
from tests.jobs.cluster.protocol.fake_cluster import brokers, cluster_of
from tests.waiting import eventually_async

ORDERS = uuid.uuid4()


async def fault_of(coroutine) -> ClusterFault:
    with pytest.raises(ClusterFault) as caught:
        await coroutine
    return caught.value


async def test_topics_brokers_and_leaders_are_read():
    topic_id = uuid.uuid4()
    async with brokers(2) as (one, two), cluster_of(one) as cluster:
        one.topics = (topic("orders", {0: 1, 1: 2, 2: -1}, topic_id=topic_id, epoch=4),)
        one.rack = "dc-a"
        found = await cluster.metadata(["orders"])
        assert found.cluster_id == "the-cluster"
        assert found.topics["orders"].topic_id == topic_id
        leaders = [found.leader(TopicPartition("orders", n)) for n in range(3)]
        assert leaders == [1, 2, None]
        assert found.partition(TopicPartition("orders", 0)).leader_epoch == 4
        assert (found.brokers[1].rack, found.brokers[2].port) == ("dc-a", two.port)


async def test_one_broker_is_asked_for_its_topics_alone_and_nothing_is_kept():
    where = TopicPartition("orders", 0)
    async with brokers(2) as (one, two), cluster_of(one) as cluster:
        for broker in (one, two):
            broker.topics = (topic("orders", {0: 1}, epoch=5), topic("clicks", {0: 1}))
        known = await cluster.metadata(["orders"])
        two.topics = (topic("orders", {0: -1}, epoch=4),)
        found = await cluster.metadata_from(await cluster.connection_to(2, "test"), ["orders"])
        assert set(found.topics) == {"orders"}
        assert found.leader(where) is None
        assert [t.name for t in two.of(fake_broker.METADATA)[-1].topics] == ["orders"]
        assert await cluster.metadata(["orders"]) is known


async def test_asking_for_a_topic_does_not_create_it():
    async with brokers() as (one,), cluster_of(one) as cluster:
        await cluster.metadata(["orders"])
        assert not one.of(fake_broker.METADATA)[0].allow_auto_topic_creation


async def test_a_topic_that_is_not_there_has_its_fault():
    async with brokers() as (one,), cluster_of(one) as cluster:
        one.topics = (
            MetadataResponseTopic(
                error_code=ErrorCode.unknown_topic_or_partition,
                name="orders",
                topic_id=None,
                partitions=(),
            ),
        )
        found = await cluster.metadata(["orders"])
        assert type(found.topics["orders"].error) is TopicUnknown


async def test_without_topic_ids_a_topic_has_none():
    async with brokers() as (one,), cluster_of(one) as cluster:
        one.offered[fake_broker.METADATA] = (0, 9)
        one.topics = (topic("orders", {0: 1}),)
        assert (await cluster.metadata(["orders"])).topics["orders"].topic_id is None


async def test_a_cluster_is_found_over_any_address_of_the_list():
    async with brokers(3) as (one, two, three):
        await one.stop()
        await two.stop()
        async with cluster_of(one, two, three) as cluster:
            assert (await cluster.metadata()).cluster_id == "the-cluster"


async def test_a_cluster_that_nobody_answers_for_is_unreachable():
    async with brokers(2) as (one, two):
        await one.stop()
        await two.stop()
        async with cluster_of(one, two) as cluster:
            assert type(await fault_of(cluster.metadata())) is Unreachable


async def test_a_broker_that_hangs_costs_its_share_of_time_only():
    async with brokers(2) as (one, two):
        one.answers[fake_broker.METADATA] = Hang
        timing = replace(PATIENT, metadata_timeout_s=4.0, chance=iter(range(99)).__next__)
        async with cluster_of(one, two, timing=timing) as cluster:
            began = time.monotonic()
            await cluster.metadata()
            assert time.monotonic() - began < 20
            await cluster.metadata(newer_than=await cluster.metadata())
            assert len(one.of(fake_broker.METADATA)) == 1


async def test_a_cluster_that_hangs_as_a_whole_is_given_up_in_time():
    async with brokers(2) as (one, two):
        one.answers[fake_broker.METADATA] = two.answers[fake_broker.METADATA] = Hang
        async with cluster_of(one, two, timing=QUICK) as cluster:
            assert isinstance(await fault_of(cluster.metadata()), TimedOut)


async def test_another_cluster_behind_the_same_address_is_refused():
    async with brokers() as (one,), cluster_of(one, cluster_id="another") as cluster:
        fault = await fault_of(cluster.metadata())
        assert type(fault) is ClusterIdChanged
        assert fault.found == "the-cluster"


async def test_what_is_known_and_young_is_not_asked_again():
    async with brokers() as (one,), cluster_of(one) as cluster:
        one.topics = (topic("orders", {0: 1}), topic("others", {0: 1}))
        first = await cluster.metadata(["orders", "others"])
        assert await cluster.metadata(["others"]) is first
        assert len(one.of(fake_broker.METADATA)) == 1


async def test_what_is_old_is_asked_again():
    now = [0.0]
    timing = replace(PATIENT, clock=lambda: now[0], metadata_max_age_s=60)
    async with brokers() as (one,), cluster_of(one, timing=timing) as cluster:
        first = await cluster.metadata()
        now[0] = 59.0
        assert await cluster.metadata() is first
        now[0] = 60.0
        assert await cluster.metadata() is not first


async def test_of_many_that_found_the_metadata_old_one_asks():
    async with brokers() as (one,), cluster_of(one) as cluster:
        old = await cluster.metadata()
        fresh = await asyncio.gather(*(cluster.metadata(newer_than=old) for _ in range(20)))
        assert len({id(found) for found in fresh}) == 1
        assert fresh[0] is not old
        assert len(one.of(fake_broker.METADATA)) == 2


async def test_a_topic_is_asked_for_until_it_is_forgotten():
    async with brokers() as (one,), cluster_of(one) as cluster:
        one.topics = (topic("orders", {0: 1}), topic("others", {0: 1}))
        await cluster.metadata(["orders"])
        await cluster.metadata(["others"])
        cluster.forget(["orders"])
        await cluster.metadata(newer_than=await cluster.metadata())
        asked = [sorted(t.name for t in m.topics) for m in one.of(fake_broker.METADATA)]
        assert asked == [["orders"], ["orders", "others"], ["others"]]


async def test_each_lane_has_one_connection():
    async with brokers() as (one,), cluster_of(one) as cluster:
        lanes = [FETCH, FETCH, PRODUCE, FETCH, PRODUCE]
        found = await asyncio.gather(*(cluster.connection_to(1, lane) for lane in lanes))
        assert found[0] is found[1] is found[3]
        assert found[2] is found[4] is not found[0]


async def test_a_lost_connection_is_opened_again():
    async with brokers() as (one,), cluster_of(one) as cluster:
        first = await cluster.connection_to(1, FETCH)
        first.close()
        second = await cluster.connection_to(1, FETCH)
        assert second is not first
        assert second.is_usable


async def test_those_who_wait_for_the_same_attempt_share_its_fault():
    async with brokers() as (one,), cluster_of(one) as cluster:
        await cluster.metadata()
        one.answers[fake_broker.API_VERSIONS] = fake_broker.Close
        seen = one.connections
        faults = await asyncio.gather(
            *(fault_of(cluster.connection_to(1, FETCH)) for _ in range(10))
        )
        assert len({id(fault) for fault in faults}) == 1
        assert one.connections == seen + 1


async def test_a_fault_of_long_ago_is_not_told_again():
    async with brokers() as (one,), cluster_of(one) as cluster:
        await cluster.metadata()
        one.answers[fake_broker.API_VERSIONS] = fake_broker.Close
        await fault_of(cluster.connection_to(1, FETCH))
        one.answers[fake_broker.API_VERSIONS] = Hang
        seen = one.connections
        first = asyncio.ensure_future(cluster.connection_to(1, FETCH))
        second = asyncio.ensure_future(cluster.connection_to(1, FETCH))
        await eventually_async(lambda: one.connections > seen)
        one.answers[fake_broker.API_VERSIONS] = lambda _: one.versions()
        first.cancel()
        assert (await second).is_usable


async def test_an_attempt_that_is_cancelled_leaves_its_turn_to_the_next():
    async with brokers() as (one,), cluster_of(one) as cluster:
        await cluster.metadata()
        one.answers[fake_broker.API_VERSIONS] = Hang
        first = asyncio.ensure_future(cluster.connection_to(1, FETCH))
        await eventually_async(lambda: one.connections == 2)
        second = asyncio.ensure_future(cluster.connection_to(1, FETCH))
        one.answers[fake_broker.API_VERSIONS] = lambda _: one.versions()
        first.cancel()
        assert (await second).is_usable


async def test_a_broker_that_joined_is_found():
    async with brokers(2) as (one, two), cluster_of(one) as cluster:
        one.brokers = [one]
        await cluster.metadata()
        one.brokers = [one, two]
        assert (await cluster.connection_to(2, FETCH)).server.port == two.port


async def test_a_broker_that_is_not_in_the_cluster_is_named():
    async with brokers() as (one,), cluster_of(one) as cluster:
        fault = await fault_of(cluster.connection_to(7, FETCH))
        assert type(fault) is BrokerNotKnown
        assert "brokers: 1" in fault.message


async def test_connections_to_a_broker_that_left_are_closed():
    async with brokers(2) as (one, two), cluster_of(one) as cluster:
        await cluster.connection_to(2, FETCH)
        one.brokers = two.brokers = [one]
        await cluster.metadata(newer_than=await cluster.metadata())
        await eventually_async(lambda: two.open == 0)


async def test_leaving_the_cluster_closes_every_socket():
    async with brokers(2) as (one, two):
        async with cluster_of(one) as cluster:
            for lane in (FETCH, PRODUCE):
                await cluster.connection_to(1, lane)
                await cluster.connection_to(2, lane)
            assert one.open + two.open == 5
        await eventually_async(lambda: one.open + two.open == 0)


async def test_nothing_is_connected_after_leaving_the_cluster():
    async with brokers() as (one,):
        async with cluster_of(one) as cluster:
            await cluster.metadata()
        assert type(await fault_of(cluster.connection_to(1, FETCH))) is ConnectionLost
        await eventually_async(lambda: one.open == 0)


async def test_cancelling_closes_every_socket():
    async with brokers() as (one,):
        one.answers[fake_broker.FETCH] = Hang

        async def work() -> None:
            async with cluster_of(one) as cluster:
                await cluster.connection_to(1, FETCH)
                await asyncio.Event().wait()

        working = asyncio.ensure_future(work())
        await eventually_async(lambda: one.open == 2)
        working.cancel()
        await asyncio.gather(working, return_exceptions=True)
        await eventually_async(lambda: one.open == 0)


@pytest.mark.parametrize(
    ("features", "offered", "supports"),
    [
        pytest.param({"transaction.version": 2}, (0, 5), True, id="finalized"),
        pytest.param({"transaction.version": 1}, (0, 5), False, id="not finalized"),
        pytest.param({}, (0, 5), False, id="without the feature"),
        pytest.param({"transaction.version": 2}, (0, 4), False, id="an older EndTxn"),
    ],
)
async def test_the_transaction_protocol_is_that_of_the_cluster(features, offered, supports):
    async with brokers() as (one,), cluster_of(one) as cluster:
        one.features, one.offered[fake_broker.END_TXN] = features, offered
        assert await cluster.supports_transactions_v2() is supports


def test_addresses_are_read():
    assert bootstrap_servers("a.example:9092,[::1]:9093") == [
        Server("a.example", 9092),
        Server("::1", 9093),
    ]


async def test_the_client_id_says_whose_it_is():
    async with brokers() as (one,), cluster_of(one) as cluster:
        await cluster.metadata()
        assert {asked.client_id for asked in one.asked} == {"crosslog-test"}


async def list_transactions(connection):
    return connection.version(LIST_TRANSACTIONS.speaks)


class TestARequestThatABrokerLacks:
    """During a rolling upgrade the others have it, or will."""

    async def fault(self, made) -> VersionNotOffered:
        async with cluster_of(*made) as door:
            with pytest.raises(VersionNotOffered) as caught:
                (await door.connection_to(1, PRODUCE)).version(LIST_TRANSACTIONS.speaks)
            await door.compare_brokers(caught.value)
            return caught.value

    async def test_is_final_when_every_broker_lacks_it(self):
        async with brokers(2) as made:
            for one in made:
                del one.offered[fake_broker.LIST_TRANSACTIONS]
            assert (await self.fault(made)).is_final

    async def test_is_retried_while_another_broker_has_it(self):
        async with brokers(3) as made:
            del made[0].offered[fake_broker.LIST_TRANSACTIONS]
            fault = await self.fault(made)
            assert fault.remedy is Remedy.RETRY
            assert fault.message.endswith("Brokers that know it: 2, 3.")
            assert "same version of Kafka" in fault.hint

    async def test_is_retried_while_another_broker_does_not_answer(self):
        async with brokers(2) as made:
            del made[0].offered[fake_broker.LIST_TRANSACTIONS]
            await made[1].stop()
            fault = await self.fault([made[0]])
            assert fault.remedy is Remedy.RETRY
            assert fault.message.endswith("Brokers that did not answer: 2.")

    async def test_is_final_where_another_broker_is_too_old_for_any_request(self):
        async with brokers(2) as made:
            del made[0].offered[fake_broker.LIST_TRANSACTIONS]
            made[1].answers[fake_broker.API_VERSIONS] = replace(
                made[1].versions(), error_code=ErrorCode.unsupported_version
            )
            assert (await self.fault([made[0]])).is_final

    async def test_is_final_where_all_were_asked_for_what_any_can_answer(self):
        async with brokers(2) as made, cluster_of(*made) as door:
            for one in made:
                del one.offered[fake_broker.LIST_TRANSACTIONS]
            fault = await fault_of(door.ask_any(list_transactions))
            assert (type(fault), fault.remedy) == (VersionNotOffered, Remedy.FINAL)

    async def test_is_doubtful_where_one_of_them_does_not_answer(self):
        async with brokers(2) as made, cluster_of(*made) as door:
            del made[0].offered[fake_broker.LIST_TRANSACTIONS]
            await made[1].stop()
            fault = await fault_of(door.ask_any(list_transactions))
            assert (type(fault), fault.remedy) == (VersionNotOffered, Remedy.DOUBTFUL)
