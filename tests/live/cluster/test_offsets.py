"""Offsets, committed offsets and lag on a real cluster, transactions included."""

import uuid

import pytest

from jobs.cluster.admin.groups import (
    describe_groups,
    list_groups,
    read_committed_offsets,
    read_group_offsets,
)
from jobs.cluster.admin.offsets import (
    read_data_end,
    read_last_timestamp,
    read_offset_ranges,
    read_timestamp_at,
)
from jobs.cluster.admin.topics import NewTopicSpec, create_topics
from jobs.cluster.client import ClusterClient
from jobs.cluster.descriptions import OffsetRange, TopicPartition
from jobs.replication.flow.lag import GroupLag, LagStatus, group_lag
from tests.live.topics import wait_until_known
from tests.waiting import PATIENCE, eventually

ANSWER_S = 60


@pytest.fixture
def client(east):
    with ClusterClient(east.connection, timeout_s=30 * PATIENCE) as opened:
        yield opened


@pytest.fixture
def topic(client) -> str:
    name = f"door-{uuid.uuid4().hex[:8]}"
    create_topics(client, {name: NewTopicSpec(3)})
    wait_until_known(client.connection, name, 3)
    return name


def produce(client, topic, partition=0, timestamps=(1000, 2000, 3000)):
    producer = client.producer({"acks": "all"})
    for timestamp in timestamps:
        producer.produce(topic, b"value", partition=partition, timestamp=timestamp)
    assert producer.flush(ANSWER_S) == 0


def produce_transactions(client, topic, *, committed, aborted=0):
    """Each transaction writes one record and one marker."""
    producer = client.producer({"transactional.id": uuid.uuid4().hex})
    producer.init_transactions(ANSWER_S)
    for number in range(committed + aborted):
        producer.begin_transaction()
        producer.produce(topic, b"value", partition=0, timestamp=7000)
        producer.flush(ANSWER_S)
        end = producer.commit_transaction if number < committed else producer.abort_transaction
        end(ANSWER_S)


def commit(client, group, topic, count):
    """Read `count` records of partition 0 as a group and commit behind the last one."""
    consumer = client.consumer({"group.id": group, "auto.offset.reset": "earliest"})
    consumer.subscribe([topic])
    read = []
    eventually(
        lambda: (
            read.extend(m for m in consumer.consume(1, 0.2) if not m.error()) or len(read) >= count
        ),
        30,
    )
    consumer.commit(message=read[count - 1], asynchronous=False)
    consumer.close()


def lag_of(client, group, where) -> GroupLag:
    offsets = read_group_offsets(client, [group])
    committed = offsets.committed[group].get(where)
    found = offsets.ranges.get(where, OffsetRange())
    return group_lag(
        committed=committed.offset if committed else None,
        log_start_offset=found.log_start_offset,
        end_offset=found.end_offset,
        data_end=offsets.data_ends.get((group, where)),
    )


def test_ranges_of_written_and_empty_partitions(client, topic):
    produce(client, topic, timestamps=(1000, 3000, 2000))
    written, empty = TopicPartition(topic, 0), TopicPartition(topic, 1)
    ranges = read_offset_ranges(client, [written, empty], with_timestamps=True)
    assert ranges[written] == OffsetRange(0, 3, 3, 3000)
    assert ranges[empty] == OffsetRange(0, 0, 0, None)


def test_a_partition_that_does_not_exist_is_an_error_among_answers(client, topic):
    known, unknown = TopicPartition(topic, 0), TopicPartition(topic, 99)
    ranges = read_offset_ranges(client, [known, unknown], with_timestamps=False)
    assert ranges[known].error is None
    assert "UNKNOWN_TOPIC_OR_PARTITION" in ranges[unknown].error


def test_an_open_transaction_holds_the_end_below_the_high_watermark(client, topic):
    settings = {"transactional.id": uuid.uuid4().hex, "transaction.timeout.ms": 600_000}
    producer = client.producer(settings)
    producer.init_transactions(ANSWER_S)
    producer.begin_transaction()
    producer.produce(topic, b"value", partition=0)
    assert producer.flush(ANSWER_S) == 0
    where = TopicPartition(topic, 0)
    found = read_offset_ranges(client, [where], with_timestamps=False)[where]
    assert (found.end_offset, found.high_watermark) == (0, 1)
    producer.abort_transaction(ANSWER_S)


def test_the_largest_timestamp_may_be_a_markers_and_a_record_tells_its_own(client, topic):
    produce_transactions(client, topic, committed=1)
    where = TopicPartition(topic, 0)
    eventually(lambda: newest(client, where) is not None)
    assert newest(client, where) > 7000
    assert read_timestamp_at(client, {where: 0}) == {where: 7000}


def newest(client, where):
    return read_offset_ranges(client, [where], with_timestamps=True)[where].max_timestamp_ms


