"""Fetch: positions out, records and everything that was said about them in."""

import uuid
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest
from kio.schema.errors import ErrorCode
from kio.schema.fetch.v12 import response as by_name
from kio.schema.fetch.v16 import response as by_id

from jobs.cluster.descriptions import TopicPartition
from jobs.cluster.errors import ClusterFault
from jobs.cluster.protocol.data.fetch import (
    AbortedTransaction,
    EpochEnd,
    FetchPosition,
    FetchSession,
    LeaderHint,
    fetch,
)
from jobs.cluster.protocol.data.fetch_format import FetchLimits
from jobs.cluster.protocol.errors import FaultKind, LeaderMoved, TopicIdUnknown
from jobs.cluster.protocol.transport.primitives import duration
from tests.jobs.cluster.protocol import fake_broker
from tests.jobs.cluster.protocol.fake_cluster import brokers, cluster_of

TOPIC_ID = uuid.uuid4()
ORDERS = TopicPartition("orders", 7)
POSITION = FetchPosition("orders", TOPIC_ID, 7, 42, 5, 4, 1000)
LIMITS = FetchLimits(max_wait_ms=50, min_bytes=1, max_bytes=10_000, read_committed=True)


def partition(**fields):
    standard = {
        "partition_index": 7,
        "error_code": ErrorCode.none,
        "high_watermark": 50,
        "last_stable_offset": 49,
        "log_start_offset": 3,
        "aborted_transactions": (),
        "records": b"batches",
    }
    return by_id.PartitionData(**(standard | fields))


def answer(*partitions, topic_id=TOPIC_ID, error=ErrorCode.none, throttle_ms=0):
    topic = by_id.FetchableTopicResponse(topic_id=topic_id, partitions=partitions)
    return by_id.FetchResponse(
        throttle_time=duration(throttle_ms), error_code=error, responses=(topic,)
    )


async def fetched(given, **settings):
    async with brokers() as (one,), cluster_of(one, **settings) as cluster:
        one.answers[fake_broker.FETCH] = given
        return await fetch(cluster, 1, [POSITION], LIMITS), one


async def test_records_and_offsets_of_a_partition_are_returned():
    found, _ = await fetched(answer(partition(), throttle_ms=70))
    one = found.partitions[ORDERS]
    assert bytes(one.records) == b"batches"
    assert (one.log_start_offset, one.last_stable_offset, one.high_watermark) == (3, 49, 50)
    assert (one.error, one.preferred_read_replica, one.diverging_epoch) == (None, None, None)
    assert found.throttle_ms == 70


async def test_the_request_says_where_how_much_and_from_which_rack():
    _, broker = await fetched(answer(partition()), rack="dc-a")
    (request,) = broker.of(fake_broker.FETCH)
    (asked,) = request.topics[0].partitions
    assert (request.rack_id, request.isolation_level, request.max_bytes) == ("dc-a", 1, 10_000)
    assert request.topics[0].topic_id == TOPIC_ID
    assert (asked.fetch_offset, asked.current_leader_epoch, asked.last_fetched_epoch) == (42, 5, 4)


async def test_what_is_said_about_a_partition_is_returned():
    found, _ = await fetched(
        answer(
            partition(
                aborted_transactions=(by_id.AbortedTransaction(producer_id=9, first_offset=43),),
                preferred_read_replica=3,
                diverging_epoch=by_id.EpochEndOffset(epoch=4, end_offset=40),
                records=None,
            )
        )
    )
    one = found.partitions[ORDERS]
    assert one.aborted == (AbortedTransaction(9, 43),)
    assert one.preferred_read_replica == 3
    assert one.diverging_epoch == EpochEnd(4, 40)
    assert len(one.records) == 0


async def test_an_error_of_a_partition_says_where_and_who_leads_now():
    leader = by_id.LeaderIdAndEpoch(leader_id=2, leader_epoch=6)
    refused = partition(error_code=ErrorCode.not_leader_or_follower, current_leader=leader)
    found, _ = await fetched(answer(refused))
    one = found.partitions[ORDERS]
    assert type(one.error) is LeaderMoved
    assert "orders-7 from offset 42 at broker 1" in one.error.message
    assert one.current_leader == LeaderHint(2, 6)


