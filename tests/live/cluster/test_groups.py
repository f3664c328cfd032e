"""Committed offsets of groups on a real cluster: set, taken away, and refused while somebody uses them."""

import uuid
from contextlib import contextmanager

import pytest
from confluent_kafka import Consumer

from jobs.cluster.admin.groups import (
    alter_group_offsets,
    delete_group_offsets,
    describe_groups,
    read_committed_offsets,
)
from jobs.cluster.client import ClusterClient
from jobs.cluster.descriptions import CommittedOffset, TopicPartition
from jobs.cluster.errors import ClusterFault
from jobs.cluster.read_only import VARIABLE, ReadOnly
from tests.live.records import produce
from tests.live.topics import new_topic
from tests.waiting import PATIENCE, eventually


@pytest.fixture
def client(east):
    with ClusterClient(east.connection, timeout_s=30 * PATIENCE) as client:
        yield client


@pytest.fixture(scope="module")
def topic(east) -> str:
    name = new_topic(east, 2)
    for partition in (0, 1):
        produce(east, name, 10, partition)
    return name


def new_group() -> str:
    return f"g-{uuid.uuid4().hex[:8]}"


def committed(client, group: str) -> dict[TopicPartition, CommittedOffset]:
    return read_committed_offsets(client, [group])[group]


@contextmanager
def member_of(east, group: str, topic: str):
    """A consumer that reads the topic as a member of the group while the block runs."""
    consumer = Consumer(
        {
            "bootstrap.servers": east.bootstrap_servers,
            "group.id": group,
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
        }
    )
    try:
        consumer.subscribe([topic])
        # What is polled may be an error, as while a coordinator loads.
        eventually(lambda: (consumer.poll(0.2), consumer.assignment())[1], 60)
        yield consumer
    finally:
        consumer.close()


def test_a_group_that_does_not_exist_is_made_with_its_offsets(client, topic):
    group = new_group()
    offsets = {
        TopicPartition(topic, 0): CommittedOffset(3, "of the application"),
        TopicPartition(topic, 1): CommittedOffset(7),
    }
    assert alter_group_offsets(client, group, offsets) == dict.fromkeys(offsets)
    assert committed(client, group) == offsets
    assert describe_groups(client, [group])[group].state == "Empty"


def test_offsets_of_an_empty_group_go_forward_and_back(client, topic):
    group, where = new_group(), TopicPartition(topic, 0)
    for offset in (5, 9, 2):
        alter_group_offsets(client, group, {where: CommittedOffset(offset)})
        assert committed(client, group) == {where: CommittedOffset(offset)}


def test_an_offset_that_is_none_is_not_taken_for_the_first_one(client, topic):
    group, where = new_group(), TopicPartition(topic, 0)
    alter_group_offsets(client, group, {where: CommittedOffset(5)})
    assert alter_group_offsets(client, group, {where: CommittedOffset(None)}) == {}
    assert committed(client, group) == {where: CommittedOffset(5)}


def test_a_group_with_members_is_refused_as_a_whole(east, client, topic):
    group, where = new_group(), TopicPartition(topic, 0)
    alter_group_offsets(client, group, {where: CommittedOffset(5)})
    with member_of(east, group, topic):
        try:
            answers = alter_group_offsets(client, group, {where: CommittedOffset(2)})
        except ClusterFault as fault:
            answers = {where: fault.message}
        assert answers[where] is not None
        assert committed(client, group) == {where: CommittedOffset(5)}


def test_taking_offsets_away_leaves_the_others(client, topic):
    group = new_group()
    first, second = TopicPartition(topic, 0), TopicPartition(topic, 1)
    alter_group_offsets(client, group, {first: CommittedOffset(5), second: CommittedOffset(6)})
    assert delete_group_offsets(client, group, [first]) == {first: None}
    assert committed(client, group) == {second: CommittedOffset(6)}
    assert delete_group_offsets(client, group, [first]) == {first: None}


def test_offsets_that_a_member_reads_are_not_taken_away(east, client, topic):
    group, where = new_group(), TopicPartition(topic, 0)
    alter_group_offsets(client, group, {where: CommittedOffset(5)})
    with member_of(east, group, topic):
        assert "GROUP_SUBSCRIBED_TO_TOPIC" in delete_group_offsets(client, group, [where])[where]
    assert committed(client, group) == {where: CommittedOffset(5)}


def test_taking_offsets_of_an_unknown_group_away_is_refused_by_name(client, topic):
    group = new_group()
    with pytest.raises(ClusterFault, match="GROUP_ID_NOT_FOUND") as raised:
        delete_group_offsets(client, group, [TopicPartition(topic, 0)])
    assert group in raised.value.message


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(
            lambda client, group, where: alter_group_offsets(
                client, group, {where: CommittedOffset(2)}
            ),
            id="set",
        ),
        pytest.param(
            lambda client, group, where: delete_group_offsets(client, group, [where]),
            id="taken away",
        ),
    ],
)
def test_while_crosslog_is_read_only_no_offset_is_touched(client, topic, monkeypatch, change):
    group, where = new_group(), TopicPartition(topic, 0)
    alter_group_offsets(client, group, {where: CommittedOffset(5)})
    monkeypatch.setenv(VARIABLE, "1")
    with pytest.raises(ReadOnly, match=group):
        change(client, group, where)
    assert committed(client, group) == {where: CommittedOffset(5)}
