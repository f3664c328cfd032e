"""Groups go over exactly where they stopped, go back when they go back, and are left alone while in use."""

import uuid

import pytest
from confluent_kafka import Producer

from jobs.cluster.admin.configs import read_topic_configs
from jobs.cluster.admin.topics import describe_topics
from jobs.cluster.client import ClusterClient
from jobs.cluster.descriptions import TopicPartition
from jobs.replication.checkpoints.topic import TOPIC_ID_HEADER, read_checkpoint_topic
from jobs.replication.flow.spec import Guarantee, SyncsLocation
from jobs.wire.mirror_records import decode_checkpoint
from tests.live.cluster.test_groups import member_of
from tests.live.copiers import BatchCopying, copy_all, flow_between
from tests.live.groups import (
    Rounds,
    commit,
    new_group,
    offsets_of,
    values_from,
    wait_until_inactive,
)
from tests.live.records import produce, read_all
from tests.live.topics import new_topic

CHECKPOINTS = "east.checkpoints.internal"
PLACES = (0, 1, 7, 40, 41, 59, 60, 61, 80, 99, 104, 119, 120)


def transactions(cluster, topic: str) -> None:
    """Write 60 records in transactions of 20, and aborted ones between them: gaps on the source."""
    producer = Producer(
        {"bootstrap.servers": cluster.bootstrap_servers, "transactional.id": uuid.uuid4().hex}
    )
    producer.init_transactions()
    for number in range(3):
        for end in (producer.commit_transaction, producer.abort_transaction):
            producer.begin_transaction()
            for at in range(20 if end == producer.commit_transaction else 5):
                producer.produce(topic, f"tx-{number}-{at}", partition=0)
            producer.flush()
            end()


@pytest.mark.parametrize(
    "settings",
    [
        pytest.param({}, id="exactly once"),
        pytest.param({"offset_syncs": SyncsLocation.SOURCE}, id="offset syncs on the source"),
        pytest.param({"delivery": Guarantee.AT_LEAST_ONCE}, id="at least once"),
    ],
)
def test_a_group_goes_on_exactly_where_it_stopped(east, west, settings):
    topic, prefix = new_topic(east), new_group("exact")
    flow = flow_between(east, west, topic, groups=(f"{prefix}.*",), **settings)
    with BatchCopying(flow) as copying:
        produce(east, topic, 30)
        copying.wait_for_position(30)
        produce(east, topic, 30)
        copying.wait_for_position(60)
        transactions(east, topic)
        produce(east, topic, 1)
        copying.wait_for_position(60 + 3 * 27 + 1)
    source, remote = TopicPartition(topic, 0), TopicPartition(f"east.{topic}", 0)
    values = [record.value for record in read_all(east, topic)]
    for place in PLACES:
        commit(east, f"{prefix}-{place}", {source: place})
    with Rounds(flow) as rounds:
        report = rounds.run()
    assert (report.told, report.exact, report.errors) == (len(PLACES), len(PLACES), {})
    assert report.sync.written == len(PLACES)
    for place in PLACES:
        expected = values_from(east, source, place, 1)
        there = offsets_of(west, f"{prefix}-{place}")[remote]
        left = len(values) - values.index(expected[0])
        assert values_from(west, remote, there, left) == values[-left:], place


def test_checkpoints_are_mirror_makers_bytes_in_a_topic_as_it_makes_it(east, west):
    topic, group = new_topic(east), new_group()
    flow = flow_between(east, west, topic, groups=(group,))
    produce(east, topic, 10)
    copy_all(flow, east, topic)
    commit(east, group, {TopicPartition(topic, 0): 4})
    with Rounds(flow) as rounds:
        rounds.run(sync_groups=False)
    with ClusterClient(west.connection) as client:
        described, remote = describe_topics(client, [CHECKPOINTS, f"east.{topic}"])
        assert read_topic_configs(client, [CHECKPOINTS], ["cleanup.policy"]) == {
            CHECKPOINTS: {"cleanup.policy": "compact"}
        }
        kept = read_checkpoint_topic(client, CHECKPOINTS, wants=lambda name: name == group)
    assert len(described.partitions) == 1
    (own,) = [r for r in read_all(west, CHECKPOINTS) if group.encode() in r.key]
    told = decode_checkpoint(own.key, own.value)
    assert (told.topic, told.partition, told.upstream_offset) == (f"east.{topic}", 0, 4)
    assert (own.headers, own.partition) == ([(TOPIC_ID_HEADER, remote.topic_id.encode())], 0)
    (entry,) = kept.checkpoints.values()
    assert (entry.checkpoint, entry.timestamp_ms) == (told, own.timestamp_ms)
    assert offsets_of(west, group) == {}


def test_a_group_that_goes_back_is_followed_and_one_in_use_is_left_alone(east, west):
    topic, prefix = new_topic(east), new_group("back")
    idle, used, foreign = (f"{prefix}-{name}" for name in ("idle", "used", "foreign"))
    flow = flow_between(east, west, topic, groups=(f"{prefix}.*",))
    produce(east, topic, 50)
    copy_all(flow, east, topic)
    source, remote = TopicPartition(topic, 0), TopicPartition(f"east.{topic}", 0)
    for group in (idle, used, foreign):
        commit(east, group, {source: 40})
    commit(west, used, {remote: 1})
    commit(west, foreign, {remote: 45})
    with Rounds(flow) as rounds, member_of(west, used, f"east.{topic}"):
        report = rounds.run()
        assert (report.sync.active, report.sync.written) == (1, 1)
        assert (offsets_of(west, idle), offsets_of(west, used)) == ({remote: 40}, {remote: 1})
        commit(east, idle, {source: 5})
        commit(east, used, {source: 5})
        report = rounds.run()
        assert report.sync.moved_back == 1
        assert (offsets_of(west, idle), offsets_of(west, used)) == ({remote: 5}, {remote: 1})
    assert offsets_of(west, foreign) == {remote: 45}
    assert foreign in report.sync.ahead
    wait_until_inactive(west, used)
    with Rounds(flow) as rounds:  # another driver, and nobody uses the group any more
        rounds.run()
    assert offsets_of(west, used) == {remote: 5}
