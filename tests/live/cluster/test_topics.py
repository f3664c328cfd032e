"""Topics of a real cluster."""

import uuid

import pytest

from jobs.cluster.admin.brokers import describe_cluster
from jobs.cluster.admin.configs import read_topic_configs
from jobs.cluster.admin.topics import NewTopicSpec, create_topics, delete_topics, describe_topics
from jobs.cluster.client import ClusterClient
from jobs.cluster.errors import Refused
from tests.live.topics import wait_until_known
from tests.waiting import PATIENCE, eventually


@pytest.fixture
def client(east):
    with ClusterClient(east.connection, timeout_s=30 * PATIENCE) as opened:
        yield opened


def fresh(client, partitions=2, **configs) -> str:
    name = f"door-{uuid.uuid4().hex[:8]}"
    created = create_topics(client, {name: NewTopicSpec(partitions, configs=configs)})
    assert created == {name: None}
    wait_until_known(client.connection, name, partitions)
    return name


def describe(client, name):
    return describe_topics(client, [name])[0]


def are_in_sync(topic) -> bool:
    partitions = topic.partitions
    return bool(partitions) and all(len(p.isr) == len(p.replicas) for p in partitions)


def test_a_new_topic_has_an_id_leaders_and_replicas_in_sync(client):
    name = fresh(client)
    # A broker that was late for a moment when the topic was made comes into sync again.
    eventually(lambda: are_in_sync(describe(client, name)), 60)
    topic = describe(client, name)
    assert topic.error is None
    assert len(topic.topic_id) == 22
    assert [p.partition for p in topic.partitions] == [0, 1]
    assert all(len(p.replicas) == 3 for p in topic.partitions)


def test_a_topic_that_exists_already_is_no_fault(client):
    name = fresh(client)
    assert create_topics(client, {name: NewTopicSpec(2)}) == {name: None}


def test_a_topic_that_cannot_be_made_says_why_and_others_are_made(client):
    good, bad = f"door-{uuid.uuid4().hex[:8]}", "no/slash"
    created = create_topics(client, {good: NewTopicSpec(1), bad: NewTopicSpec(1)})
    assert created[good] is None
    assert isinstance(created[bad], Refused)
    assert "no/slash" in created[bad].message


def test_an_unknown_topic_is_a_partial_answer(client):
    name = fresh(client)
    unknown, known = describe_topics(client, [name, "a-topic-that-is-not-there"])
    assert "UNKNOWN_TOPIC_OR_PART" in unknown.error
    assert known.error is None


def test_all_topics_include_internal_ones_and_are_sorted(client):
    name = fresh(client)
    names = [topic.name for topic in describe_topics(client)]
    assert name in names
    assert names == sorted(names)


def test_a_topic_made_again_has_another_id(client):
    name = fresh(client)
    before = describe(client, name).topic_id
    assert delete_topics(client, [name]) == {name: None}
    eventually(lambda: describe(client, name).error)
    create_topics(client, {name: NewTopicSpec(1)})
    eventually(lambda: describe(client, name).topic_id not in {"", before}, 30)
    assert before


def test_deleting_what_is_not_there_is_no_fault(client):
    assert delete_topics(client, ["never-there"]) == {"never-there": None}


def test_settings_are_read_by_topic_and_key(client):
    name = fresh(client, **{"cleanup.policy": "compact"})
    keys = ["cleanup.policy", "max.message.bytes"]
    read = read_topic_configs(client, [name, "not-there"], keys)
    assert read == {name: {"cleanup.policy": "compact", "max.message.bytes": "1048588"}}


def test_no_topics_are_no_request(client):
    assert describe_topics(client, []) == []
    assert create_topics(client, {}) == {}


def test_the_principal_of_the_plaintext_listener_may_do_everything(client):
    operations = describe_cluster(client).authorized_operations
    assert operations is None or "DESCRIBE" in operations
