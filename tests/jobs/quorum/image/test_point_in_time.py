"""The state at a moment, and what changed."""

from jobs.quorum.history.changes import (
    BrokerChange,
    Cause,
    ConfigChange,
    FeatureChange,
    PartitionChange,
    TopicChange,
)
from jobs.quorum.history.histories import read_changes
from jobs.quorum.image.point_in_time import LogPosition, state_at
from jobs.wire.metadata.log import Gap
from tests.jobs.quorum.changes import changes_of
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


def test_a_moment_before_everything_is_reported_as_such() -> None:
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
    found = changes_of(changes, PartitionChange, topic="orders", partition=0)
    assert [one.cause for one in found] == [
        Cause.TOPIC_CREATED,
        Cause.BROKER_FENCED,
        Cause.TOPIC_DELETED,
        Cause.TOPIC_CREATED,
    ]
    assert [one.topic_id for one in changes_of(changes, PartitionChange, topic_id=uuid(78))] == [
        uuid(78)
    ]


def test_brokers_settings_features_and_topics_have_a_history() -> None:
    changes = list(read_changes(busy().records))
    assert [one.cause for one in changes_of(changes, BrokerChange, broker_id=1)] == [
        Cause.BROKER_REGISTERED,
        Cause.BROKER_UNFENCED,
        Cause.BROKER_FENCED,
    ]
    values = changes_of(changes, ConfigChange, resource_name="orders", name="retention.ms")
    assert [one.value for one in values] == ["1", None]
    assert [one.level for one in changes_of(changes, FeatureChange, name="group.version")] == [1]
    assert [one.cause for one in changes_of(changes, TopicChange, topic="orders")] == [
        Cause.TOPIC_CREATED,
        Cause.TOPIC_DELETED,
        Cause.TOPIC_RECREATED,
    ]
