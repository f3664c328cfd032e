"""Produce: one batch per partition, and every word of the answer."""

import datetime as dt

import pytest
from kio.schema.errors import ErrorCode
from kio.schema.produce.v12 import response as responses

from jobs.cluster.descriptions import TopicPartition
from jobs.cluster.protocol.data.fetch import LeaderHint
from jobs.cluster.protocol.data.produce import RecordError, produce
from jobs.cluster.protocol.errors import BatchRefused, LeaderMoved
from jobs.cluster.protocol.transport.primitives import duration
from jobs.cluster.read_only import ReadOnly
from tests.jobs.cluster.protocol import fake_broker
from tests.jobs.cluster.protocol.batches import TRANSACTIONAL, batch
from tests.jobs.cluster.protocol.fake_cluster import brokers, cluster_of

ORDERS = TopicPartition("orders", 7)
OWN = {"producer_id": 5, "producer_epoch": 0, "sequence": 0}
PLAIN = batch(b"body", **OWN)
IN_TRANSACTION = batch(b"body", **OWN, attributes=TRANSACTIONAL)


def answer(*, throttle_ms=0, **fields):
    standard = {
        "index": 7,
        "error_code": ErrorCode.none,
        "base_offset": 100,
        "log_append_time": None,
        "log_start_offset": 3,
        "record_errors": (),
    }
    partition = responses.PartitionProduceResponse(**(standard | fields))
    topic = responses.TopicProduceResponse(name="orders", partition_responses=(partition,))
    return responses.ProduceResponse(responses=(topic,), throttle_time=duration(throttle_ms))


async def produced(given, batches=None, *, transactional_id=None, **broker):
    async with brokers() as (one,), cluster_of(one) as cluster:
        one.offered |= broker.get("offered", {})
        one.features = broker.get("features", one.features)
        one.answers[fake_broker.PRODUCE] = given
        found = await produce(
            cluster,
            1,
            batches or {ORDERS: PLAIN},
            transactional_id=transactional_id,
            timeout_ms=1000,
        )
        return found, one


async def test_offsets_of_a_written_batch_are_returned():
    found, _ = await produced(answer(throttle_ms=30))
    one = found.partitions[ORDERS]
    assert (one.base_offset, one.log_start_offset, one.error) == (100, 3, None)
    assert one.log_append_time_ms is None
    assert found.throttle_ms == 30


async def test_the_brokers_time_is_returned_where_the_topic_keeps_it():
    moment = dt.datetime(2024, 5, 6, 7, 8, 9, 123000, tzinfo=dt.UTC)
    found, _ = await produced(answer(log_append_time=moment))
    assert found.partitions[ORDERS].log_append_time_ms == 1714979289123


async def test_every_batch_stands_at_its_partition():
    batches = {
        TopicPartition("b", 1): batch(b"b1" * 2000, **OWN),
        TopicPartition("a", 0): batch(b"a0", **OWN),
        TopicPartition("b", 0): batch(b"b0" * 3000, **OWN),
    }
    _, broker = await produced(answer(), batches)
    (request,) = broker.of(fake_broker.PRODUCE)
    got = {
        TopicPartition(topic.name, one.index): one.records
        for topic in request.topic_data
        for one in topic.partition_data
    }
    assert got == {where: one.header + bytes(one.body) for where, one in batches.items()}
    assert [topic.name for topic in request.topic_data] == ["a", "b"]
    assert request.acks == -1


async def test_a_refused_batch_tells_which_records_are_why():
    refused = answer(
        error_code=ErrorCode.invalid_record,
        base_offset=-1,
        error_message="One or more records have been rejected",
        record_errors=(
            responses.BatchIndexAndErrorMessage(
                batch_index=4, batch_index_error_message="null key"
            ),
        ),
    )
    one = (await produced(refused))[0].partitions[ORDERS]
    assert type(one.error) is BatchRefused
    assert "orders-7 at broker 1" in one.error.message
    assert "have been rejected" in one.error.message
    assert one.record_errors == (RecordError(4, "null key"),)
    assert one.base_offset is None


async def test_a_broker_that_leads_no_more_may_tell_who_does():
    leader = responses.LeaderIdAndEpoch(leader_id=2, leader_epoch=6)
    moved = answer(error_code=ErrorCode.not_leader_or_follower, current_leader=leader)
    one = (await produced(moved))[0].partitions[ORDERS]
    assert type(one.error) is LeaderMoved
    assert one.current_leader == LeaderHint(2, 6)


@pytest.mark.parametrize(
    ("transactional_id", "features", "offered", "version"),
    [
        pytest.param(None, 2, (3, 13), 12, id="no transaction"),
        pytest.param(None, 1, (3, 9), 9, id="no transaction, an older broker"),
        pytest.param("id", 2, (3, 13), 12, id="protocol 2"),
        pytest.param("id", 1, (3, 13), 11, id="protocol 1 on a new broker"),
        pytest.param("id", 0, (3, 8), 8, id="protocol 1 on an old broker"),
    ],
)
async def test_the_version_follows_the_transaction_protocol(
    transactional_id, features, offered, version
):
    _, broker = await produced(
        answer(),
        {ORDERS: IN_TRANSACTION if transactional_id else PLAIN},
        transactional_id=transactional_id,
        features={"transaction.version": features},
        offered={fake_broker.PRODUCE: offered},
    )
    assert broker.versions_of(fake_broker.PRODUCE) == [version]
    assert broker.of(fake_broker.PRODUCE)[0].transactional_id == transactional_id


@pytest.mark.parametrize(
    ("one", "transactional_id"),
    [
        pytest.param(PLAIN, "id", id="would be written outside of the transaction"),
        pytest.param(IN_TRANSACTION, None, id="without a transactional id"),
    ],
)
async def test_a_batch_that_does_not_fit_the_transaction_is_not_sent(one, transactional_id):
    with pytest.raises(ValueError, match="transactional bit"):
        await produced(answer(), {ORDERS: one}, transactional_id=transactional_id)


async def test_nothing_is_written_while_crosslog_is_read_only(monkeypatch):
    monkeypatch.setenv("CROSSLOG_READ_ONLY", "1")
    with pytest.raises(ReadOnly):
        await produced(answer())
