"""Settings of topics on a real cluster, with their origin, and changes of single ones."""

import pytest

from jobs.cluster.admin.configs import (
    ConfigAlteration,
    ConfigSource,
    alter_topic_configs,
    describe_topic_configs,
)
from jobs.cluster.admin.topics import create_partitions
from jobs.cluster.client import ClusterClient
from jobs.cluster.errors import Refused, UnknownTopicOrPartition
from tests.live.topics import new_topic
from tests.waiting import PATIENCE, eventually


@pytest.fixture
def client(west):
    with ClusterClient(west.connection, timeout_s=30 * PATIENCE) as opened:
        yield opened


def test_every_setting_has_its_value_and_origin(client, west):
    topic = new_topic(west, retention_ms="7000")
    found = describe_topic_configs(client, [topic])[topic]
    assert (found["retention.ms"].value, found["retention.ms"].is_override) == ("7000", True)
    assert found["cleanup.policy"].source is ConfigSource.DEFAULT_CONFIG
    assert found["min.insync.replicas"].source is not ConfigSource.UNKNOWN


def test_a_topic_that_is_not_there_is_a_fault(client):
    found = describe_topic_configs(client, ["never-there"])
    assert isinstance(found["never-there"], UnknownTopicOrPartition)


def test_one_setting_is_set_and_one_deleted_and_the_others_stay(client, west):
    topic = new_topic(west, retention_ms="7000", segment_ms="8000")
    wanted = [ConfigAlteration("retention.ms", None), ConfigAlteration("flush.ms", "9")]
    assert alter_topic_configs(client, {topic: wanted}) == {topic: None}
    eventually(lambda: describe_topic_configs(client, [topic])[topic]["flush.ms"].is_override)
    found = describe_topic_configs(client, [topic])[topic]
    assert {key for key, value in found.items() if value.is_override} == {"segment.ms", "flush.ms"}


def test_a_refused_setting_changes_nothing_of_its_topic_and_others_go_on(client, west):
    good, bad = new_topic(west), new_topic(west)
    both = [ConfigAlteration("no.such", "1"), ConfigAlteration("flush.ms", "9")]
    answers = alter_topic_configs(client, {bad: both, good: both[1:]})
    assert isinstance(answers[bad], Refused)
    assert answers[good] is None
    eventually(lambda: describe_topic_configs(client, [good])[good]["flush.ms"].is_override)
    assert not describe_topic_configs(client, [bad])[bad]["flush.ms"].is_override


def test_partitions_are_added_and_never_taken_away(client, west):
    topic = new_topic(west, 2)
    assert create_partitions(client, {topic: 3, "never-there": 2}) | {"never-there": None} == {
        topic: None,
        "never-there": None,
    }
    assert "INVALID_PARTITIONS" in create_partitions(client, {topic: 2})[topic].message
