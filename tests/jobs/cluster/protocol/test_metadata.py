"""Metadata as values, and never back to an older leader."""

import uuid

from jobs.cluster.descriptions import TopicPartition
from jobs.cluster.protocol.metadata import (
    ClusterMetadata,
    PartitionMetadata,
    TopicMetadata,
    newest,
)

ONE, OTHER = uuid.uuid4(), uuid.uuid4()
WHERE = TopicPartition("orders", 0)


def snapshot(leader, epoch, topic_id=ONE) -> ClusterMetadata:
    topic = TopicMetadata("orders", topic_id, {0: PartitionMetadata(0, leader, epoch)})
    return ClusterMetadata("id", {}, {"orders": topic}, 0.0)


def test_a_newer_leader_epoch_wins():
    assert newest(snapshot(1, 5), snapshot(2, 6)).leader(WHERE) == 2


def test_a_broker_that_lags_behind_does_not_bring_an_old_leader_back():
    assert newest(snapshot(2, 6), snapshot(1, 5)).leader(WHERE) == 2


def test_a_topic_that_was_created_again_begins_with_its_first_epoch():
    assert newest(snapshot(2, 6), snapshot(1, 0, OTHER)).leader(WHERE) == 1


def test_without_topic_ids_what_was_found_last_counts():
    assert newest(snapshot(2, 6, None), snapshot(1, 5, None)).leader(WHERE) == 1


def test_a_partition_that_is_not_known_has_no_leader():
    assert snapshot(1, 1).leader(TopicPartition("orders", 1)) is None
    assert snapshot(1, 1).leader(TopicPartition("others", 0)) is None
