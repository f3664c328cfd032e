"""Where logs begin and end, and what a real broker says of a position that does not fit."""

import uuid

import pytest

from jobs.cluster.client import ClusterClient
from jobs.cluster.descriptions import TopicPartition
from jobs.cluster.protocol.data.fetch import EpochEnd, FetchPosition, fetch
from jobs.cluster.protocol.data.offsets import (
    EARLIEST,
    LATEST,
    ListedOffset,
    list_offsets,
)
from jobs.cluster.protocol.data.transactions import init_producer_id
from jobs.cluster.protocol.errors import LeaderMoved, OffsetOutOfRange, TopicIdUnknown
from tests.jobs.cluster.protocol.batches import claimed
from tests.live.records import Record
from tests.live.records import write as write_records
from tests.live.topics import admin_of, make_topic, new_topic
from tests.live.whole_batches import (
    LIMITS,
    fetch_all,
    fetch_at,
    fetch_once,
    follow,
    opened,
    position,
    write,
)


async def test_the_ends_of_logs_and_moments_in_them_are_found(east):
    topic = new_topic(east, 3)
    for partition, count in ((0, 4), (1, 7)):
        records = [Record(partition, b"k", b"v", None, 1000 * n) for n in range(1, count + 1)]
        write_records(east, topic, records)
    places = [TopicPartition(topic, n) for n in range(3)]
    async with opened(east.connection) as cluster:
        first = await list_offsets(cluster, dict.fromkeys(places, EARLIEST), read_committed=True)
        last = await list_offsets(cluster, dict.fromkeys(places, LATEST), read_committed=True)
        moment = await list_offsets(cluster, dict.fromkeys(places, 2500), read_committed=True)
    assert [first[where].offset for where in places] == [0, 0, 0]
    assert [last[where].offset for where in places] == [4, 7, 0]
    assert [moment[where] for where in places] == [
        ListedOffset(2, 3000, 0),
        ListedOffset(2, 3000, 0),
        ListedOffset(None, None, None),
    ]


async def test_an_open_transaction_holds_the_last_stable_offset(west):
    where, source = (TopicPartition(new_topic(west), 0) for _ in range(2))
    write_records(west, source.topic, [Record(0, b"k", b"v")])
    name = f"open-{uuid.uuid4().hex[:8]}"
    async with opened(west.connection) as cluster:
        me = await init_producer_id(cluster, name)
        (one,) = await fetch_all(cluster, source)
        mine = claimed(one, me, 0, is_transactional=True)
        assert (await write(cluster, where, mine, transactional_id=name)).error is None
        ends = [
            (await list_offsets(cluster, {where: LATEST}, read_committed=only))[where].offset
            for only in (True, False)
        ]
        fetched = await fetch_at(cluster, where)
    assert ends == [0, 1]
    assert (fetched.last_stable_offset, fetched.high_watermark) == (0, 1)
    assert len(fetched.records) == 0


@pytest.mark.parametrize("offset", [-5, 1000])
async def test_an_offset_outside_of_the_log_is_named(west, offset):
    where = TopicPartition(new_topic(west), 0)
    async with opened(west.connection) as cluster:
        one = await fetch_at(cluster, where, offset)
    assert type(one.error) is OffsetOutOfRange
    assert str(offset) in one.error.message


async def test_a_leader_epoch_that_the_broker_does_not_know_is_named(west):
    where = TopicPartition(new_topic(west), 0)
    async with opened(west.connection) as cluster:
        await fetch_at(cluster, where)  # until its leader knows that it leads
        one = await fetch_once(cluster, where, leader_epoch=99)
    assert type(one.error) is LeaderMoved
    assert one.error.error == "UNKNOWN_LEADER_EPOCH"


async def test_a_log_that_parted_from_what_was_read_tells_where(west):
    where = TopicPartition(new_topic(west), 0)
    write_records(west, where.topic, [Record(0, b"k", b"v")] * 3)
    async with opened(west.connection) as cluster:
        # As if six records had been read in epoch 0, of which the log has three.
        one = await fetch_at(cluster, where, 6, last_fetched_epoch=0)
    assert one.diverging_epoch == EpochEnd(0, 3)


async def test_a_topic_that_was_created_again_is_not_the_same(west):
    where = TopicPartition(new_topic(west), 0)
    write_records(west, where.topic, [Record(0, b"k", b"v")])
    async with opened(west.connection) as cluster:
        old = await position(cluster, where)
        metadata = await cluster.metadata([where.topic])
        with ClusterClient(west.connection) as client:
            admin_of(client.connection).delete_topics([where.topic])[where.topic].result(60)

        async def is_gone() -> bool:
            nonlocal metadata
            metadata = await cluster.metadata(newer_than=metadata)
            return metadata.topics[where.topic].error is not None

        await follow(cluster, where, is_gone)
        make_topic(west, where.topic)
        write_records(west, where.topic, [Record(0, b"k", b"another")])
        answer = await fetch(cluster, 1, [old], LIMITS)
        metadata = await cluster.metadata(newer_than=metadata)
        new_id = metadata.topics[where.topic].topic_id
        by_name = await fetch(cluster, 1, [old._replace(topic_id=None)], LIMITS)
    assert type(answer.partitions[where].error) is TopicIdUnknown
    assert new_id != old.topic_id
    # Without its id, nobody notices that it is another topic.
    assert by_name.partitions[where].error is None


async def test_a_partition_that_does_not_exist_is_named(west):
    topic = new_topic(west)
    async with opened(west.connection) as cluster:
        topic_id = (await cluster.metadata([topic])).topics[topic].topic_id
        nowhere = FetchPosition(topic, topic_id, 7, 0)
        answer = await fetch(cluster, 1, [nowhere], LIMITS)
    error = answer.partitions[TopicPartition(topic, 7)].error
    assert error.error in ("UNKNOWN_TOPIC_OR_PARTITION", "UNKNOWN_TOPIC_ID")
