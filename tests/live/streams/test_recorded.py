"""A capture that the recorder makes of a real application says the same outside and inside."""

import pytest

from jobs.streams.assembly import application_of
from jobs.streams.collection.capture import read_capture
from tests.jobs.streams.collection.comparisons import (
    assert_all_metadata_is_that_of_every_jvm,
    assert_members_are_read_as_kafka_reads_them,
    assert_running_tasks_are_those_of_every_jvm_s_threads,
    assert_stores_and_keys_are_those_of_every_jvm,
    assert_truth_is_who_serves_and_wrong_answers_are_found,
)
from tools.recording.streams_live import write_capture

pytestmark = pytest.mark.timeout(900)


def test_a_recorded_application_is_outside_what_its_jvms_say_inside(
    streams_cluster, one_without_endpoint, tmp_path
):
    write_capture(streams_cluster, one_without_endpoint, tmp_path)
    assert_all_metadata_is_that_of_every_jvm(tmp_path)
    assert_stores_and_keys_are_those_of_every_jvm(tmp_path, described=True)
    assert_stores_and_keys_are_those_of_every_jvm(tmp_path, described=False)
    assert_truth_is_who_serves_and_wrong_answers_are_found(tmp_path)
    assert_running_tasks_are_those_of_every_jvm_s_threads(tmp_path)
    assert_members_are_read_as_kafka_reads_them(tmp_path)


def test_its_group_log_ends_with_the_generation_that_runs(
    streams_cluster, one_without_endpoint, tmp_path
):
    write_capture(streams_cluster, one_without_endpoint, tmp_path)
    last = application_of(read_capture(tmp_path / "group_log.json")[-1])
    assert (len(last.processes), len(last.tasks)) == (2, 16)