def test_the_timestamp_at_an_offset_is_the_records(client, topic):
    produce(client, topic)
    first, none = TopicPartition(topic, 0), TopicPartition(topic, 1)
    assert read_timestamp_at(client, {first: 1, none: 0}) == {first: 2000, none: None}


def test_the_timestamp_behind_the_last_record_is_unknown(client, topic):
    produce(client, topic)
    where = TopicPartition(topic, 0)
    assert read_timestamp_at(client, {where: 3}) == {where: None}


@pytest.mark.parametrize(
    ("committed", "aborted", "timestamp_ms"),
    [
        pytest.param(1, 0, 7000, id="one-marker"),
        pytest.param(1, 3, 7000, id="aborted-records-behind-it"),
        pytest.param(0, 2, None, id="only-aborted-records"),
    ],
)
def test_the_last_timestamp_is_that_of_the_last_record(
    client, topic, committed, aborted, timestamp_ms
):
    produce_transactions(client, topic, committed=committed, aborted=aborted)
    where, end = TopicPartition(topic, 0), 2 * (committed + aborted)
    eventually(
        lambda: read_offset_ranges(client, [where], with_timestamps=False)[where].end_offset == end
    )
    assert read_last_timestamp(client, {where: end}) == {where: timestamp_ms}


def test_without_transactions_too_the_last_record_counts_and_not_the_largest(client, topic):
    produce(client, topic, timestamps=(1000, 3000, 2000))
    written, empty = TopicPartition(topic, 0), TopicPartition(topic, 1)
    assert read_last_timestamp(client, {written: 3, empty: 0}) == {written: 2000, empty: None}


@pytest.mark.parametrize(
    ("committed", "aborted", "data_end"),
    [
        pytest.param(1, 0, 1, id="one-marker"),
        pytest.param(3, 0, 5, id="markers-between-records"),
        pytest.param(1, 3, 1, id="aborted-records-are-no-data"),
        pytest.param(0, 2, 0, id="only-aborted-records"),
    ],
)
def test_markers_at_the_end_are_no_data(client, topic, committed, aborted, data_end):
    produce_transactions(client, topic, committed=committed, aborted=aborted)
    where = TopicPartition(topic, 0)
    end = 2 * (committed + aborted)
    eventually(
        lambda: read_offset_ranges(client, [where], with_timestamps=False)[where].end_offset == end
    )
    assert read_data_end(client, {where: (0, end)}) == {where: data_end}


def test_the_data_end_of_nothing_is_its_end(client, topic):
    where = TopicPartition(topic, 0)
    assert read_data_end(client, {where: (0, 0)}) == {where: 0}


def test_a_group_behind_has_a_lag_and_one_at_the_end_has_none(client, topic):
    produce(client, topic)
    group = f"group-{topic}"
    commit(client, group, topic, 1)
    where = TopicPartition(topic, 0)
    assert lag_of(client, group, where) == GroupLag(2, LagStatus.OK)
    assert lag_of(client, group, TopicPartition(topic, 1)) == GroupLag(None, LagStatus.NO_COMMIT)
    commit(client, group, topic, 2)
    assert lag_of(client, group, where) == GroupLag(0, LagStatus.OK)


def test_transaction_markers_do_not_leave_an_eternal_lag(client, topic):
    produce_transactions(client, topic, committed=2, aborted=1)
    group = f"group-{topic}"
    commit(client, group, topic, 2)
    assert lag_of(client, group, TopicPartition(topic, 0)) == GroupLag(0, LagStatus.OK)


def test_a_group_is_listed_and_described_while_and_after_it_lives(client, topic):
    group = f"group {topic}/with odd characters"
    consumer = client.consumer({"group.id": group})
    consumer.subscribe([topic])
    eventually(lambda: consumer.poll(0.2) is None and len(consumer.assignment()) == 3, 30)
    alive = describe_groups(client, [group])[group]
    assert (alive.state, alive.type, alive.member_count) == ("Stable", "classic", 1)
    assert alive.assigned == {TopicPartition(topic, n) for n in range(3)}
    assert group in {listed.group_id for listed in list_groups(client).groups}
    consumer.close()
    eventually(lambda: describe_groups(client, [group])[group].state == "Empty")


def test_a_group_of_the_new_protocol_has_its_type(client, topic):
    group = f"new-{topic}"
    consumer = client.consumer({"group.id": group, "group.protocol": "consumer"})
    consumer.subscribe([topic])
    eventually(lambda: consumer.poll(0.2) is None and len(consumer.assignment()) == 3, 30)

    def described():
        return describe_groups(client, [group])[group]

    # The group is stable when its coordinator has heard that the member took its partitions.
    eventually(lambda: consumer.poll(0.2) is None and described().state == "Stable", 30)
    found = described()
    assert (found.type, found.member_count, found.state) == ("consumer", 1, "Stable")
    consumer.close()


def test_a_group_that_was_never_there_has_no_offsets(client):
    assert read_committed_offsets(client, ["never-there"]) == {"never-there": {}}
