"""Records and topics that the target does not take: one partition stops and says why, others go on."""

import os

from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource

from jobs.replication.copy.contract import CopyState
from tests.live.copiers import RecordCopying, record_flow_between, survey
from tests.live.records import Record, produce, read_all, write
from tests.live.topics import make_topic, new_topic

LIMIT = 100_000
NEVER = str(2**63 - 1)


def set_config(cluster, topic: str, name: str, value: str) -> None:
    resource = ConfigResource(ConfigResource.Type.TOPIC, topic)
    resource.add_incremental_config(
        ConfigEntry(name, value, incremental_operation=AlterConfigOpType.SET)
    )
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap_servers})
    for future in admin.incremental_alter_configs([resource]).values():
        future.result()


def values(cluster, topic: str, partition: int = 0) -> list[bytes | None]:
    return [r.value for r in read_all(cluster, topic) if r.partition == partition]


def test_a_record_that_is_too_large_stops_its_partition_only_and_is_named(east, west):
    topic = new_topic(east, 2)
    make_topic(west, f"east.{topic}", 2, max_message_bytes=str(LIMIT))
    before = produce(east, topic, 3)
    write(east, topic, [Record(0, b"k", os.urandom(LIMIT + 1))])
    produce(east, topic, 4)
    with RecordCopying(record_flow_between(east, west, topic)) as copying:
        row = copying.wait_for_state(CopyState.FAILED)
        others = produce(east, topic, 20, 1)
        copying.wait_for_position(20, 1)
    assert row.position == 3
    for words in (f"{topic}-0 offset 3", f"{LIMIT + 2} bytes", f"at most {LIMIT} bytes", "Raise"):
        assert words in row.reason
    assert values(west, f"east.{topic}") == [r.value for r in before]
    assert values(west, f"east.{topic}", 1) == [r.value for r in others]


def test_after_the_limit_is_raised_a_restart_goes_on_with_the_refused_record(east, west):
    topic = new_topic(east)
    make_topic(west, f"east.{topic}", max_message_bytes=str(LIMIT))
    produce(east, topic, 3)
    write(east, topic, [Record(0, b"k", os.urandom(LIMIT + 1))])
    produce(east, topic, 3)
    flow = record_flow_between(east, west, topic)
    with RecordCopying(flow) as copying:
        copying.wait_for_state(CopyState.FAILED)
    set_config(west, f"east.{topic}", "max.message.bytes", "1000000")
    with RecordCopying(flow) as copying:
        copying.wait_for_position(7)
    assert values(west, f"east.{topic}") == values(east, topic)
    assert copying.rows[0].duplicates == 0


def test_a_large_record_that_compresses_below_the_limit_is_copied(east, west):
    topic = new_topic(east)
    make_topic(west, f"east.{topic}", max_message_bytes=str(LIMIT))
    write(east, topic, [Record(0, b"k", b"x" * 5 * LIMIT), Record(0, b"k", b"y")])
    with RecordCopying(record_flow_between(east, west, topic)) as copying:
        copying.wait_for_position(2)
    assert values(west, f"east.{topic}") == values(east, topic)


def test_many_records_near_the_limit_go_in_batches_that_fit(east, west):
    topic = new_topic(east)
    make_topic(west, f"east.{topic}", max_message_bytes=str(LIMIT))
    sent = [Record(0, b"k", os.urandom(LIMIT // 3)) for _ in range(30)]
    write(east, topic, sent)
    with RecordCopying(record_flow_between(east, west, topic)) as copying:
        copying.wait_for_position(30)
    assert values(west, f"east.{topic}") == [r.value for r in sent]


def test_a_record_larger_than_the_memory_given_to_it_is_copied_when_the_target_takes_it(east, west):
    big = 40_000_000
    topic = new_topic(east, max_message_bytes=str(big + 1000))
    sent = Record(0, b"k", os.urandom(big))
    write(
        east,
        topic,
        [sent],
        **{"message.max.bytes": big + 1000, "queue.buffering.max.kbytes": 99_000},
    )
    with RecordCopying(record_flow_between(east, west, topic)) as copying:
        copying.wait_for_position(1)
    assert values(west, f"east.{topic}") == [sent.value]


def test_a_record_refused_for_its_timestamp_is_found_among_many_and_named(east, west):
    topic = new_topic(east, 2, message_timestamp_after_max_ms=NEVER)
    make_topic(west, f"east.{topic}", 2, message_timestamp_after_max_ms="3600000")
    produce(east, topic, 2345)
    write(east, topic, [Record(0, b"k", b"from the future", None, 2**42)])
    produce(east, topic, 500)
    with RecordCopying(record_flow_between(east, west, topic)) as copying:
        row = copying.wait_for_state(CopyState.FAILED)
        others = produce(east, topic, 20, 1)
        copying.wait_for_position(20, 1)
    assert row.position == 2345
    assert f"{topic}-0 offset 2345" in row.reason
    assert "INVALID_TIMESTAMP" in row.reason
    copied = list(dict.fromkeys(values(west, f"east.{topic}")))
    assert copied == values(east, topic)[:2345]
    assert values(west, f"east.{topic}", 1) == [r.value for r in others]


def test_a_target_with_fewer_partitions_gets_those_that_fit(east, west):
    topic = new_topic(east, 3)
    make_topic(west, f"east.{topic}", 1)
    sent = produce(east, topic, 5)
    produce(east, topic, 5, 2)
    flow = record_flow_between(east, west, topic, grow_partitions=False)
    refused = survey(flow).plan.refused
    assert [row.partition for row in refused] == [1, 2]
    assert f"--alter --topic east.{topic} --partitions 3" in refused[0].reason
    with RecordCopying(flow) as copying:
        copying.wait_for_position(5)
    assert values(west, f"east.{topic}") == [r.value for r in sent]


def test_a_record_with_timestamp_0_is_copied_and_told(kafka, east, west):
    topic = new_topic(east, retention_ms="-1")
    arguments = ["--bootstrap-server", east.bootstrap_servers, "--topic", topic]
    arguments += ["--max-messages", "1", "--message-create-time", "0"]
    logging = east.node(1).logging
    main = "org.apache.kafka.tools.VerifiableProducer"
    with kafka.start_tool(main, arguments, logging=logging) as tool:
        tool.communicate(timeout=180)
    (sent,) = read_all(east, topic)
    assert sent.timestamp_ms == 0
    with RecordCopying(record_flow_between(east, west, topic)) as copying:
        copying.wait_for_position(1)
    (copied,) = read_all(west, f"east.{topic}")
    assert copied.value == sent.value
    assert "1 records, the first at offset 0, have the timestamp 0" in copying.rows[0].findings[0]
