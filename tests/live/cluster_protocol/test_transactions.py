"""Transactions on a real cluster, with both protocols: committed, aborted, and taken over."""

import asyncio
import uuid

import pytest
from kio.schema.update_features.v1.request import FeatureUpdateKey, UpdateFeaturesRequest
from kio.schema.update_features.v1.response import UpdateFeaturesResponse

from jobs.cluster.client import ClusterClient
from jobs.cluster.descriptions import TopicPartition
from jobs.cluster.protocol.data.transaction_list import list_transactions
from jobs.cluster.protocol.data.transactions import (
    ProducerIdentity,
    add_partitions_to_txn,
    end_txn,
    init_producer_id,
)
from jobs.cluster.protocol.errors import ProducerFenced, TransactionFailed
from jobs.cluster.protocol.transport.apis import Api
from tests.jobs.cluster.protocol.batches import claimed
from tests.live.cluster_protocol.test_broken_brokers import all_lead_again
from tests.live.records import produce, read_all
from tests.live.topics import new_topic
from tests.live.whole_batches import data_of, fetch_all, fetch_at, follow, opened, settle, write
from tests.waiting import eventually

COUNT = 10


class Writer:
    """A transactional producer that writes one batch again and again."""

    def __init__(self, cluster, batch, name=None) -> None:
        self.cluster = cluster
        self.batch = batch
        self.name = name or f"writer-{uuid.uuid4().hex[:8]}"
        self.me = ProducerIdentity(-1, -1)
        self.sequences: dict[TopicPartition, int] = {}

    async def start(self) -> None:
        self.me = await init_producer_id(self.cluster, self.name)
        self.sequences = {}

    async def write(self, where):
        if not await self.cluster.supports_transactions_v2():
            await add_partitions_to_txn(self.cluster, self.name, self.me, [where])
        sequence = self.sequences.get(where, 0)
        mine = claimed(self.batch, self.me, sequence, is_transactional=True)
        done = await write(self.cluster, where, mine, transactional_id=self.name)
        self.sequences[where] = sequence + COUNT
        return done

    async def end(self, *, commit: bool) -> None:
        before = self.me
        self.me = await end_txn(self.cluster, self.name, self.me, commit=commit)
        if self.me != before:
            self.sequences = {}


@pytest.fixture
def source(east) -> TopicPartition:
    where = TopicPartition(new_topic(east), 0)
    produce(east, where.topic, COUNT, **{"linger.ms": 500})
    return where


async def one_batch(cluster, where) -> memoryview:
    (one,) = await fetch_all(cluster, where)
    return one


async def commits_and_aborts(connection, cluster, batch, topic) -> None:
    """Commit two, abort one and commit another transaction over two partitions."""
    places = [TopicPartition(topic, n) for n in range(2)]
    async with opened(connection) as door:
        writer = Writer(door, batch)
        await writer.start()
        for commit in (True, True, False, True):
            for where in places:
                assert (await writer.write(where)).error is None
            await writer.end(commit=commit)
        await settle(door, *places)
        read = await fetch_at(door, places[0])
        batches = await fetch_all(door, places[0])
    assert len(read_all(cluster, topic)) == 3 * 2 * COUNT
    assert len(read_all(cluster, topic, isolation="read_uncommitted")) == 4 * 2 * COUNT
    assert [aborted.first_offset for aborted in read.aborted] == [2 * (COUNT + 1)]
    assert (len(batches), len(data_of(batches))) == (8, 4)


async def test_protocol_2_commits_and_aborts(east, source):
    topic = new_topic(east, 2)
    async with opened(east.connection) as door:
        assert await door.supports_transactions_v2()
        batch = await one_batch(door, source)
    await commits_and_aborts(east.connection, east, batch, topic)


async def test_protocol_2_has_a_new_epoch_for_every_transaction(east, source):
    where = TopicPartition(new_topic(east), 0)
    async with opened(east.connection) as door:
        writer = Writer(door, await one_batch(door, source))
        await writer.start()
        epochs = [writer.me.producer_epoch]
        for _ in range(3):
            await writer.write(where)
            await writer.end(commit=True)
            epochs.append(writer.me.producer_epoch)
    assert epochs == [epochs[0] + n for n in range(4)]


