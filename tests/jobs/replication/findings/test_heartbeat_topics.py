"""The newest heartbeats out of the records of a topic."""

from dataclasses import dataclass

from jobs.replication.findings.heartbeat_topics import _Tail
from jobs.wire.mirror_records import Heartbeat, encode_heartbeat


@dataclass
class Read:
    """A record as a consumer gives it, only key and value."""

    content: tuple[bytes, bytes]

    def key(self):
        return self.content[0]

    def value(self):
        return self.content[1]


def test_a_heartbeat_whose_time_no_calendar_has_does_not_hide_the_others():
    tail = _Tail()
    for timestamp_ms in (1_700_000_000_000, 2**63 - 1):
        tail.take(Read(encode_heartbeat(Heartbeat("east", "west", timestamp_ms))))
    assert tail.at("east", "west").year == 2023
