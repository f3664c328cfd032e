"""The fold where the log is not whole: what Kafka would refuse, snapshots, gaps, damage."""

from typing import Any

import pytest

from jobs.quorum.history.changes import (
    Anomaly,
    AnomalyKind,
    Cause,
    ConfigChange,
    PartitionChange,
    TopicChange,
)
from jobs.quorum.history.histories import read_changes
from jobs.wire.batches.log_batches import DamageKind, LogDamage
from jobs.wire.metadata.log import Gap
from tests.jobs.quorum.log_records import (
    ORDERS,
    Log,
    Spec,
    change,
    changes_of,
    cluster,
    config,
    fence,
    folded,
    partition,
    record,
    register,
    remove_topic,
    snapshot,
    topic,
    unregister,
    uuid,
)

FOO, BAR = uuid(1), uuid(2)


# What Kafka would refuse.

REFUSED: list[Any] = [
    pytest.param(
        change(BAR), AnomalyKind.UNKNOWN_TOPIC, id="a change of a topic that is not there"
    ),
    pytest.param(
        partition(BAR), AnomalyKind.UNKNOWN_TOPIC, id="a partition of a topic that is not there"
    ),
    pytest.param(
        remove_topic(BAR), AnomalyKind.UNKNOWN_TOPIC, id="a topic removed that is not there"
    ),
    pytest.param(
        change(ORDERS, 9), AnomalyKind.UNKNOWN_PARTITION, id="a partition that is not there"
    ),
    pytest.param(topic("orders", BAR), AnomalyKind.DUPLICATE_TOPIC, id="a name that lives already"),
    pytest.param(
        ("CLEAR_ELR_RECORD", {"topicName": "none"}),
        AnomalyKind.UNKNOWN_TOPIC,
        id="ELR of an unknown topic",
    ),
    pytest.param(fence(9, 90), AnomalyKind.UNKNOWN_BROKER, id="a broker that is not registered"),
    pytest.param(fence(1, 11), AnomalyKind.WRONG_BROKER_EPOCH, id="another epoch of a broker"),
    pytest.param(
        unregister(1, 11), AnomalyKind.WRONG_BROKER_EPOCH, id="unregistered with another epoch"
    ),
    pytest.param(
        ("REMOVE_ACCESS_CONTROL_ENTRY_RECORD", {"id": BAR}),
        AnomalyKind.UNKNOWN_ACL,
        id="an unknown ACL",
    ),
    pytest.param(
        ("UNKNOWN_RECORD", {"apiKey": 77}), AnomalyKind.UNKNOWN_RECORD, id="an unknown record"
    ),
    pytest.param(
        ("UNDECODABLE", {"problem": "cut off"}), AnomalyKind.UNDECODABLE, id="undecodable"
    ),
    pytest.param(
        ("PARTITION_RECORD", {"topicId": ORDERS}), AnomalyKind.MALFORMED, id="fields missing"
    ),
    pytest.param(
        ("PARTITION_CHANGE_RECORD", {"partitionId": 0, "topicId": ORDERS, "isr": 5}),
        AnomalyKind.MALFORMED,
        id="a field of another type",
    ),
]


@pytest.mark.parametrize(("spec", "kind"), REFUSED)
def test_what_kafka_would_refuse_is_an_anomaly_and_not_a_crash(
    spec: Spec, kind: AnomalyKind
) -> None:
    log = Log()
    cluster(log)
    log.batch(spec)
    log.batch(config("retention.ms", "1"))
    (found,) = changes_of(log.records, Anomaly)
    assert found.anomaly is kind
    assert found.offset == log.next_offset - 2
    assert folded(log.records).configs


@pytest.mark.parametrize("removed", [FOO, BAR], ids=["the first", "the second"])
def test_a_topic_takes_the_configs_of_its_name_although_another_one_has_the_name(
    removed: str,
) -> None:
    log = Log()
    log.batch(topic("orders", FOO), topic("orders", BAR), config("retention.ms", "1"))
    log.batch(remove_topic(removed))
    assert folded(log.records).configs == {}


def test_a_record_that_was_there_already_is_not_applied_again() -> None:
    log = Log()
    log.batch(config("retention.ms", "1"))
    log.batch(config("retention.ms", "2"))
    found = changes_of([*log.records, log.records[0]], (Anomaly, ConfigChange))
    assert [type(one).__name__ for one in found] == ["ConfigChange", "ConfigChange", "Anomaly"]


def test_a_tail_that_a_later_epoch_overwrote_makes_the_state_unknown() -> None:
    log = Log()
    log.batch(topic("foo", FOO), partition(FOO))
    log.batch(config("retention.ms", "1"))
    again = record(2, *config("retention.ms", "2"), epoch=2)
    image = folded([*log.records, again])
    assert image.unknown_before == 2
    assert image.topics == {}


# Snapshots and gaps.


