"""Checkpoints of a topic as arrays: which count, of which group, about which remote topic."""

import pytest

from jobs.cluster.descriptions import TopicPartition
from jobs.replication.checkpoints.topic import TOPIC_ID_HEADER, CheckpointTopic
from jobs.spark.analyses.offsets.backtesting.checkpoint_log import CheckpointLog
from jobs.wire.mirror_records import Checkpoint, encode_checkpoint

REMOTE = TopicPartition("east.orders", 0)


def taken(*told, since_ms=0):
    """Read (at_ms, group, upstream, downstream, id of the remote topic) one after the other."""
    log, topic = CheckpointLog(), CheckpointTopic("east.checkpoints.internal")
    for offset, (at_ms, group, upstream, downstream, topic_id) in enumerate(told):
        key, value = encode_checkpoint(Checkpoint(group, *REMOTE, upstream, downstream, ""))
        headers = [(TOPIC_ID_HEADER, topic_id.encode())] if topic_id else None
        topic.take(key, value, at_ms, offset, headers)
        log.take(topic, since_ms)
    return log


def test_every_checkpoint_of_a_group_is_kept_not_the_last_alone():
    log = taken((10, "a", 1, 2, ""), (20, "b", 3, 4, ""), (30, "a", 5, 6, ""))
    found = log.of(REMOTE)
    assert [log.groups[number] for number in found.group] == ["a", "b", "a"]
    assert (found.upstream.tolist(), found.downstream.tolist()) == ([1, 3, 5], [2, 4, 6])
    assert (log.partitions, log.older) == ([REMOTE], 0)


def test_older_ones_are_counted_and_left_out_and_one_without_a_time_is_kept():
    log = taken((10, "a", 1, 2, ""), (None, "a", 3, 4, ""), (30, "a", 5, 6, ""), since_ms=20)
    assert (log.of(REMOTE).at_ms.tolist(), log.older) == ([-1, 30], 1)


def test_of_a_partition_without_checkpoints_there_are_none():
    assert len(taken().of(REMOTE).upstream) == 0


@pytest.mark.parametrize(
    ("topic_id", "others"),
    [("new", [True, False, False]), (None, [False, False, False])],
    ids=["an id is known", "the cluster tells no id"],
)
def test_a_checkpoint_with_another_id_is_about_another_remote_topic(topic_id, others):
    log = taken((1, "a", 1, 2, "old"), (2, "a", 1, 2, "new"), (3, "a", 1, 2, ""))
    assert log.of(REMOTE).are_about_others(log.topic_ids, topic_id).tolist() == others


def test_what_is_no_checkpoint_is_counted_by_its_reason():
    log, topic = CheckpointLog(), CheckpointTopic("east.checkpoints.internal")
    topic.take(b"nonsense", b"nonsense", 1, 0)
    log.take(topic, 0)
    assert (sum(log.refused.values()), log.partitions) == (1, [])