async def test_a_topic_that_was_created_again_is_named():
    found, _ = await fetched(answer(partition(error_code=ErrorCode.unknown_topic_id)))
    error = found.partitions[ORDERS].error
    assert type(error) is TopicIdUnknown
    assert error.kind is FaultKind.TOPIC_CHANGED


async def test_an_error_of_the_whole_request_is_raised():
    with pytest.raises(ClusterFault, match="INVALID_REQUEST"):
        await fetched(answer(error=ErrorCode.invalid_request))


async def test_a_partition_that_was_not_asked_for_is_left_out():
    found, _ = await fetched(answer(partition(), topic_id=uuid.uuid4()))
    assert not found.partitions


@pytest.mark.parametrize(
    ("offered", "position"),
    [
        pytest.param((4, 12), POSITION, id="a broker without topic ids"),
        pytest.param((4, 18), POSITION._replace(topic_id=None), id="a topic without an id"),
    ],
)
async def test_without_topic_ids_topics_go_by_their_names(offered, position):
    async with brokers() as (one,), cluster_of(one) as cluster:
        one.offered[fake_broker.FETCH] = offered
        topic = by_name.FetchableTopicResponse(topic="orders", partitions=(partition(),))
        one.answers[fake_broker.FETCH] = by_name.FetchResponse(
            throttle_time=duration(0), error_code=ErrorCode.none, responses=(topic,)
        )
        found = await fetch(cluster, 1, [position], LIMITS)
        assert bytes(found.partitions[ORDERS].records) == b"batches"
        assert one.versions_of(fake_broker.FETCH) == [12]


OTHER = POSITION._replace(partition=8)


@asynccontextmanager
async def one_session():
    """Yield a function that asks within one session; it returns the request that was sent."""
    session = FetchSession()
    async with brokers() as (one,), cluster_of(one) as cluster:

        async def ask(*positions, session_id=5, error=ErrorCode.none):
            told = answer(partition(), error=error)
            one.answers[fake_broker.FETCH] = replace(told, session_id=session_id)
            await fetch(cluster, 1, positions, LIMITS, session=session)
            return one.of(fake_broker.FETCH)[-1]

        yield ask


def partitions(request):
    return [one.partition for topic in request.topics for one in topic.partitions]


async def test_a_session_begins_with_every_partition_and_continues_with_those_that_changed():
    async with one_session() as asked:
        first = await asked(POSITION, OTHER)
        second = await asked(OTHER._replace(offset=43))
        third = await asked()
        requests = (first, second, third)
        assert [(one.session_id, one.session_epoch) for one in requests] == [(0, 0), (5, 1), (5, 2)]
        assert [partitions(one) for one in requests] == [[7, 8], [8], []]


@pytest.mark.parametrize(
    ("told", "next_one"),
    [
        pytest.param({"session_id": 0}, (0, 0), id="the broker has no room for one"),
        pytest.param({"error": ErrorCode.fetch_session_id_not_found}, (0, 0), id="not known"),
        pytest.param({"error": ErrorCode.invalid_fetch_session_epoch}, (0, 0), id="another epoch"),
    ],
)
async def test_a_session_that_is_over_begins_again(told, next_one):
    async with one_session() as asked:
        await asked(POSITION)
        await asked(**told)
        request = await asked(POSITION)
        assert (request.session_id, request.session_epoch) == next_one


async def test_a_request_without_an_answer_ends_the_session():
    async with one_session() as asked:
        await asked(POSITION)
        with pytest.raises(ClusterFault):
            await asked(error=ErrorCode.invalid_request)
        request = await asked(POSITION)
        assert (request.session_id, request.session_epoch) == (5, 0)


@pytest.mark.parametrize(
    ("offset", "epoch", "is_news"),
    [
        pytest.param(42, 4, False, id="the same"),
        pytest.param(43, 4, True, id="another offset"),
        pytest.param(42, -1, True, id="another epoch before it"),
    ],
)
def test_only_another_position_is_news(offset, epoch, is_news):
    session = FetchSession(positions={ORDERS: POSITION})
    assert session.is_news(ORDERS, offset, epoch) is is_news


def test_a_partition_that_is_not_kept_is_news():
    assert FetchSession().is_news(ORDERS, 42, 4)
