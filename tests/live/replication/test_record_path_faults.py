"""Clusters that break while records are copied: nothing is lost, and people see what is going on."""

import json
import os
import signal
import subprocess
import sys
from collections import Counter

import pytest
from confluent_kafka import TopicPartition as ClientPartition
from confluent_kafka.admin import AdminClient

from jobs.replication.copy.contract import CopyState, PartitionStart
from tests.live.copiers import RecordCopying, copy_records, record_flow_between, survey
from tests.live.records import produce, read_all
from tests.live.topics import make_topic, new_topic
from tests.waiting import Stalls, eventually

COUNT = 60_000


def values(cluster, topic: str) -> list[bytes | None]:
    return [record.value for record in read_all(cluster, topic)]


def start_of(copying_start, **changes) -> PartitionStart:
    known = {name: getattr(copying_start, name) for name in PartitionStart.__slots__}
    return PartitionStart(**known | changes)


@pytest.mark.campaign("faults")
@pytest.mark.timeout(900)
def test_a_source_broker_killed_during_the_copy_loses_nothing(small_lab, west):
    lab = small_lab("hurt", nodes=3)
    hurt = lab.cluster("hurt")
    topic = new_topic(hurt, 3)
    for partition in range(3):
        produce(hurt, topic, COUNT, partition)
    with RecordCopying(record_flow_between(hurt, west, topic)) as copying:
        eventually(lambda: any(row.records for row in copying.rows.values()), 60)
        lab.node("hurt-1").kill()
        for partition in range(3):
            copying.wait_for_position(COUNT, partition, 120)
    copied = read_all(west, f"hurt.{topic}")
    assert copied == read_all(hurt, topic)
    assert sum(row.duplicates for row in copying.rows.values()) == 0


@pytest.mark.campaign("faults")
@pytest.mark.timeout(900)
def test_a_target_killed_during_the_copy_loses_nothing_and_is_told(small_lab, east):
    lab = small_lab("hurt")
    hurt = lab.cluster("hurt")
    topic = new_topic(east)
    produce(east, topic, COUNT)
    with RecordCopying(record_flow_between(east, hurt, topic)) as copying:
        eventually(lambda: copying.rows and copying.rows[0].records, 60)
        lab.node("hurt-1").kill()
        more = produce(east, topic, 1000)
        copying.wait_for_state(CopyState.RETRYING)
        copying.wait_for_reason("hurt")
        lab.start()
        copying.wait_for_position(COUNT + len(more), 0, 120)
        copying.wait_for_state(CopyState.CAUGHT_UP)
    copied, sent = values(hurt, f"east.{topic}"), values(east, topic)
    assert list(dict.fromkeys(copied)) == sent
    assert len(copied) - len(sent) <= copying.rows[0].duplicates


@pytest.mark.timeout(900)
def test_a_source_that_is_away_is_told_and_followed_when_it_is_back(small_lab, west):
    lab = small_lab("hurt")
    hurt = lab.cluster("hurt")
    topic = new_topic(hurt)
    produce(hurt, topic, 5)
    with RecordCopying(record_flow_between(hurt, west, topic)) as copying:
        copying.wait_for_state(CopyState.CAUGHT_UP)
        lab.node("hurt-1").kill()
        copying.wait_for_state(CopyState.RETRYING)
        copying.wait_for_reason("hurt")
        lab.start()
        copying.wait_for_state(CopyState.CAUGHT_UP)
        produce(hurt, topic, 5)
        copying.wait_for_position(10)
    assert values(west, f"hurt.{topic}") == values(hurt, topic)


