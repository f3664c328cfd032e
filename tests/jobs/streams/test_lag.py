"""Lag of the input, of event time and of standbys, and what the loss of a process costs."""

import base64
import struct
from dataclasses import replace

import pytest

from jobs.cluster.descriptions import TopicPartition
from jobs.streams.application import TaskId
from jobs.streams.assembly import application_of
from jobs.streams.documents import application_mapping
from jobs.streams.lag import (
    changelogs_of,
    input_lags,
    restore_costs,
    standby_lags,
    states_of_tasks,
)
from tests.jobs.streams.written import NOW_MS, facts, observation, two_processes

TASK = TaskId("0", 0)


def stream_time(at_ms, *stores):
    content = struct.pack(">bq", 2, at_ms)
    if stores:
        content += struct.pack(">i", len(stores))
        for name, closed in stores:
            content += struct.pack(">i", len(name)) + name.encode() + struct.pack(">q", closed)
    return base64.b64encode(content).decode()


def lag_of(commits, topics=None):
    seen = observation(two_processes(), topics, commits)
    return input_lags(application_of(seen), seen.facts)[TASK][0]


def test_a_task_that_is_behind_says_by_how_many_records_and_how_old_they_are_at_most():
    found = lag_of({("orders", 0): (90, stream_time(NOW_MS - 7_000))})
    assert (found.committed, found.end, found.records) == (90, 100, 10)
    assert found.stream_time_ms == NOW_MS - 7_000
    assert found.at_most_ms == 7_000
    assert found.event_time_ms == 6_000, "the newest record is a second old"


def test_a_task_that_has_read_everything_has_no_lag_however_old_its_last_record_is():
    found = lag_of({("orders", 0): (100, stream_time(NOW_MS - 9_000_000))})
    assert (found.records, found.at_most_ms, found.event_time_ms) == (0, 0, 0)


def test_without_a_commit_everything_from_the_log_s_start_counts():
    found = lag_of({}, {"orders": replace(facts(4), starts=dict.fromkeys(range(4), 30))})
    assert (found.committed, found.records, found.stream_time_ms, found.at_most_ms) == (
        None, 70, None, None,
    )  # fmt: skip


@pytest.mark.parametrize(
    "metadata", ["", "by hand", "AgAAAYvP5Wh7AAAA"], ids=["none", "text", "damaged"]
)
def test_a_commit_without_stream_time_still_has_records(metadata):
    found = lag_of({("orders", 0): (60, metadata)})
    assert (found.records, found.stream_time_ms, found.event_time_ms) == (40, None, None)


def test_windows_that_are_emitted_when_they_close_tell_their_watermark():
    found = lag_of({("orders", 0): (60, stream_time(NOW_MS, ("totals", NOW_MS - 70_000)))})
    assert found.window_close_ms == {"totals": NOW_MS - 70_000}


def test_a_topic_that_did_not_answer_has_an_unknown_lag():
    found = lag_of({("orders", 0): (60, "")}, {"orders": replace(facts(4), starts={}, ends={})})
    assert (found.end, found.records) == (None, None)


def test_standbys_say_how_far_they_were_when_they_joined_last():
    seen = observation(two_processes())
    application = application_of(seen)
    found = standby_lags(application, seen.facts)
    assert {(str(one.task), one.position_sum, one.records) for one in found} == {
        (f"0_{number}", 40, 10) for number in range(4)
    }


def test_a_process_that_dies_costs_what_the_best_copy_lacked():
    seen = observation(two_processes())
    application = application_of(seen)
    states = states_of_tasks(application, seen.facts)
    assert states[TASK].changelogs == (TopicPartition("app-totals-changelog", 0),)
    for one in restore_costs(application, states, standby_lags(application, seen.facts)):
        assert (one.tasks, one.without_copy, one.records, one.size_bytes) == (2, (), 20, None)


def test_what_a_copy_lacks_now_is_not_known_and_does_not_grow_with_the_changelog():
    seen = observation(two_processes())
    application = application_of(seen)
    joined = changelogs_of(application, seen.facts)
    changelog = "app-totals-changelog"
    grown = replace(seen.facts.topics[changelog], ends=dict.fromkeys(range(4), 9_000_000))
    later = replace(seen.facts, topics=seen.facts.topics | {changelog: grown})
    for told in (
        application_mapping(application, seen.facts, joined),
        application_mapping(application, later, joined),
    ):
        assert {one["records"] for one in told["standby_lag_at_join"]} == {10}
        assert {one["as_of_ms"] for one in told["standby_lag_at_join"]} == {NOW_MS}
        for one in told["restore"]:
            assert (one["records"], one["records_at_rebalance"]) == (None, 20)
            assert one["as_of_ms"] == NOW_MS


def test_without_the_changelogs_of_the_rebalance_nothing_is_told_of_copies():
    seen = observation(two_processes())
    told = application_mapping(application_of(seen), seen.facts)
    assert {one["records"] for one in told["standby_lag_at_join"]} == {None}
    assert [(one["records"], one["records_at_rebalance"]) for one in told["restore"]] == [
        (None, None)
    ] * 2


def test_without_a_copy_all_of_the_changelog_is_read():
    seen = observation(two_processes(copies=False))
    application = application_of(seen)
    states = states_of_tasks(application, seen.facts)
    first = restore_costs(application, states, standby_lags(application, seen.facts))[0]
    assert [str(task) for task in first.without_copy] == ["0_0", "0_2"]
    assert (first.records, first.size_bytes) == (100, 10_000)


def test_what_is_not_known_of_one_task_is_not_known_of_the_sum():
    topics = {"orders": facts(4), "app-totals-changelog": replace(facts(4), ends={0: 5}, sizes={})}
    seen = observation(two_processes(copies=False), topics)
    application = application_of(seen)
    states = states_of_tasks(application, seen.facts)
    first = restore_costs(application, states, standby_lags(application, seen.facts))[0]
    assert (first.records, first.size_bytes) == (None, None)
