"""The newest offset sync of every partition, remembered between two looks."""

from jobs.cluster.descriptions import TopicPartition
from jobs.replication.findings.reading import SyncTail
from jobs.wire.mirror_records import OffsetSync, encode_offset_sync

ORDERS = TopicPartition("orders", 0)


def test_the_newest_sync_counts_and_foreign_records_are_counted():
    tail = SyncTail("s")
    for upstream, downstream in ((10, 7), (90, 80)):
        tail.take(*encode_offset_sync(OffsetSync("orders", 0, upstream, downstream)))
    tail.take(b"\x00", b"nonsense")
    tail.take(b"key", None)
    assert tail.newest == {ORDERS: (90, 80)}
    assert tail.refused == 2


def test_it_survives_being_stored():
    tail = SyncTail("s", 9, {ORDERS: (90, 80)}, 3)
    assert SyncTail.from_mapping(tail.to_mapping(), "s") == tail


def test_of_another_topic_nothing_is_known():
    tail = SyncTail("s", 9, {ORDERS: (90, 80)}, 3)
    assert SyncTail.from_mapping(tail.to_mapping(), "t") == SyncTail("t")
    assert SyncTail.from_mapping({}, "s") == SyncTail("s")


def test_a_sync_of_a_topic_that_cannot_be_is_none():
    tail = SyncTail("s")
    tail.take(*encode_offset_sync(OffsetSync("t" * 250, 0, 1, 1)))
    tail.take(*encode_offset_sync(OffsetSync("orders", -1, 1, 1)))
    assert (tail.newest, tail.refused) == ({}, 2)
