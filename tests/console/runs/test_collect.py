import logging
from datetime import timedelta

import pytest

from console.runs.actions import RunRequest, cancel_run, launch_run, queue_run
from console.runs.collect import START_GRACE, STOP_GRACE, observe_runs
from console.runs.models import RunState
from jobs.spark import contract
from jobs.spark.contract import JobResult, Outcome
from tests.console.making import NOW, StubLauncher, make_run, partition_row, progress
from tests.small_disks import small_disk

pytestmark = pytest.mark.django_db
LATER = NOW + timedelta(minutes=5)


@pytest.fixture
def launcher(settings, tmp_path):
    settings.CROSSLOG_RUNS_DIR = tmp_path
    return StubLauncher()


@pytest.fixture
def run(launcher):
    run = queue_run(RunRequest("replicate", "r", "flow:1"), NOW)
    launch_run(run.pk, NOW, launcher)
    run.refresh_from_db()
    return run


def folder_of(launcher):
    return launcher.started[-1]


def test_a_queued_run_that_was_not_launched_is_launched(launcher):
    run = queue_run(RunRequest("replicate", "r"), NOW)
    observe_runs(NOW, launcher)
    run.refresh_from_db()
    assert run.state == RunState.RUNNING


def test_a_living_run_keeps_its_lease_and_its_heartbeat(launcher, run):
    observe_runs(LATER, launcher)
    run.refresh_from_db()
    assert (launcher.leases, run.heartbeat_at) == ([folder_of(launcher)], LATER)


def test_progress_is_taken_from_the_folder(launcher, run):
    document = progress(partition_row(), at=LATER)
    contract.write_json(folder_of(launcher) / contract.PROGRESS, document)
    observe_runs(LATER, launcher)
    run.refresh_from_db()
    assert (run.progress, run.reported_at) == (document, LATER)


def test_the_stages_of_the_start_are_kept_beside_the_progress(launcher, run):
    stages = {"driver_started": 1, "surveyed": 2}
    document = progress(partition_row(), at=LATER) | {"stages": stages}
    contract.write_json(folder_of(launcher) / contract.PROGRESS, document)
    observe_runs(LATER, launcher)
    run.refresh_from_db()
    assert run.stages == stages


@pytest.mark.parametrize("outcome", list(Outcome))
def test_a_result_becomes_the_end(launcher, run, outcome):
    launcher.end(folder_of(launcher), JobResult(outcome, "why", {"records": 7}))
    observe_runs(LATER, launcher)
    run.refresh_from_db()
    assert (run.state, run.error, run.summary) == (outcome.value, "why", {"records": 7})


def test_a_killed_keeper_is_reported_with_the_last_lines_of_its_log(launcher, run):
    launcher.end(folder_of(launcher), log="line one\njava.lang.OutOfMemoryError: heap\n")
    observe_runs(LATER, launcher)
    run.refresh_from_db()
    assert run.state == RunState.CRASHED
    assert run.error.endswith("java.lang.OutOfMemoryError: heap")


@pytest.mark.parametrize(("word", "state"), [("ERRORED", "CRASHED"), ("CANCELLED", "STOPPED")])
def test_a_result_that_a_supervisor_of_0_5_wrote_is_read(launcher, run, word, state):
    launcher.end(folder_of(launcher), JobResult(Outcome.FAILED))
    contract.write_json(folder_of(launcher) / contract.RESULT, {"outcome": word, "error": "-"})
    observe_runs(LATER, launcher)
    run.refresh_from_db()
    assert run.state == state


def test_a_full_disk_is_named_as_the_reason_that_no_result_is_left(launcher, run):
    folder = folder_of(launcher)
    with small_disk(folder):
        launcher.alive.clear()
        observe_runs(LATER, launcher)
    run.refresh_from_db()
    assert run.state == RunState.CRASHED
    assert "disk of" in run.error
    assert "make room" in run.error


def test_a_run_whose_worker_died_before_starting_it_gets_a_moment(launcher):
    run = make_run(folder=str(folder_missing(launcher)))
    observe_runs(NOW + START_GRACE, launcher)
    run.refresh_from_db()
    assert run.state == RunState.RUNNING
    observe_runs(NOW + START_GRACE + timedelta(seconds=1), launcher)
    run.refresh_from_db()
    assert run.state == RunState.CRASHED


def folder_missing(launcher):
    return "/nowhere/run"


def test_a_cancelled_run_is_asked_to_stop_and_later_killed(launcher, run):
    cancel_run(run.pk, NOW)
    observe_runs(NOW, launcher)
    assert (folder_of(launcher) / contract.STOP).exists()
    assert not launcher.killed
    observe_runs(NOW + STOP_GRACE + timedelta(seconds=1), launcher)
    assert launcher.killed == [folder_of(launcher)]


def test_a_run_that_was_killed_after_a_cancel_is_cancelled(launcher, run):
    cancel_run(run.pk, NOW)
    launcher.end(folder_of(launcher))
    observe_runs(LATER, launcher)
    run.refresh_from_db()
    assert run.state == RunState.STOPPED


def test_runs_of_a_host_that_is_silent_are_given_up(launcher, settings):
    settings.LEASE_S = 30
    run = make_run(host="elsewhere", heartbeat_at=NOW)
    observe_runs(NOW + timedelta(seconds=89), launcher)
    run.refresh_from_db()
    assert run.state == RunState.RUNNING
    observe_runs(NOW + timedelta(seconds=91), launcher)
    run.refresh_from_db()
    assert run.state == RunState.CRASHED
    assert "elsewhere" in run.error


def test_a_damaged_folder_does_not_stop_the_lease_of_other_runs(launcher, run, caplog):
    caplog.set_level(logging.CRITICAL, "console.runs")
    (folder_of(launcher) / contract.PROGRESS).write_text("{ not json")
    other = queue_run(RunRequest("replicate", "r", "flow:2"), NOW)
    launch_run(other.pk, NOW, launcher)
    observe_runs(LATER, launcher)
    other.refresh_from_db()
    assert other.heartbeat_at == LATER


def test_observing_twice_changes_nothing(launcher, run):
    launcher.end(folder_of(launcher), JobResult(Outcome.SUCCEEDED))
    observe_runs(LATER, launcher)
    observe_runs(LATER + timedelta(minutes=1), launcher)
    run.refresh_from_db()
    assert run.finished_at == LATER
