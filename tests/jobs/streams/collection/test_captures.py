"""Captures of real applications: crosslog says what their JVMs say, and the truth is what they serve."""

import re
from pathlib import Path

import pytest

from jobs.streams.answers import metadata_for_key, metadata_for_store
from jobs.streams.assembly import application_of
from jobs.streams.collection.capture import BadCapture, read_capture
from jobs.streams.metadata_state import UNAVAILABLE, metadata_state
from tests.jobs.streams.collection.comparisons import (
    assert_all_metadata_is_that_of_every_jvm,
    assert_running_tasks_are_those_of_every_jvm_s_threads,
    assert_stores_and_keys_are_those_of_every_jvm,
    assert_truth_is_who_serves_and_wrong_answers_are_found,
    inside,
    read,
)
from tests.support import STREAMS_LIVE, conformance_cases

NAMES = ("classic_two_instances", "one_without_endpoint", "streams_protocol")
STORE = "totals-by-customer"


@pytest.mark.parametrize("name", NAMES)
def test_all_metadata_is_that_of_every_jvm(name):
    assert_all_metadata_is_that_of_every_jvm(STREAMS_LIVE / name)


@pytest.mark.parametrize("described", [True, False], ids=["described", "not described"])
@pytest.mark.parametrize("name", NAMES)
def test_a_store_s_hosts_and_each_key_s_answer_are_those_of_every_jvm(name, described):
    assert_stores_and_keys_are_those_of_every_jvm(STREAMS_LIVE / name, described=described)


@pytest.mark.parametrize("name", NAMES)
def test_the_truth_is_who_serves_the_key_and_wrong_answers_are_found(name):
    assert_truth_is_who_serves_and_wrong_answers_are_found(STREAMS_LIVE / name)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("classic_two_instances", (200, 0, 0)),
        ("one_without_endpoint", (39, 33, 128)),
        ("streams_protocol", (200, 0, 0)),
    ],
)
def test_the_answers_are_right_wrong_and_unavailable_as_often_as_it_was_counted(name, expected):
    application = read(STREAMS_LIVE / name)
    counts = {"right": 0, "wrong": 0, "unavailable": 0}
    for key in inside(STREAMS_LIVE / name)[0]["queryMetadataForKey"]:
        found = metadata_for_key(application, STORE, key.encode()).jvm
        unavailable = found.answer.active == UNAVAILABLE
        counts["right" if found.is_right else "unavailable" if unavailable else "wrong"] += 1
    assert tuple(counts.values()) == expected


def test_the_share_of_wrong_answers_is_reckoned_from_the_routing():
    found = metadata_for_key(read(STREAMS_LIVE / "one_without_endpoint"), STORE, b"cust-000")
    assert found.jvm.misrouted == pytest.approx(1 - 39 / 200, abs=0.05)


@pytest.mark.parametrize("name", NAMES)
def test_running_tasks_are_those_of_every_jvm_s_threads(name):
    assert_running_tasks_are_those_of_every_jvm_s_threads(STREAMS_LIVE / name)


@pytest.mark.parametrize("name", NAMES)
def test_stores_are_known_without_a_description_and_say_how(name):
    stores = read(STREAMS_LIVE / name, described=False).stores
    assert {one.name: one.subtopology for one in stores.values()} == {
        "customers": "1", STORE: "1", "orders-per-minute": "2",
    }  # fmt: skip
    assert stores["orders-per-minute"].confidence == "exact"
    assert all(one.reason for one in stores.values())
    assert len(metadata_for_store(read(STREAMS_LIVE / name), STORE)) == 2


@pytest.mark.parametrize("case", conformance_cases("streams_partitioning", "assignment_property"))
@pytest.mark.parametrize("name", ["classic_two_instances", "streams_protocol"])
def test_of_two_hosts_each_has_what_is_active_on_the_other_as_standby(name, case):
    assert case["given"] == "two hosts, 1 standby"
    application = read(STREAMS_LIVE / name)
    one, other = metadata_state(application).all()
    # The source topic of the subtopology without a store has no standby.
    stateless = {place for place in one.partitions | other.partitions if place.topic == "orders"}
    assert one.partitions - stateless == other.standby_partitions
    assert other.partitions - stateless == one.standby_partitions
    counts = application.topic_partitions
    topics = {place.topic for place in one.partitions | other.partitions}
    assert len(one.partitions | other.partitions) == sum(counts[topic] for topic in topics)


def test_a_log_of_group_records_gives_every_generation():
    seen = read_capture(STREAMS_LIVE / "one_without_endpoint" / "group_log.json")
    assert [one.generation for one in seen] == [*range(11), *range(12, 17)]
    last = application_of(seen[-1])
    assert (len(last.processes), len(last.tasks)) == (2, 16)
    assert read_capture(STREAMS_LIVE / "streams_protocol" / "group_log.json") == ()


@pytest.mark.parametrize(
    ("content", "told"),
    [
        pytest.param("", "no JSON", id="empty"),
        pytest.param("7", "no JSON object", id="a number"),
        pytest.param("[7]", "no capture", id="a list of something else"),
        pytest.param("{}", "describes no group", id="an object of something else"),
        pytest.param('{"describe_groups": {"members": [{}]}}', "group is missing", id="no name"),
        pytest.param('{"raw": {"describe_groups": {"response_hex": "zz", "version": 6}}}',
                     "no capture", id="no hex"),
        pytest.param('{"raw": {"describe_groups": {"response_hex": "00", "version": 6}}}',
                     "DescribeGroups answer of version 6", id="an answer cut short"),
        pytest.param('{"raw": {"describe_groups": {"response_hex": "00", "version": 99}}}',
                     "are known", id="a version that is unknown"),
        pytest.param('{"raw": {"streams_group_describe": {"response_hex": "0000000700ff", "version": 0}}}',
                     "StreamsGroupDescribe answer", id="bytes of something else"),
        pytest.param("[" * 100_000, "nested too deeply", id="too deep"),
        pytest.param('{"describe_groups": []}', "describes no group", id="a list of groups"),
        pytest.param('{"group": "a", "describe_groups": {"members": [7]}}', "another form", id="members"),
        pytest.param('{"group": 7, "describe_groups": {"members": [], "state": "", "protocol_type": "",'
                     ' "protocol": ""}}', "group is no text: 7", id="a number for a name"),
        pytest.param('{"raw": []}', "another form", id="a list for an object"),
    ],
)  # fmt: skip
def test_a_file_that_is_no_capture_is_refused_with_a_sentence(tmp_path: Path, content, told):
    path = tmp_path / "capture.json"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(BadCapture, match=told) as raised:
        read_capture(path)
    assert not re.search("object has no|not subscriptable|Error|argument", str(raised.value))
