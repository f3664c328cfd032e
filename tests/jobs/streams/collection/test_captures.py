"""Captures of real applications: crosslog says what their JVMs say, and the truth is what they serve."""

import re
from pathlib import Path

import pytest

from jobs.streams.answers import metadata_for_key, metadata_for_store
from jobs.streams.assembly import application_of
from jobs.streams.collection.capture import BadCapture, read_capture
from jobs.streams.metadata_state import UNAVAILABLE
from tests.jobs.streams.collection.comparisons import (
    assert_all_metadata_is_that_of_every_jvm,
    assert_running_tasks_are_those_of_every_jvm_s_threads,
    assert_stores_and_keys_are_those_of_every_jvm,
    assert_truth_is_who_serves_and_wrong_answers_are_found,
    inside,
    read,
)
from tests.support import CONFORMANCE

LIVE = CONFORMANCE / "streams_live"
NAMES = ("classic_two_instances", "one_without_endpoint", "streams_protocol")
needs_captures = pytest.mark.skipif(not LIVE.is_dir(), reason=f"no conformance data: {LIVE}")
STORE = "totals-by-customer"


@needs_captures
@pytest.mark.parametrize("name", NAMES)
def test_all_metadata_is_that_of_every_jvm(name):
    assert_all_metadata_is_that_of_every_jvm(LIVE / name)


@needs_captures
@pytest.mark.parametrize("described", [True, False], ids=["described", "not described"])
@pytest.mark.parametrize("name", NAMES)
def test_a_store_s_hosts_and_each_key_s_answer_are_those_of_every_jvm(name, described):
    assert_stores_and_keys_are_those_of_every_jvm(LIVE / name, described=described)


@needs_captures
@pytest.mark.parametrize("name", NAMES)
def test_the_truth_is_who_serves_the_key_and_wrong_answers_are_found(name):
    assert_truth_is_who_serves_and_wrong_answers_are_found(LIVE / name)


@needs_captures
@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("classic_two_instances", (200, 0, 0)),
        ("one_without_endpoint", (39, 33, 128)),
        ("streams_protocol", (200, 0, 0)),
    ],
)
def test_the_answers_are_right_wrong_and_unavailable_as_often_as_it_was_counted(name, expected):
    application = read(LIVE / name)
    counts = {"right": 0, "wrong": 0, "unavailable": 0}
    for key in inside(LIVE / name)[0]["queryMetadataForKey"]:
        found = metadata_for_key(application, STORE, key.encode()).jvm
        unavailable = found.answer.active == UNAVAILABLE
        counts["right" if found.is_right else "unavailable" if unavailable else "wrong"] += 1
    assert tuple(counts.values()) == expected


@needs_captures
def test_the_share_of_wrong_answers_is_reckoned_from_the_routing():
    found = metadata_for_key(read(LIVE / "one_without_endpoint"), STORE, b"cust-000")
    assert found.jvm.misrouted == pytest.approx(1 - 39 / 200, abs=0.05)


@needs_captures
@pytest.mark.parametrize("name", NAMES)
def test_running_tasks_are_those_of_every_jvm_s_threads(name):
    assert_running_tasks_are_those_of_every_jvm_s_threads(LIVE / name)


@needs_captures
@pytest.mark.parametrize("name", NAMES)
def test_stores_are_known_without_a_description_and_say_how(name):
    stores = read(LIVE / name, described=False).stores
    assert {one.name: one.subtopology for one in stores.values()} == {
        "customers": "1", STORE: "1", "orders-per-minute": "2",
    }  # fmt: skip
    assert stores["orders-per-minute"].confidence == "exact"
    assert all(one.reason for one in stores.values())
    assert len(metadata_for_store(read(LIVE / name), STORE)) == 2


@needs_captures
def test_a_log_of_group_records_gives_every_generation():
    seen = read_capture(LIVE / "one_without_endpoint" / "group_log.json")
    assert [one.generation for one in seen] == [*range(11), *range(12, 17)]
    last = application_of(seen[-1])
    assert (len(last.processes), len(last.tasks)) == (2, 16)
    assert read_capture(LIVE / "streams_protocol" / "group_log.json") == ()


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
