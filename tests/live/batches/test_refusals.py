"""Batches that the target does not take: one partition stops and says why, everything else goes on."""

import os

import pytest

from jobs.replication.copy.contract import CopyState, PartitionStart
from jobs.wire.batches.record_batch import Codec
from tests.live.copied_records import assert_equal, content
from tests.live.copiers import BatchCopying, flow_between, survey
from tests.live.records import produce
from tests.live.topics import make_topic, new_topic, set_config
from tests.live.whole_batches import NOW, numbered, read_placed, record, write_batches
from tests.waiting import eventually

LIMIT = 20_000
NEVER = str(2**63 - 1)


def contents(cluster, topic: str, partition: int = 0) -> list:
    return [content(one) for one in read_placed(cluster, topic)[partition]]


@pytest.mark.parametrize("codec", [Codec.NONE, Codec.ZSTD])
def test_batches_larger_than_the_target_takes_are_cut(east, west, codec):
    topic = new_topic(east)
    make_topic(west, f"east.{topic}", max_message_bytes=str(LIMIT))
    sent = [record(n, os.urandom(LIMIT // 5)) for n in range(60)]
    write_batches(east, topic, 0, [sent, sent[:1], sent], codec=codec)
    with BatchCopying(flow_between(east, west, topic)) as copying:
        copying.wait_for_position(121)
    assert_equal(read_placed(east, topic), read_placed(west, f"east.{topic}"))
    assert copying.rows[0].packed > 10


def test_a_limit_that_is_lowered_while_copying_is_found_out(east, west):
    topic = new_topic(east)
    flow = flow_between(east, west, topic)
    sent = [record(n, os.urandom(LIMIT // 5)) for n in range(60)]
    write_batches(east, topic, 0, [sent])
    with BatchCopying(flow) as copying:
        copying.wait_for_position(60)
        set_config(west, f"east.{topic}", "max.message.bytes", str(LIMIT))
        write_batches(east, topic, 0, [sent])
        copying.wait_for_position(120)
    assert_equal(read_placed(east, topic), read_placed(west, f"east.{topic}"))


def test_a_record_that_is_too_large_is_named_and_everything_before_it_is_copied(east, west):
    topic = new_topic(east, 2)
    make_topic(west, f"east.{topic}", 2, max_message_bytes=str(LIMIT))
    before = numbered(700)
    write_batches(east, topic, 0, [before, [*numbered(3), record(3, os.urandom(LIMIT))], before])
    flow = flow_between(east, west, topic)
    with BatchCopying(flow) as copying:
        row = copying.wait_for_state(CopyState.FAILED)
        produce(east, topic, 20, 1)
        copying.wait_for_position(20, 1)
    assert row.position == 703
    assert f"Record {topic}-0 offset 703" in row.reason
    assert f"east.{topic}" in row.reason
    assert "Raise max.message.bytes" in row.reason
    assert contents(west, f"east.{topic}") == contents(east, topic)[:703]
    set_config(west, f"east.{topic}", "max.message.bytes", "1000000")
    with BatchCopying(flow) as copying:
        copying.wait_for_position(1404)
    assert_equal(read_placed(east, topic), read_placed(west, f"east.{topic}"))


def test_a_record_without_a_key_for_a_compacted_topic_is_named(east, west):
    topic = new_topic(east, 2)
    make_topic(west, f"east.{topic}", 2, cleanup_policy="compact")
    batch = numbered(100)
    batch[42] = record(42, b"nobody's", None)
    write_batches(east, topic, 0, [numbered(500), batch, numbered(5)], codec=Codec.LZ4)
    with BatchCopying(flow_between(east, west, topic)) as copying:
        row = copying.wait_for_state(CopyState.FAILED)
        produce(east, topic, 20, 1)
        copying.wait_for_position(20, 1)
    assert row.position == 542
    assert "record at offset 542" in row.reason
    assert "without key" in row.reason
    assert contents(west, f"east.{topic}") == contents(east, topic)[:542]


def test_a_record_from_the_future_is_named(east, west):
    topic = new_topic(east, message_timestamp_after_max_ms=NEVER)
    make_topic(west, f"east.{topic}", message_timestamp_after_max_ms="3600000")
    batch = [record(n, timestamp=2**42 if n == 7 else NOW) for n in range(3000)]
    write_batches(east, topic, 0, [batch])
    with BatchCopying(flow_between(east, west, topic)) as copying:
        row = copying.wait_for_state(CopyState.FAILED)
    assert row.position == 7
    assert "record at offset 7" in row.reason
    assert contents(west, f"east.{topic}") == contents(east, topic)[:7]


def test_a_target_that_stamps_records_itself_gets_them_record_by_record(east, west):
    topic = new_topic(east)
    make_topic(west, f"east.{topic}", message_timestamp_type="LogAppendTime")
    produce(east, topic, 10)
    with BatchCopying(flow_between(east, west, topic)) as copying:
        copying.wait_for_position(10)
    assert copying.rows[0].path == "record"
    assert "message.timestamp.type=LogAppendTime" in copying.rows[0].path_reason


@pytest.mark.timeout(900)
def test_a_target_topic_that_is_not_there_is_told_and_tried_again_while_others_go_on(east, west):
    topic, other = new_topic(east), new_topic(east)
    flow = flow_between(east, west, other)
    starts = [*survey(flow).plan.starts, PartitionStart(topic, 0, 0, f"east.{topic}")]
    produce(east, topic, 5)
    rows = {}

    def is_told(row):
        is_waiting = row.topic == topic and row.state is CopyState.RETRYING
        return is_waiting and f"east.{topic}-0" in row.reason

    class Both(BatchCopying):
        def _report(self, told):
            super()._report(told)
            rows.update({row.topic: row for row in told})

    with Both(flow, starts) as copying:
        # Not for any reason: for a moment a busy cluster may be what is waited for.
        eventually(lambda: any(map(is_told, copying.history)), 60)
        for turn in range(5):
            produce(east, other, 10)
            eventually(lambda turn=turn: rows[other].position == 10 * (turn + 1), 20)
        make_topic(west, f"east.{topic}")
        eventually(lambda: rows[topic].position == 5, 60)
        assert copying.is_running
    assert_equal(read_placed(east, topic), read_placed(west, f"east.{topic}"))