def test_a_snapshot_at_the_beginning_tells_what_is_so_and_not_since_when() -> None:
    records = snapshot(100, topic("orders", ORDERS), partition(ORDERS), now_ms=5000)
    found = changes_of(records)
    assert {
        (one.cause, one.offset, one.timestamp_ms, one.since_offset, one.not_after_ms)
        for one in found
    } == {(Cause.SNAPSHOT, 99, None, None, 5000)}
    image = folded(records)
    assert (image.last_offset, image.last_timestamp_ms) == (99, 5000)


def test_what_a_snapshot_tells_differently_after_a_gap_happened_in_between() -> None:
    log = Log()
    cluster(log)
    last = log.next_offset - 1
    later = snapshot(
        100,
        register(1, 10, fenced=False),
        topic("orders", ORDERS),
        partition(ORDERS, 0, leader=2, isr=[2, 3], leaderEpoch=4, partitionEpoch=7),
        partition(ORDERS, 1, (2, 3, 1)),
        epoch=3,
        now_ms=9000,
    )
    items = [*log.records, Gap(last + 1, 100), *later]
    found = [one for one in read_changes(items) if one.cause is Cause.BETWEEN]
    assert {(one.offset, one.since_offset, one.timestamp_ms) for one in found} == {(99, last, None)}
    moved = [one for one in found if isinstance(one, PartitionChange)]
    assert [
        (one.partition, one.previous_leader, one.leader, one.leader_epoch) for one in moved
    ] == [(0, 1, 2, 4)]
    assert [one.broker_id for one in found if hasattr(one, "broker_id")] == [2, 3]


def test_behind_a_gap_nothing_is_merged_into_what_was_before() -> None:
    log = Log()
    cluster(log)
    log.next_offset += 10
    log.batch(change(ORDERS, 0, isr=[1]))
    found = changes_of(log.records, Anomaly)
    assert [one.anomaly for one in found] == [AnomalyKind.GAP, AnomalyKind.UNKNOWN_TOPIC]
    image = folded(log.records)
    assert image.partitions == {}
    assert image.unknown_before == log.next_offset - 1


def test_a_log_that_begins_in_the_middle_says_so() -> None:
    log = Log(first_offset=50)
    log.batch(config("retention.ms", "1"))
    (found,) = changes_of(log.records, Anomaly)
    assert found.anomaly is AnomalyKind.GAP
    assert "begins at offset 50" in found.problem


def test_a_snapshot_without_a_footer_is_left_out() -> None:
    log = Log(first_offset=100)
    log.batch(config("retention.ms", "1"))
    items = [*snapshot(100, topic("orders", ORDERS))[:-1], *log.records]
    found = changes_of(items, Anomaly)
    assert AnomalyKind.SNAPSHOT in {one.anomaly for one in found}
    assert folded(items).topics == {}


def test_a_snapshot_that_says_the_same_as_the_log_changes_nothing() -> None:
    log = Log()
    log.batch(topic("orders", ORDERS), partition(ORDERS))
    same = snapshot(log.next_offset, topic("orders", ORDERS), partition(ORDERS))
    other = snapshot(log.next_offset, topic("orders", ORDERS), partition(ORDERS, leader=3))
    assert changes_of([*log.records, *same]) == changes_of(log.records)
    (found,) = changes_of([*log.records, *other], Anomaly)
    assert found.anomaly is AnomalyKind.SNAPSHOT_DISAGREES
    assert "partition" in found.problem


def test_a_snapshot_of_long_ago_changes_nothing() -> None:
    log = Log()
    log.batch(topic("orders", ORDERS), partition(ORDERS), config("retention.ms", "1"))
    assert changes_of([*log.records, *snapshot(2, topic("orders", ORDERS))]) == changes_of(
        log.records
    )


def test_a_topic_that_a_snapshot_no_longer_has_was_deleted_and_may_come_back() -> None:
    log = Log()
    log.batch(topic("orders", FOO), partition(FOO))
    later = Log(first_offset=20)
    later.batch(topic("orders", BAR), partition(BAR))
    found = changes_of([*log.records, Gap(2, 20), *snapshot(20), *later.records], TopicChange)
    assert [(one.cause, one.is_removed, one.previous_topic_id) for one in found] == [
        (Cause.TOPIC_CREATED, False, None),
        (Cause.BETWEEN, True, None),
        (Cause.TOPIC_RECREATED, False, FOO),
    ]


def test_damage_is_reported_and_the_fold_continues_until_offsets_are_missing() -> None:
    log = Log()
    log.batch(config("retention.ms", "1"))
    damage = LogDamage(64, 1, DamageKind.WRONG_CRC, "wrong CRC")
    log.batch(config("retention.ms", "2"))
    found = list(read_changes([log.records[0], damage, log.records[1]]))
    assert [getattr(one, "anomaly", None) for one in found] == [None, AnomalyKind.DAMAGE, None]
