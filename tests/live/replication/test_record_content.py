"""What arrives on the target is what was on the source, byte by byte."""

import os

from confluent_kafka import Producer

from jobs.cluster.admin.offsets import read_offset_ranges
from jobs.cluster.client import ClusterClient
from jobs.cluster.descriptions import TopicPartition
from jobs.replication.copy.contract import CopyState
from jobs.replication.flow.spec import PolicyName
from tests.live.copiers import RecordCopying, copy_records, record_flow_between
from tests.live.records import Record, produce, read_all, write
from tests.live.topics import make_topic, new_topic

NOW = 1_750_000_000_000
ODD = [
    Record(0, None, None, None, NOW),
    Record(0, b"", b"", None, NOW + 1),
    Record(0, b"k", None, None, NOW + 2),
    Record(0, None, b"v", None, NOW + 3),
    Record(0, b"\x00\xff", bytes(range(256)), None, NOW - 86_400_000),
    Record(
        0,
        b"k",
        b"v",
        [("a", b"1"), ("b", None), ("a", b""), ("a", b"1"), ("", b"x"), ("é✓", b"\xff")],
        NOW + 4,
    ),
    Record(0, b"k", None, [("why", b"deleted")], 1),
    Record(0, b"k", b"no timestamp", None, -1),
    Record(0, b"k" * 3000, os.urandom(500_000), None, NOW + 5),
]


def test_odd_records_arrive_byte_by_byte(east, west):
    topic = new_topic(east, retention_ms="-1")
    write(east, topic, ODD)
    copy_records(record_flow_between(east, west, topic), {0: len(ODD)})
    assert read_all(west, f"east.{topic}") == read_all(east, topic) == ODD


def test_many_records_arrive_once_in_order_and_in_their_partitions(east, west):
    topic = new_topic(east, 5)
    for partition in (0, 1, 2, 4):
        produce(east, topic, 3000, partition, **{"compression.type": "zstd"})
    with RecordCopying(record_flow_between(east, west, topic)) as copying:
        for partition, end in enumerate((3000, 3000, 3000, 0, 3000)):
            copying.wait_for_position(end, partition)
            copying.wait_for_state(CopyState.CAUGHT_UP, partition)
    assert read_all(west, f"east.{topic}") == read_all(east, topic)
    assert {p: row.records for p, row in copying.rows.items()} == {
        0: 3000,
        1: 3000,
        2: 3000,
        3: 0,
        4: 3000,
    }
    assert {row.state for row in copying.rows.values()} == {CopyState.CAUGHT_UP}


def test_records_that_come_while_copying_follow(east, west):
    topic = new_topic(east)
    with RecordCopying(record_flow_between(east, west, topic)) as copying:
        copying.wait_for_state(CopyState.CAUGHT_UP)
        sent = produce(east, topic, 10)
        copying.wait_for_position(10)
        row = copying.wait_for_state(CopyState.CAUGHT_UP)
    assert [r.value for r in read_all(west, f"east.{topic}")] == [r.value for r in sent]
    assert row.last_timestamp_ms == read_all(east, topic)[-1].timestamp_ms
    assert row.bytes == sum(len(r.key) + len(r.value) for r in sent)


def test_aborted_transactions_are_not_copied_and_markers_leave_no_lag(east, west):
    topic = new_topic(east)
    producer = Producer(
        {"bootstrap.servers": east.bootstrap_servers, "transactional.id": f"tx-{topic}"}
    )
    producer.init_transactions()
    for number, ends in enumerate(["commit", "abort", "commit", "abort", "abort"]):
        producer.begin_transaction()
        producer.produce(topic, f"{number}-{ends}".encode(), partition=0)
        producer.flush()
        producer.commit_transaction() if ends == "commit" else producer.abort_transaction()
    end = 10  # five records, five markers
    copying = copy_records(record_flow_between(east, west, topic), {0: end})
    assert [r.value for r in read_all(west, f"east.{topic}")] == [b"0-commit", b"2-commit"]
    with ClusterClient(east.connection) as client:
        where = TopicPartition(topic, 0)
        ranges = read_offset_ranges(client, [where], with_timestamps=False)
    assert ranges[where].end_offset == copying.rows[0].position == end


def test_a_compacted_topic_arrives_with_its_tombstones(east, west):
    topic = new_topic(
        east,
        cleanup_policy="compact",
        segment_ms="100",
        min_cleanable_dirty_ratio="0.01",
        max_compaction_lag_ms="100",
    )
    write(east, topic, [Record(0, b"k%d" % (n % 3), b"%d" % n, None, NOW + n) for n in range(60)])
    write(east, topic, [Record(0, b"k1", None, None, NOW + 60)])
    copy_records(record_flow_between(east, west, topic), {0: 61})
    last = {record.key: record.value for record in read_all(west, f"east.{topic}")}
    assert last == {b"k0": b"57", b"k1": None, b"k2": b"59"}


def test_identity_names_keep_the_topic_name(east, west):
    topic = new_topic(east)
    sent = produce(east, topic, 5)
    copy_records(record_flow_between(east, west, topic, policy=PolicyName.IDENTITY), {0: 5})
    assert [r.value for r in read_all(west, topic)] == [r.value for r in sent]


def test_a_target_that_stamps_records_itself_is_a_finding(east, west):
    topic = new_topic(east)
    make_topic(west, f"east.{topic}", message_timestamp_type="LogAppendTime")
    write(east, topic, [Record(0, b"k", b"v", None, NOW)])
    copying = copy_records(record_flow_between(east, west, topic), {0: 1})
    assert "LogAppendTime" in copying.rows[0].findings[0]
