"""Brokers that neither list nor describe transactions (before Kafka 3.0): their log is read."""

from dataclasses import replace

import pytest
from kio.schema.errors import ErrorCode
from kio.schema.fetch.v12 import response as fetched

from jobs.cluster.descriptions import TopicPartition
from jobs.cluster.errors import ClusterFault
from jobs.cluster.protocol.data.transaction_list import describe_transaction, list_transactions
from jobs.cluster.protocol.errors import Denied
from jobs.wire.batches.records import PlacedRecord, encode_batch
from jobs.wire.topics.transaction_state import TRANSACTION_STATES
from tests.jobs.cluster.protocol import fake_broker
from tests.jobs.cluster.protocol.data.test_offsets import offsets
from tests.jobs.cluster.protocol.data.test_transactions import coordinator
from tests.jobs.cluster.protocol.fake_broker import NOW, PATIENT, Close, topic
from tests.jobs.cluster.protocol.fake_cluster import brokers, cluster_of
from tests.jobs.wire.topics.written_records import encode_transaction_record

STATE_TOPIC = "__transaction_state"
ORDERS = {"topic": "orders", "partitionIds": [0, 2]}


class OldLog:
    """Brokers of Kafka 2.8 and what is in the one partition of their log."""

    def __init__(self, *brokers, is_there=True) -> None:
        self.batches: list[bytes] = []
        self.end = 0
        self.faults: list[ErrorCode] = []
        self.high_watermark: int | None = None
        for broker in brokers:
            del broker.offered[fake_broker.LIST_TRANSACTIONS]
            del broker.offered[fake_broker.DESCRIBE_TRANSACTIONS]
            broker.offered[fake_broker.FETCH] = (0, 12)
            broker.answers[fake_broker.FIND_COORDINATOR] = coordinator(1)
            broker.answers[fake_broker.LIST_OFFSETS] = self._list_offsets
            broker.answers[fake_broker.FETCH] = self._fetch
        if is_there:
            self.lead(*brokers, epoch=0)

    @property
    def visible(self) -> int:
        return self.end if self.high_watermark is None else self.high_watermark

    def lead(self, *brokers, epoch: int, leader: int = 1) -> None:
        for broker in brokers:
            broker.topics = (topic(STATE_TOPIC, {0: leader}, epoch=epoch),)

    def write(self, name: str, state: str | None, *partitions: dict) -> None:
        data = {
            "producerId": 7,
            "transactionStatus": TRANSACTION_STATES.index(state or "Empty"),
            "transactionTimeoutMs": 1000,
            "transactionPartitions": list(partitions),
            "transactionStartTimestampMs": 5 if partitions else -1,
        }
        key, value = encode_transaction_record(name, data if state else None)
        self.batches.append(encode_batch([PlacedRecord(self.end, 1, key, value)]))
        self.end += 1

    def _list_offsets(self, asked):
        error = self.faults.pop(0) if self.faults else ErrorCode.none
        return offsets(error=error, offset=self.visible)(asked)

    def _fetch(self, asked):
        offset = asked.message.topics[0].partitions[0].fetch_offset
        part = fetched.PartitionData(
            partition_index=0,
            error_code=ErrorCode.none,
            high_watermark=self.visible,
            last_stable_offset=self.visible,
            aborted_transactions=(),
            records=b"".join(self.batches[offset : self.visible]),
        )
        answered = fetched.FetchableTopicResponse(topic=STATE_TOPIC, partitions=(part,))
        return fetched.FetchResponse(
            throttle_time=NOW, error_code=ErrorCode.none, responses=(answered,)
        )


async def test_the_ids_of_a_log_are_its_keys_without_those_that_expired():
    async with brokers() as (one,), cluster_of(one) as cluster:
        log = OldLog(one)
        log.write("flow-1", "Empty")
        log.write("flow-2", "Ongoing", ORDERS)
        log.write("other", "Empty")
        log.write("flow-1", None)
        assert await list_transactions(cluster, "flow-") == ["flow-2"]


async def test_a_transaction_is_what_the_last_record_of_its_id_says():
    async with brokers() as (one,), cluster_of(one) as cluster:
        log = OldLog(one)
        log.write("flow-1", "Empty")
        log.write("flow-1", "Ongoing", ORDERS)
        found = await describe_transaction(cluster, "flow-1")
        assert found.state == "Ongoing"
        assert found.partitions == {TopicPartition("orders", 0), TopicPartition("orders", 2)}
        assert (found.producer_id, found.started_ms, found.timeout_ms) == (7, 5, 1000)
        nothing = await describe_transaction(cluster, "flow-2")
        assert (nothing.state, nothing.partitions) == ("Empty", frozenset())


async def test_every_next_question_reads_only_what_was_added():
    async with brokers() as (one,), cluster_of(one) as cluster:
        log = OldLog(one)
        log.write("flow-1", "Ongoing", ORDERS)
        await describe_transaction(cluster, "flow-1")
        await describe_transaction(cluster, "flow-1")
        log.write("flow-1", "PrepareCommit", ORDERS)
        assert (await describe_transaction(cluster, "flow-1")).is_ending
        asked = [r.topics[0].partitions[0].fetch_offset for r in one.of(fake_broker.FETCH)]
        assert asked == [0, 1]


