"""Positions on the target cluster: MirrorMaker 2's bytes, and the way back to the exact record."""

import json

from confluent_kafka import Producer

from jobs.cluster.admin.configs import read_topic_configs
from jobs.cluster.admin.topics import describe_topics
from jobs.cluster.client import ClusterClient
from jobs.cluster.descriptions import TopicPartition
from jobs.replication.copy.positions import PositionWriter, positions_topic, read_positions
from jobs.replication.flow.internal_topics import POSITIONS_PARTITIONS, ensure_positions_topic
from tests.live.copiers import RecordCopying, copy_records, record_flow_between
from tests.live.records import Record, produce, read_all, write
from tests.live.topics import make_topic, new_topic
from tests.waiting import eventually

TOPIC = positions_topic("east")


def records_of(cluster, topic: str) -> list[Record]:
    """What stands on the positions topic about one source topic."""
    return [r for r in read_all(cluster, TOPIC) if f'"{topic}"'.encode() in (r.key or b"")]


def position_of(cluster, topic: str, partition: int = 0) -> int | None:
    with ClusterClient(cluster.connection, timeout_s=60) as client:
        return read_positions(client, "east").get(TopicPartition(topic, partition))


def test_positions_are_written_byte_by_byte_as_mirror_maker_does(east, west):
    topic = new_topic(east, 2)
    produce(east, topic, 7, 1)
    copy_records(record_flow_between(east, west, topic), {1: 7})
    last = {record.key: record.value for record in records_of(west, topic)}
    key = b'["MirrorSourceConnector",{"cluster":"east","partition":1,"topic":"%s"}]'
    assert last[key % topic.encode()] == b'{"offset":6}'
    assert position_of(west, topic, 1) == 7


def test_the_topic_of_positions_is_made_as_connect_does(east, west):
    with ClusterClient(west.connection, timeout_s=60) as client:
        ensure_positions_topic(client, "east")
        ensure_positions_topic(client, "east")
        (described,) = describe_topics(client, [TOPIC])
        configs = read_topic_configs(client, [TOPIC], ["cleanup.policy"])
    assert len(described.partitions) == POSITIONS_PARTITIONS
    assert configs[TOPIC] == {"cleanup.policy": "compact"}


def test_without_a_topic_of_positions_there_are_none(west):
    with ClusterClient(west.connection, timeout_s=60) as client:
        assert dict(read_positions(client, "nobody")) == {}


def test_a_restart_goes_on_at_the_exact_record(east, west):
    topic = new_topic(east)
    flow = record_flow_between(east, west, topic)
    produce(east, topic, 100)
    copy_records(flow, {0: 100})
    produce(east, topic, 50)
    again = copy_records(flow, {0: 150})
    assert again.starts[0].position == 100
    assert again.rows[0].records == 50
    assert again.rows[0].duplicates == 0
    assert read_all(west, f"east.{topic}") == read_all(east, topic)


def test_a_position_of_mirror_maker_is_taken_over_under_its_own_key(east, west):
    topic = new_topic(east)
    sent = produce(east, topic, 10)
    key = json.dumps(["MirrorSourceConnector", {"topic": topic, "cluster": "east", "partition": 0}])
    with ClusterClient(west.connection, timeout_s=60) as client:
        ensure_positions_topic(client, "east")
    producer = Producer(
        {"bootstrap.servers": west.bootstrap_servers, "partitioner": "murmur2_random"}
    )
    producer.produce(TOPIC, b'{"offset":3}', key.encode())
    producer.flush()
    copy_records(record_flow_between(east, west, topic), {0: 10})
    assert [r.value for r in read_all(west, f"east.{topic}")] == [r.value for r in sent[4:]]
    keys = {record.key for record in records_of(west, topic)}
    assert keys == {key.encode()}
    assert position_of(west, topic) == 10


def test_a_reset_position_is_none(east, west):
    topic = new_topic(east)
    with ClusterClient(west.connection, timeout_s=60) as client:
        ensure_positions_topic(client, "east")
        positions = read_positions(client, "east")
        producer = client.producer({"partitioner": "murmur2_random"})
        PositionWriter(producer, "east", positions).write(TopicPartition(topic, 0), 5, None)
        producer.flush()
        assert position_of(west, topic) == 5
        producer.produce(TOPIC, None, records_of(west, topic)[0].key)
        producer.flush()
    assert position_of(west, topic) is None


def test_other_programs_records_among_the_positions_do_no_harm(east, west):
    with ClusterClient(west.connection, timeout_s=60) as client:
        ensure_positions_topic(client, "east")
    write(
        west,
        TOPIC,
        [Record(3, b"what", b"is this"), Record(4, None, None), Record(5, b"[]", b"[]")][:1],
    )
    topic = new_topic(east)
    produce(east, topic, 3)
    copy_records(record_flow_between(east, west, topic), {0: 3})
    assert position_of(west, topic) == 3


def test_a_flow_that_was_reset_writes_its_new_beginning_at_once(east, west):
    topic = new_topic(east)
    make_topic(west, f"east.{topic}")
    with RecordCopying(record_flow_between(east, west, topic)) as copying:
        copying.wait_for_position(0)
        # It is told before the target has acknowledged it.
        eventually(lambda: position_of(west, topic) is not None, 20)
    assert position_of(west, topic) == 0
