"""The last state and the last settings of each connector."""

from datetime import timedelta

from jobs.replication.findings.connect_topics import Configs, Statuses, config_topic, status_topic
from jobs.wire.topics.connect_records import StatusKey
from tests.jobs.replication.pictures import NOW

KEY = b"status-task-MirrorSourceConnector-0"
TASK = StatusKey("MirrorSourceConnector", 0)


def test_the_topics_are_named_after_the_source():
    assert status_topic("east") == "mm2-status.east.internal"
    assert config_topic("east") == "mm2-configs.east.internal"


def test_the_last_state_of_a_task_counts_with_its_time():
    statuses, later = Statuses(), NOW + timedelta(seconds=5)
    statuses.take(KEY, b'{"state":"RUNNING"}', NOW)
    statuses.take(KEY, b'{"state":"FAILED","trace":"boom"}', later)
    assert (statuses.said[TASK].status.state, statuses.said[TASK].at) == ("FAILED", later)


def test_a_deletion_takes_a_state_away_and_others_are_left_out():
    statuses = Statuses()
    statuses.take(KEY, b'{"state":"RUNNING"}', NOW)
    statuses.take(b"status-topic-t:connector-c", b'{"topic":{}}', NOW)
    statuses.take(KEY, None, NOW)
    statuses.take(KEY, b"nonsense", NOW)
    assert (statuses.said, statuses.refused) == ({}, 1)


def test_settings_are_those_written_last():
    configs = Configs()
    key = b"connector-MirrorSourceConnector"
    configs.take(key, b'{"properties":{"topics":"a"}}')
    configs.take(key, b'{"properties":{"topics":"b"}}')
    configs.take(b"session-key", b'{"key":"s3cr3t"}')
    configs.take(key, b"[")
    assert configs.setting("MirrorSourceConnector", "topics") == "b"
    assert configs.setting("MirrorSourceConnector", "nothing") is None
    assert configs.setting("Other", "topics") is None
    assert configs.refused == 1
    assert "s3cr3t" not in repr(configs)
    configs.take(key, None)
    assert configs.setting("MirrorSourceConnector", "topics") is None
