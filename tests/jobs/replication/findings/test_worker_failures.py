"""What connectors, heartbeats, offset syncs and converters tell."""

from datetime import timedelta

import pytest

from jobs.replication.findings.snapshot import HeartbeatsSnapshot, OffsetSyncsSnapshot
from jobs.wire.topics.connect_records import StatusKey
from tests.jobs.replication.pictures import MINUTE, NOW, codes, look, picture, said, task

SYNCS = OffsetSyncsSnapshot("mm2-offset-syncs.west.internal", "east", partitions=3)


def test_a_failed_task_is_told_with_its_reason_and_since_when():
    failed = said("FAILED", at=NOW - MINUTE, trace="java.lang.OutOfMemoryError: heap\n\tat x")
    (finding,) = look(picture(statuses={task(2): failed})).findings
    assert (finding.code, finding.severity) == ("task_failed", "critical")
    assert finding.subject == "MirrorSourceConnector task 2"
    assert finding.sentence.endswith("has failed: java.lang.OutOfMemoryError: heap")
    assert finding.since == NOW - MINUTE


@pytest.mark.parametrize(
    ("key", "status", "expected"),
    [
        pytest.param(task(), said("RUNNING"), [], id="running"),
        pytest.param(StatusKey("c"), said("PAUSED"), ["connector_paused"], id="paused"),
        pytest.param(StatusKey("c"), said("STOPPED"), ["connector_paused"], id="stopped"),
        pytest.param(task(), said("PAUSED"), [], id="a paused connector's task says nothing new"),
        pytest.param(task(), said("UNASSIGNED"), [], id="a rebalance"),
        pytest.param(
            task(),
            said("UNASSIGNED", at=NOW - 7 * MINUTE),
            ["task_not_assigned"],
            id="not assigned",
        ),
        pytest.param(
            task(), said("RESTARTING", at=NOW - 7 * MINUTE), ["task_not_assigned"], id="never back"
        ),
    ],
)
def test_states_that_a_person_should_know(key, status, expected):
    assert codes(look(picture(statuses={key: status}))) == expected


def beats(emitted=None, at_source=None, arrived=None):
    def ago(seconds):
        return None if seconds is None else NOW - timedelta(seconds=seconds)

    return HeartbeatsSnapshot(ago(emitted), ago(at_source), ago(arrived), "east.heartbeats")


@pytest.mark.parametrize(
    ("seen", "expected"),
    [
        pytest.param(beats(1, 1, 2), [], id="all well"),
        pytest.param(
            beats(1, 1, 200), [("heartbeats_stale", "critical")], id="sent, but not arriving"
        ),
        pytest.param(beats(1, 200, 200), [("heartbeats_stale", "warning")], id="none sent"),
        pytest.param(beats(1), [("heartbeats_absent", "info")], id="there never were any"),
        pytest.param(beats(300, 1, 1), [("heartbeats_stale", "warning")], id="the emitter is gone"),
    ],
)
def test_heartbeats(seen, expected):
    found = look(picture(heartbeats=seen, heartbeats_wanted=True)).findings
    assert [(f.code.value, f.severity.value) for f in found] == expected


def test_absent_heartbeats_say_who_would_send_them():
    (finding,) = look(picture(heartbeats=beats(1))).findings
    assert "the opposite direction (west to east)" in finding.todo


def test_a_flow_of_crosslog_needs_no_heartbeats_from_the_source():
    assert codes(look(picture(is_watched=False, heartbeats=beats(1)))) == []


@pytest.mark.parametrize(
    ("syncs", "expected", "words"),
    [
        pytest.param(SYNCS, [], "", id="all well"),
        pytest.param(
            OffsetSyncsSnapshot("", "east", is_enabled=False),
            ["syncs_missing"],
            "writes no",
            id="turned off",
        ),
        pytest.param(
            OffsetSyncsSnapshot("s", "east", exists=False),
            ["syncs_missing"],
            "does not exist",
            id="absent",
        ),
        pytest.param(
            OffsetSyncsSnapshot("s", "east", error="east: not authorized"),
            ["syncs_unreadable"],
            "not authorized",
            id="no right to read it",
        ),
        pytest.param(
            OffsetSyncsSnapshot("s", "east", refused=9),
            ["syncs_unreadable"],
            "none is an",
            id="foreign records",
        ),
        pytest.param(
            OffsetSyncsSnapshot("s", "east", partitions=1, refused=9),
            [],
            "",
            id="some foreign records",
        ),
    ],
)
def test_offset_syncs(syncs, expected, words):
    found = look(picture(syncs=syncs)).findings
    assert [f.code.value for f in found] == expected
    assert all(words in f.sentence for f in found)


def test_a_topic_on_the_other_cluster_is_pointed_out():
    syncs = OffsetSyncsSnapshot("s", "east", exists=False, is_elsewhere=True)
    assert "on the other cluster" in look(picture(syncs=syncs)).findings[0].todo


def test_a_topic_of_positions_that_brokers_do_not_compact_is_told_with_the_setting():
    long, short = 2_000_000, 40_000
    topic = "mm2-offsets.east.internal"
    assert not look(picture(positions_topic=topic, position_records=short)).findings
    (finding,) = look(picture(positions_topic=topic, position_records=long)).findings
    assert (finding.code, finding.subject) == ("positions_not_compacted", topic)
    assert "2,000,000 records" in finding.sentence
    assert "segment.bytes=1048576" in finding.todo


def test_records_in_json_are_told_with_the_converter_to_set():
    (finding,) = look(picture(wrapped={"heartbeats": 0, "east.checkpoints.internal": 4})).findings
    assert (finding.code, finding.subject) == ("wrapped_records", "east.checkpoints.internal")
    assert "ByteArrayConverter" in finding.todo


def test_a_flow_that_was_set_apart_is_named_with_what_to_do():
    (finding,) = look(picture(set_apart_at=NOW - MINUTE)).findings
    assert (finding.code, finding.severity, finding.since) == (
        "flow_set_apart",
        "warning",
        NOW - MINUTE,
    )
    assert picture().flow in finding.sentence
    assert "Stop and start the flow" in finding.todo
