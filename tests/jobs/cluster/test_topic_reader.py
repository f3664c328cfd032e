"""A topic that is a table: read whole once, later what was added, and again where its log is another one."""

import asyncio

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kio.schema.errors import ErrorCode

from jobs.cluster.descriptions import TopicPartition
from jobs.cluster.protocol.errors import Denied
from jobs.cluster.topic_reader import TopicFollower, read_newest, read_record, read_whole_topic
from tests.jobs.cluster.admin.asking import ask
from tests.jobs.cluster.admin.test_record_ends import PARTS, Log, answering, log_of
from tests.jobs.cluster.protocol import fake_broker
from tests.jobs.cluster.protocol.data.test_offsets import offsets
from tests.jobs.cluster.protocol.fake_broker import FakeBroker, topic


def show(broker: FakeBroker, log: Log, **partition: object) -> None:
    """Let a broker have this log."""
    broker.topics = (topic("orders", {0: 1}, **partition),)
    broker.answers[fake_broker.LIST_OFFSETS] = offsets(offset=log.end)
    broker.answers[fake_broker.FETCH] = answering(log)


class Reader:
    """What a follower gives."""

    def __init__(self, **settings: bool) -> None:
        self.offsets: list[int] = []
        self.begun = 0
        self._follower = TopicFollower("orders", **settings)

    async def read(self, broker: FakeBroker) -> list[int]:
        await ask(broker, lambda client: self._follower.follow(client, self._take, self._forget))
        return self.offsets

    def _take(self, record) -> None:
        self.offsets.append(record.offset)

    def _forget(self) -> None:
        self.offsets.clear()
        self.begun += 1


@settings(max_examples=25, deadline=None)
@given(parts=PARTS, more=PARTS, data=st.data())
def test_each_committed_record_is_given_once_over_two_readings(parts, more, data):
    first, both = log_of(parts), log_of(parts + more)

    async def twice():
        reader = Reader()
        async with FakeBroker() as broker:
            show(broker, first)
            await reader.read(broker)
            show(broker, both)
            return await reader.read(broker), reader.begun

    offsets, begun = asyncio.run(twice())
    assert (offsets, begun) == ([offset for offset, _ in both.committed], 1)


LONG, SHORT = log_of([("plain", 4, 0), ("committed", 3, 0)]), log_of([("plain", 2, 0)])


async def test_a_log_that_was_cut_is_read_again():
    reader = Reader()
    async with FakeBroker() as broker:
        show(broker, LONG)
        assert len(await reader.read(broker)) == 7
        show(broker, SHORT)
        assert await reader.read(broker) == [0, 1]
    assert reader.begun == 2


@pytest.mark.parametrize(
    ("trusts", "begun"),
    [
        pytest.param(True, 1, id="elections are clean"),
        pytest.param(False, 2, id="an election may have cut the log"),
    ],
)
async def test_after_an_election_all_is_read_again_where_that_is_wanted(trusts, begun):
    reader = Reader(trusts_elections=trusts)
    async with FakeBroker() as broker:
        show(broker, LONG, epoch=1)
        await reader.read(broker)
        show(broker, LONG, epoch=2)
        assert len(await reader.read(broker)) == 7
    assert reader.begun == begun


async def test_a_topic_that_may_not_be_read_says_so_at_once():
    async with FakeBroker() as broker:
        show(broker, LONG)
        answer = answering(LONG)

        def refused(asked):
            found = answer(asked)
            (one,) = found.responses
            (partition,) = one.partitions
            object.__setattr__(partition, "error_code", ErrorCode.topic_authorization_failed)
            object.__setattr__(partition, "records", None)
            return found

        broker.answers[fake_broker.FETCH] = refused
        with pytest.raises(Denied):
            await ask(broker, lambda client: read_whole_topic(client, "orders", lambda _: None))


async def newest(log: Log, most: int, most_bytes: int = 1 << 20):
    async with FakeBroker() as broker:
        show(broker, log)
        return await ask(
            broker,
            lambda client: read_newest(client, "orders", most, budget_s=10, most_bytes=most_bytes),
        )


async def test_the_newest_records_of_a_topic_are_read_newest_first():
    found = await newest(log_of([("plain", 40, 0), ("committed", 3, 0)]), 5)
    offsets = [record.offset for record in found.records]
    assert offsets == sorted(offsets, reverse=True)
    assert offsets[0] == 42
    assert not found.is_cut


async def test_reading_of_the_newest_records_ends_at_its_bytes():
    found = await newest(log_of([("plain", 40, 0)]), 20, most_bytes=1)
    assert found.is_cut
    assert len(found.records) < 20


@pytest.mark.parametrize(
    ("partition", "offset", "expected"),
    [
        pytest.param(0, 3, [3], id="plain"),
        pytest.param(0, 8, [], id="compacted"),
        pytest.param(0, 11, [11], id="committed"),
        pytest.param(0, 15, [], id="mark-of-a-transaction"),
        pytest.param(0, 20, [], id="aborted"),
        pytest.param(0, 10**30, [], id="behind-the-end"),
        pytest.param(9, 0, None, id="no-partition"),
    ],
)
async def test_the_record_at_an_offset_is_read_where_it_is_there(partition, offset, expected):
    log = log_of([("plain", 10, 2), ("committed", 5, 0), ("aborted", 9, 0)])
    async with FakeBroker() as broker:
        show(broker, log)
        where = TopicPartition("orders", partition)
        found = await ask(broker, lambda client: read_record(client, where, offset))
    assert (found and [one.offset for one in found.records]) == expected