async def test_what_is_above_the_high_watermark_is_not_there_yet():
    async with brokers() as (one,), cluster_of(one) as cluster:
        log = OldLog(one)
        log.write("flow-1", "PrepareCommit", ORDERS)
        log.write("flow-1", "CompleteCommit")
        log.high_watermark = 1
        assert (await describe_transaction(cluster, "flow-1")).is_ending
        log.high_watermark = None
        assert (await describe_transaction(cluster, "flow-1")).is_committed


async def test_a_leader_that_has_just_been_elected_is_asked_until_it_knows_what_was_there_before():
    async with brokers() as (one,), cluster_of(one) as cluster:
        log = OldLog(one)
        log.write("flow-1", "PrepareCommit", ORDERS)
        log.faults = [ErrorCode.offset_not_available]
        assert (await describe_transaction(cluster, "flow-1")).is_ending
        assert log.faults == []


async def test_after_an_election_the_log_is_read_again():
    """An unclean one may have cut it: what was read then may not be there any more."""
    async with brokers() as (one,), cluster_of(one) as cluster:
        log = OldLog(one)
        log.write("flow-1", "Ongoing", ORDERS)
        log.write("flow-1", "PrepareCommit", ORDERS)
        await describe_transaction(cluster, "flow-1")
        del log.batches[1:]
        log.end = 1
        log.lead(one, epoch=1)
        await cluster.metadata(newer_than=await cluster.metadata())
        assert (await describe_transaction(cluster, "flow-1")).is_open


async def test_a_broker_that_does_not_lead_the_partition_is_not_the_coordinator():
    async with brokers(2) as (one, two), cluster_of(one) as cluster:
        log = OldLog(one, two)
        log.write("flow-1", "Empty")
        log.lead(one, two, epoch=0, leader=2)
        moves = [coordinator(2), coordinator(1)]
        for broker in (one, two):
            broker.answers[fake_broker.FIND_COORDINATOR] = lambda _: moves.pop()
        assert (await describe_transaction(cluster, "flow-1")).state == "Empty"
        assert moves == []


async def test_where_no_broker_knows_the_log_there_was_no_transaction():
    async with brokers(2) as (one, two), cluster_of(one) as cluster:
        OldLog(one, two, is_there=False)
        missing(one, ErrorCode.unknown_topic_or_partition)
        missing(two, ErrorCode.unknown_topic_or_partition)
        assert await list_transactions(cluster, "flow") == []


async def test_a_broker_that_was_just_started_does_not_hide_the_log():
    async with brokers(2) as (one, two), cluster_of(one) as cluster:
        log = OldLog(one, two)
        missing(one, ErrorCode.unknown_topic_or_partition)
        log.write("flow-1", "Ongoing", ORDERS)
        assert await list_transactions(cluster, "flow") == ["flow-1"]


async def test_who_may_not_read_the_log_learns_which_right_is_missing():
    async with brokers() as (one,), cluster_of(one) as cluster:
        OldLog(one, is_there=False)
        missing(one, ErrorCode.topic_authorization_failed)
        with pytest.raises(Denied) as raised:
            await list_transactions(cluster, "flow")
    assert not raised.value.retriable
    assert "READ on the topic __transaction_state" in raised.value.hint
    assert "at_least_once" in raised.value.hint


async def test_a_log_is_read_on_as_long_as_something_comes_within_the_budget():
    now = [0.0]
    async with brokers() as (one,):
        log = OldLog(one)
        for number in range(3):
            log.write(f"flow-{number}", "Empty")
        whole, answers = list(log.batches), one.answers[fake_broker.FETCH]

        def piecewise(asked):
            offset = asked.message.topics[0].partitions[0].fetch_offset
            if len(one.of(fake_broker.FETCH)) % 2:
                log.batches = whole[: offset + 1]
                return answers(asked)
            now[0] += 1000.0
            return Close

        one.answers[fake_broker.FETCH] = piecewise
        timing = replace(PATIENT, clock=lambda: now[0])
        async with cluster_of(one, timing=timing) as cluster:
            assert len(await list_transactions(cluster, "flow-")) == 3


async def test_a_value_of_an_unknown_version_is_no_transaction_that_is_not_there():
    async with brokers() as (one,), cluster_of(one) as cluster:
        log = OldLog(one)
        key, _ = encode_transaction_record("flow-1", None)
        log.batches.append(encode_batch([PlacedRecord(0, 1, key, b"\0\7")]))
        log.end = 1
        with pytest.raises(ClusterFault, match="version 7 is unknown"):
            await describe_transaction(cluster, "flow-1")
        assert (await describe_transaction(cluster, "flow-2")).state == "Empty"


async def test_a_log_that_cannot_be_read_is_no_empty_log():
    async with brokers() as (one,), cluster_of(one) as cluster:
        log = OldLog(one)
        log.batches.append(encode_batch([PlacedRecord(0, 1, b"\0\7", b"\0\0")]))
        log.end = 1
        with pytest.raises(ClusterFault, match="version 7 is unknown"):
            await list_transactions(cluster, "flow")


def missing(broker, error) -> None:
    """Let a broker answer an error for the log."""
    broker.topics = (replace(topic(STATE_TOPIC, {}), error_code=error),)
