"""Whole batches leave a real cluster and enter another one as they are."""

import pytest

from jobs.cluster.descriptions import TopicPartition
from jobs.cluster.protocol.data.fetch import LeaderHint, fetch
from jobs.cluster.protocol.data.produce import produce
from jobs.cluster.protocol.data.transactions import init_producer_id
from jobs.cluster.protocol.errors import BatchRefused, BatchTooLarge, OutOfSequence
from tests.jobs.cluster.protocol.batches import batch, claimed, fields_of
from tests.live.records import Record, read_all
from tests.live.records import produce as produce_records
from tests.live.records import write as write_records
from tests.live.topics import new_topic
from tests.live.whole_batches import (
    LIMITS,
    data_of,
    fetch_all,
    fetch_at,
    next_offset,
    opened,
    position,
    write,
)

CODECS = ["none", "gzip", "snappy", "lz4", "zstd"]
TEXT = b"the same words again and again, " * 20
RECORDS = [
    Record(0, b"key-%d" % n, TEXT + b"%d" % n, [("h", b"%d" % n), ("nothing", None)], 1000 + n)
    for n in range(300)
] + [Record(0, None, b"", None, 5000), Record(0, b"tombstone", None, None, 5001)]


@pytest.mark.parametrize("codec", CODECS)
async def test_batches_of_every_codec_arrive_as_they_left(east, west, codec):
    there, here = (TopicPartition(new_topic(cluster), 0) for cluster in (east, west))
    write_records(east, there.topic, RECORDS, **{"compression.type": codec})
    async with opened(east.connection) as source, opened(west.connection) as target:
        batches = await fetch_all(source, there)
        for one in batches:
            assert (await write(target, here, claimed(one))).error is None
        arrived = await fetch_all(target, here)
    assert [fields_of(one)[5] & 7 for one in batches] == [CODECS.index(codec)] * len(batches)
    assert [bytes(one[61:]) for one in arrived] == [bytes(one[61:]) for one in batches]
    assert read_all(west, here.topic) == read_all(east, there.topic) == RECORDS


async def test_many_partitions_are_read_and_written_at_once(east, west):
    there, here = (new_topic(cluster, 6) for cluster in (east, west))
    for n in range(6):
        produce_records(east, there, 50, n)
    async with opened(east.connection) as source, opened(west.connection) as target:
        metadata = await source.metadata([there])
        batches = {}
        for broker_id in metadata.brokers:
            places = [TopicPartition(there, n) for n in range(6)]
            mine = [where for where in places if metadata.leader(where) == broker_id]
            positions = [await position(source, where) for where in mine]
            answer = await fetch(source, broker_id, positions, LIMITS)
            assert set(answer.partitions) == set(mine)
            for where, one in answer.partitions.items():
                batches[TopicPartition(here, where.partition)] = claimed(one.records)
        await target.metadata([here])
        done = await produce(target, 1, batches, transactional_id=None, timeout_ms=10_000)
    assert {where: one.base_offset for where, one in done.partitions.items()} == dict.fromkeys(
        batches, 0
    )
    assert read_all(west, here) == read_all(east, there)


async def test_a_batch_that_is_sent_twice_is_written_once(west):
    where = TopicPartition(new_topic(west), 0)
    async with opened(west.connection) as cluster:
        me = await init_producer_id(cluster, None)
        source = TopicPartition(new_topic(west), 0)
        produce_records(west, source.topic, 10, **{"linger.ms": 500})
        (one,) = await fetch_all(cluster, source)
        for _ in range(2):
            assert (await write(cluster, where, claimed(one, me, 0))).base_offset == 0
        assert (await write(cluster, where, claimed(one, me, 10))).base_offset == 10
        assert type((await write(cluster, where, claimed(one, me, 25))).error) is OutOfSequence
    assert len(read_all(west, where.topic)) == 20


async def test_a_damaged_batch_is_refused_and_named(west):
    where = TopicPartition(new_topic(west), 0)
    async with opened(west.connection) as cluster:
        error = (await write(cluster, where, batch(b"not what the CRC says"))).error
    assert type(error) is BatchRefused
    assert "CORRUPT_MESSAGE" in error.message
    assert str(where) in error.message


async def test_a_record_that_the_topic_does_not_take_is_told_by_its_place(west):
    where = TopicPartition(new_topic(west, cleanup_policy="compact"), 0)
    source = TopicPartition(new_topic(west), 0)
    both = [Record(0, b"k", b"v"), Record(0, None, b"v")]
    write_records(west, source.topic, both, **{"linger.ms": 500})
    async with opened(west.connection) as cluster:
        (one,) = await fetch_all(cluster, source)
        done = await write(cluster, where, claimed(one))
    assert type(done.error) is BatchRefused
    assert [error.batch_index for error in done.record_errors] == [1]


async def test_a_batch_that_is_too_large_is_named(west):
    where = TopicPartition(new_topic(west, max_message_bytes="1000"), 0)
    source = TopicPartition(new_topic(west), 0)
    write_records(west, source.topic, [Record(0, b"k", b"v" * 5000)])
    async with opened(west.connection) as cluster:
        (one,) = await fetch_all(cluster, source)
        assert type((await write(cluster, where, claimed(one))).error) is BatchTooLarge


async def test_the_brokers_time_is_told_where_the_topic_keeps_it(west):
    where = TopicPartition(new_topic(west, message_timestamp_type="LogAppendTime"), 0)
    source = TopicPartition(new_topic(west), 0)
    write_records(west, source.topic, [Record(0, b"k", b"v", None, 1000)])
    async with opened(west.connection) as cluster:
        (one,) = await fetch_all(cluster, source)
        done = await write(cluster, where, claimed(one))
    assert read_all(west, where.topic)[0].timestamp_ms == done.log_append_time_ms


async def test_reading_from_the_middle_of_a_batch_returns_the_whole_batch(west):
    where = TopicPartition(new_topic(west), 0)
    produce_records(west, where.topic, 10, **{"linger.ms": 500})
    async with opened(west.connection) as cluster:
        (whole,) = await fetch_all(cluster, where)
        one = await fetch_at(cluster, where, next_offset(whole) - 3)
    assert bytes(one.records) == bytes(whole)


async def test_one_batch_is_returned_even_when_it_is_larger_than_the_limits(west):
    where = TopicPartition(new_topic(west), 0)
    write_records(west, where.topic, [Record(0, b"k", b"v" * 500_000)])
    async with opened(west.connection) as cluster:
        limits = LIMITS._replace(max_bytes=1000)
        one = await fetch_at(cluster, where, limits=limits, max_bytes=1000)
    assert len(one.records) > 500_000


async def test_a_broker_that_does_not_lead_says_who_does(east):
    where = TopicPartition(new_topic(east), 0)
    async with opened(east.connection) as cluster:
        metadata = await cluster.metadata([where.topic])
        known = metadata.partition(where)
        other = next(n for n in metadata.brokers if n != known.leader)
        (one,) = data_of([]) or [batch(b"whatever")]
        done = await produce(cluster, other, {where: one}, transactional_id=None, timeout_ms=5000)
    refused = done.partitions[where]
    assert refused.error.error == "NOT_LEADER_OR_FOLLOWER"
    assert refused.current_leader == LeaderHint(known.leader, known.leader_epoch)
