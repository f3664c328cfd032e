"""The newest heartbeats out of the records of a topic."""

from jobs.cluster.topic_reader import TopicRecord
from jobs.replication.findings.heartbeat_topics import _Tail
from jobs.wire.mirror_records import Heartbeat, encode_heartbeat


def test_a_heartbeat_whose_time_no_calendar_has_does_not_hide_the_others():
    tail = _Tail()
    for timestamp_ms in (1_700_000_000_000, 2**63 - 1):
        key, value = encode_heartbeat(Heartbeat("east", "west", timestamp_ms))
        tail.take(TopicRecord(0, 0, None, key, value, []))
    assert tail.at("east", "west").year == 2023