@pytest.mark.campaign("faults")
@pytest.mark.timeout(900)
def test_a_stop_while_the_target_is_away_ends_in_time_and_keeps_the_position(small_lab, east):
    lab = small_lab("hurt")
    hurt = lab.cluster("hurt")
    topic = new_topic(east)
    flow = record_flow_between(east, hurt, topic)
    produce(east, topic, 5)
    with RecordCopying(flow) as copying:
        copying.wait_for_position(5)
        lab.node("hurt-1").kill()
        produce(east, topic, 5)
        copying.wait_for_state(CopyState.RETRYING)
        with Stalls() as stalls:
            copying.stop()
        assert stalls.took_s < 25
    assert copying.rows[0].position == 5
    lab.start()
    copy_records(flow, {0: 10})
    assert list(dict.fromkeys(values(hurt, f"east.{topic}"))) == values(east, topic)


@pytest.mark.timeout(900)
def test_a_killed_copier_goes_on_and_counts_what_it_wrote_twice(east, west, tmp_path):
    topic = new_topic(east)
    produce(east, topic, COUNT)
    flow = record_flow_between(east, west, topic)
    survey(flow)
    code = (
        "import sys, json\n"
        "from jobs.replication.flow.spec import FlowSpec\n"
        "from tests.live.copiers import survey\n"
        "from jobs.replication.copy.records.copier import RecordCopier\n"
        "flow = FlowSpec.from_mapping(json.loads(sys.argv[1]))\n"
        "RecordCopier(flow, commit_s=600).copy(survey(flow).plan.starts, lambda: False, print)\n"
    )
    with subprocess.Popen([sys.executable, "-c", code, json.dumps(flow.to_mapping())]) as victim:
        try:
            eventually(lambda: len(read_all(west, f"east.{topic}")) > 0, 60)
        finally:
            os.kill(victim.pid, signal.SIGKILL)
    again = copy_records(flow, {0: COUNT})
    copied, sent = values(west, f"east.{topic}"), values(east, topic)
    assert list(dict.fromkeys(copied)) == sent
    doubled = sum(Counter(copied).values()) - len(sent)
    assert doubled > 0
    assert again.rows[0].duplicates == doubled
    assert f"{doubled} records were written" in again.rows[0].findings[0]


def test_records_deleted_before_they_were_copied_are_a_finding_and_copying_goes_on(east, west):
    topic = new_topic(east)
    flow = record_flow_between(east, west, topic)
    produce(east, topic, 10)
    copy_records(flow, {0: 10})
    produce(east, topic, 20)
    admin = AdminClient({"bootstrap.servers": east.bootstrap_servers})
    for future in admin.delete_records([ClientPartition(topic, 0, 25)]).values():
        future.result()
    copying = copy_records(flow, {0: 30})
    assert f"Offsets 10 to 24 of {topic}-0 were deleted" in copying.rows[0].findings[0]
    assert "15 records are missing" in copying.rows[0].findings[0]
    assert copying.rows[0].records == 5


def test_a_position_beyond_the_end_of_the_log_stops_the_partition(east, west):
    topic = new_topic(east)
    produce(east, topic, 3)
    flow = record_flow_between(east, west, topic)
    (start,) = survey(flow).plan.starts
    with RecordCopying(flow, [start_of(start, position=50)]) as copying:
        row = copying.wait_for_state(CopyState.FAILED)
        eventually(lambda: not copying.is_running)
    assert "ends at offset 3 but was copied up to 50" in row.reason
    assert values(west, f"east.{topic}") == []


@pytest.mark.timeout(900)
@pytest.mark.campaign("faults")
def test_a_target_topic_that_is_not_there_is_told_and_tried_again(east, west):
    topic = new_topic(east)
    sent = produce(east, topic, 5)
    survey(record_flow_between(east, west, new_topic(east)))  # makes the topic of positions
    starts = [PartitionStart(topic, 0, 0, f"east.{topic}")]
    with RecordCopying(record_flow_between(east, west, topic), starts) as copying:
        row = copying.wait_for_reason("takes no records")
        make_topic(west, f"east.{topic}")
        copying.wait_for_position(5)
    assert row.state is CopyState.RETRYING
    assert f"Target partition east.{topic}-0 takes no records" in row.reason
    assert values(west, f"east.{topic}") == [r.value for r in sent]
