"""The state at a moment, and histories with their filters."""

from datetime import UTC, datetime

from jobs.quorum.history.changes import Cause
from jobs.quorum.history.histories import (
    broker_history,
    config_history,
    feature_history,
    partition_history,
    read_changes,
    topic_history,
    within,
)
from jobs.quorum.image.point_in_time import LogPosition, state_at
from jobs.wire.metadata.log import Gap
from tests.jobs.quorum.log_records import (
    ORDERS,
    T0,
    Log,
    change,
    cluster,
    config,
    feature,
    fence,
    partition,
    remove_topic,
    snapshot,
    topic,
    uuid,
)


def test_the_state_at_an_offset_has_that_record_as_its_last() -> None:
    log = Log()
    log.batch(topic("orders", ORDERS), partition(ORDERS), change(ORDERS, isr=[1]))
    assert state_at(log.records, LogPosition(offset=1)).image.partitions[ORDERS][0].isr == (1, 2, 3)
    assert state_at(log.records, LogPosition(offset=2)).image.partitions[ORDERS][0].isr == (1,)


def test_a_clock_that_goes_back_does_not_bring_later_records_in() -> None:
    log = Log()
    log.batch(config("a", "1"), after_ms=100)
    log.batch(config("a", "2"), after_ms=5000)
    log.batch(config("a", "3"), after_ms=-4950)
    found = state_at(log.records, LogPosition(timestamp_ms=T0 + 200)).image
    assert found.configs["TOPIC", "orders"] == {"a": "1"}
    assert state_at(log.records, LogPosition(timestamp_ms=T0 + 5100)).image.last_offset == 2


def test_a_moment_before_everything_is_told_as_such() -> None:
    log = Log()
    log.batch(config("a", "1"))
    assert state_at(log.records, LogPosition(timestamp_ms=T0 - 1)).is_before_log
    assert state_at(snapshot(100, topic("orders", ORDERS)), LogPosition(offset=98)).is_before_log


def test_inside_a_gap_the_state_is_not_known() -> None:
    log = Log()
    cluster(log)
    end = log.next_offset
    items = [*log.records, Gap(end, 100), *snapshot(100, topic("orders", ORDERS))]
    image = state_at(items, LogPosition(offset=50)).image
    assert image.is_empty
    assert (image.unknown_before, image.last_offset) == (51, 50)
    assert not state_at(items, LogPosition(offset=end - 1)).image.is_empty
    assert state_at(items, LogPosition(offset=99)).image.unknown_before is None


def test_a_state_is_whole_without_what_an_open_transaction_holds() -> None:
    log = Log()
    log.batch(("BEGIN_TRANSACTION_RECORD", {}), topic("orders", ORDERS))
    image = state_at(log.records, LogPosition()).image
    assert (image.topics, image.open_transaction) == ({}, 0)


def busy() -> Log:
    log = Log()
    cluster(log)
    log.batch(config("retention.ms", "1"))
    log.batch(change(ORDERS, 0, isr=[2, 3], leader=2), fence(1, 10))
    log.batch(feature("group.version", 1))
    log.batch(remove_topic(ORDERS))
    log.batch(topic("orders", uuid(78)), partition(uuid(78)))
    return log


def test_the_history_of_a_partition_spans_all_topics_of_the_name() -> None:
    changes = list(read_changes(busy().records))
    found = list(partition_history(changes, "orders", 0))
    assert [one.cause for one in found] == [
        Cause.TOPIC_CREATED,
        Cause.BROKER_FENCED,
        Cause.TOPIC_DELETED,
        Cause.TOPIC_CREATED,
    ]
    assert [one.topic_id for one in partition_history(changes, topic_id=uuid(78))] == [uuid(78)]


def test_histories_of_other_things_have_their_filters() -> None:
    changes = list(read_changes(busy().records))
    assert [one.cause for one in broker_history(changes, 1)] == [
        Cause.BROKER_REGISTERED,
        Cause.BROKER_UNFENCED,
        Cause.BROKER_FENCED,
    ]
    assert [one.value for one in config_history(changes, "TOPIC", "orders", "retention.ms")] == [
        "1",
        None,
    ]
    assert list(config_history(changes, "BROKER")) == []
    assert [one.level for one in feature_history(changes, "group.version")] == [1]
    assert [one.cause for one in topic_history(changes, "orders")] == [
        Cause.TOPIC_CREATED,
        Cause.TOPIC_DELETED,
        Cause.TOPIC_RECREATED,
    ]


def test_a_range_of_times_leaves_out_what_has_none() -> None:
    log = Log(first_offset=10)
    log.batch(config("a", "1"), after_ms=1000)
    log.batch(config("a", "2"), after_ms=1000)
    changes = list(read_changes([*snapshot(10, topic("orders", ORDERS)), *log.records]))
    start = datetime.fromtimestamp((T0 + 1000) / 1000, UTC)
    until = datetime.fromtimestamp((T0 + 2000) / 1000, UTC)
    assert [one.offset for one in within(changes, from_at=start, to_at=until)] == [10]
    assert [one.offset for one in within(changes, to_offset=11)] == [9, 10]
