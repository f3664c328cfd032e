"""Which transaction holds a last stable offset, when leaders and coordinators answer one after the other."""

import contextlib
from dataclasses import replace

import pytest
from kio.schema.describe_producers.v0.response import (
    DescribeProducersResponse,
    PartitionResponse,
    ProducerState,
    TopicResponse,
)
from kio.schema.describe_transactions.v0.response import TopicData
from kio.schema.errors import ErrorCode

from jobs.cluster.descriptions import TopicPartition
from jobs.cluster.errors import ClusterFault
from jobs.cluster.protocol.data.open_transactions import find_open_transactions
from jobs.cluster.protocol.errors import Denied
from tests.jobs.cluster.protocol import fake_broker
from tests.jobs.cluster.protocol.data.test_transaction_list import (
    coordinated_by,
    described,
    listed,
)
from tests.jobs.cluster.protocol.data.test_transaction_log import OldLog
from tests.jobs.cluster.protocol.data.test_transactions import coordinator
from tests.jobs.cluster.protocol.fake_broker import NOW, topic
from tests.jobs.cluster.protocol.fake_cluster import brokers, cluster_of

BARN = TopicPartition("barn", 0)
HAS_IT, HAS_IT_NOT = TopicData(topic="barn", partitions=(0,)), TopicData(topic="b", partitions=(0,))


def producers(*opened, error=ErrorCode.none):
    """The answer of a leader: (producer id, start offset) of each producer, -1 without a transaction."""
    rows = tuple(
        ProducerState(
            producer_id=producer, producer_epoch=2, coordinator_epoch=0, current_txn_start_offset=at
        )
        for producer, at in opened
    )
    part = PartitionResponse(partition_index=0, error_code=error, active_producers=rows)
    topics = (TopicResponse(name="barn", partitions=(part,)),)
    return DescribeProducersResponse(throttle_time=NOW, topics=topics)


async def found(*answers, names=("tx",), transaction=None):
    """Ask a broker that gives these answers about producers, one after the other."""
    async with brokers() as (one,), cluster_of(one) as cluster:
        coordinated_by(one, leader=1)
        one.topics = (*one.topics, topic("barn", {0: 1}))
        left = list(answers)
        one.answers[fake_broker.DESCRIBE_PRODUCERS] = lambda _: left.pop(0)
        one.answers[fake_broker.LIST_TRANSACTIONS] = listed(*names)
        one.answers[fake_broker.FIND_COORDINATOR] = coordinator(1)
        one.answers[fake_broker.DESCRIBE_TRANSACTIONS] = transaction
        told = await find_open_transactions(cluster, [BARN], budget_s=5)
        assert left == []
        return told[BARN]


async def test_of_several_producers_the_oldest_transaction_holds_the_offset():
    told = await found(
        producers((3, -1), (2, 20), (1, 10)), transaction=described("Ongoing", HAS_IT)
    )
    assert (told.producer_id, told.start_offset, told.is_known) == (1, 10, True)


async def test_without_an_open_transaction_no_coordinator_is_asked():
    assert await found(producers((1, -1))) is None


async def test_what_its_coordinator_does_not_have_and_stays_open_is_hanging():
    told = await found(
        producers((1, 10)), producers((1, 10)), transaction=described("CompleteAbort")
    )
    assert (told.transactional_id, told.is_known) == ("tx", False)


async def test_an_open_transaction_elsewhere_of_the_same_id_is_not_that_of_the_partition():
    told = await found(
        producers((1, 10)), producers((1, 10)), transaction=described("Ongoing", HAS_IT_NOT)
    )
    assert told.is_known is False


@pytest.mark.parametrize(
    "later",
    [
        pytest.param(producers((1, -1)), id="no transaction is open"),
        pytest.param(producers((1, 30)), id="the same producer has begun another"),
        pytest.param(producers((2, 30)), id="another producer has"),
    ],
)
async def test_what_ends_between_the_questions_is_not_hanging(later):
    assert await found(producers((1, 10)), later, transaction=described("CompleteCommit")) is None


async def test_a_producer_without_a_name_is_told_without_one():
    told = await found(producers((1, 10)), names=())
    assert (told.transactional_id, told.is_known) == (None, False)


@pytest.mark.parametrize(
    ("answers", "transaction"),
    [
        pytest.param(
            [producers(error=ErrorCode.topic_authorization_failed)], None, id="of the topic"
        ),
        pytest.param(
            [producers((1, 10))],
            described("", error=ErrorCode.transactional_id_authorization_failed),
            id="of the transactional id",
        ),
        pytest.param(
            [producers((1, 10)), producers(error=ErrorCode.topic_authorization_failed)],
            described("CompleteAbort"),
            id="of the topic, taken away meanwhile",
        ),
    ],
)
async def test_a_missing_right_is_no_verdict(answers, transaction):
    assert isinstance(await found(*answers, transaction=transaction), ClusterFault)


@contextlib.asynccontextmanager
async def before_3_0(*answers):
    """A cluster that describes producers and neither lists nor describes transactions, and its log."""
    async with brokers() as (one,), cluster_of(one) as cluster:
        log = OldLog(one)
        one.topics = (*one.topics, topic("barn", {0: 1}))
        left = list(answers)
        one.answers[fake_broker.DESCRIBE_PRODUCERS] = lambda _: left.pop(0)
        yield cluster, one, log


async def test_before_kafka_3_0_the_log_says_which_transaction_it_is():
    async with before_3_0(producers((7, 10))) as (cluster, _, log):
        log.write("tx", "Ongoing", {"topic": "barn", "partitionIds": [0]})
        told = (await find_open_transactions(cluster, [BARN], budget_s=5))[BARN]
    assert (told.transactional_id, told.state, told.is_known) == ("tx", "Ongoing", True)
    assert (told.started_ms, told.timeout_ms) == (5, 1000)


async def test_who_may_not_read_the_log_learns_it_only_of_open_transactions():
    async with before_3_0(producers((7, 10)), producers((7, -1))) as (cluster, one, _):
        one.topics = (
            replace(
                topic("__transaction_state", {}), error_code=ErrorCode.topic_authorization_failed
            ),
            topic("barn", {0: 1}),
        )
        told = (await find_open_transactions(cluster, [BARN], budget_s=5))[BARN]
        assert isinstance(told, Denied)
        assert "READ on the topic __transaction_state" in told.hint
        assert await find_open_transactions(cluster, [BARN], budget_s=5) == {BARN: None}