async def test_protocol_1_commits_and_aborts(small_lab):
    cluster = small_lab("old-protocol").cluster("old-protocol")
    where = TopicPartition(new_topic(cluster), 0)
    produce(cluster, where.topic, COUNT, **{"linger.ms": 500})
    topic = new_topic(cluster, 2)
    async with opened(cluster.connection) as door:
        await downgrade(door, "transaction.version", 0)
        batch = await one_batch(door, where)
    async with opened(cluster.connection) as door:
        assert not await door.supports_transactions_v2()
    await commits_and_aborts(cluster.connection, cluster, batch, topic)


async def downgrade(door, feature: str, level: int) -> None:
    api = Api(UpdateFeaturesRequest, UpdateFeaturesResponse, 1)
    request = UpdateFeaturesRequest(
        feature_updates=(
            FeatureUpdateKey(feature=feature, max_version_level=level, upgrade_type=2),
        )
    )
    await door.metadata()
    answer = await (await door.connection_to(1, "test")).request(api, request)
    assert not answer.error_code, answer
    assert not any(result.error_code for result in answer.results), answer

    async def is_known() -> bool:
        async with opened(door.connection) as another:
            return not await another.supports_transactions_v2()

    await follow(door, feature, is_known)  # a broker hears of it from the metadata log


async def test_a_zombie_can_neither_write_nor_commit(east, source):
    where = TopicPartition(new_topic(east), 0)
    async with opened(east.connection) as door:
        zombie = Writer(door, await one_batch(door, source))
        await zombie.start()
        await zombie.write(where)
        successor = Writer(door, zombie.batch, zombie.name)
        await successor.start()
        refused = await zombie.write(where)
        with pytest.raises(ProducerFenced, match=zombie.name):
            await zombie.end(commit=True)
        assert (await successor.write(where)).error is None
        await successor.end(commit=True)
        await settle(door, where)
    assert type(refused.error) is ProducerFenced
    assert len(read_all(east, where.topic)) == COUNT


async def test_a_commit_that_is_asked_for_twice_gets_the_same_answer(east, source):
    where = TopicPartition(new_topic(east), 0)
    async with opened(east.connection) as door:
        writer = Writer(door, await one_batch(door, source))
        await writer.start()
        await writer.write(where)
        first = await end_txn(door, writer.name, writer.me, commit=True)
        assert await end_txn(door, writer.name, writer.me, commit=True) == first
        await settle(door, where)
    assert len(read_all(east, where.topic)) == COUNT


async def test_ending_a_transaction_that_was_never_begun_is_named(east, source):
    async with opened(east.connection) as door:
        writer = Writer(door, await one_batch(door, source))
        await writer.start()
        with pytest.raises(TransactionFailed):
            await writer.end(commit=True)


async def test_a_batch_of_a_transaction_that_was_not_begun_is_refused_with_protocol_1(small_lab):
    cluster = small_lab("not-begun").cluster("not-begun")
    where = TopicPartition(new_topic(cluster), 0)
    produce(cluster, where.topic, COUNT, **{"linger.ms": 500})
    async with opened(cluster.connection) as door:
        await downgrade(door, "transaction.version", 0)
        batch = await one_batch(door, where)
        me = await init_producer_id(door, "nobody")
        mine = claimed(batch, me, 0, is_transactional=True)
        assert (await write(door, where, mine, transactional_id="nobody")).error is not None


def lead_again(connection) -> None:
    with ClusterClient(connection, timeout_s=20) as client:
        eventually(lambda: all_lead_again(client, "__transaction_state"), 60)


async def test_every_transactional_id_of_a_flow_is_found(east):
    prefix = f"flow-{uuid.uuid4().hex[:8]}-"
    async with opened(east.connection) as door:
        await init_producer_id(door, f"{prefix}0")
        # Tests before may have killed brokers until one of them coordinated everything.
        await asyncio.to_thread(lead_again, east.connection)
        door.coordinators.clear()
        for n in range(8):
            await init_producer_id(door, f"{prefix}{n}")
        coordinators = set(door.coordinators.values())
        found = await list_transactions(door, prefix)
    assert found == [f"{prefix}{n}" for n in range(8)]
    assert len(coordinators) > 1
