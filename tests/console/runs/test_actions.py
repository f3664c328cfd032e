from datetime import timedelta
from pathlib import Path

import pytest

from console.frame.errors import ActionRefused
from console.runs.actions import (
    KEEP_ENDED_RUNS,
    RunRequest,
    cancel_run,
    finish_run,
    launch_run,
    queue_run,
    remove_old_runs,
)
from console.runs.models import Run, RunState
from tests.console.making import NOW, StubLauncher, make_run

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def runs_folder(settings, tmp_path):
    settings.CROSSLOG_RUNS_DIR = tmp_path


def test_a_subject_has_at_most_one_live_run():
    assert queue_run(RunRequest("replicate", "first", "flow:1"), NOW) is not None
    assert queue_run(RunRequest("replicate", "second", "flow:1"), NOW) is None


def test_an_ended_run_makes_room_for_the_next():
    make_run(subject="flow:1", state=RunState.CRASHED)
    assert queue_run(RunRequest("replicate", "next", "flow:1"), NOW) is not None


def test_runs_without_a_subject_do_not_exclude_each_other():
    assert queue_run(RunRequest("audit", "one"), NOW) is not None
    assert queue_run(RunRequest("audit", "two"), NOW) is not None


def test_launching_starts_the_process_with_the_arguments_and_a_lease():
    launcher = StubLauncher()
    run = queue_run(RunRequest("replicate", "r", "flow:1", {"flow": {"name": "f"}}), NOW)
    assert launch_run(run.pk, NOW, launcher)
    run.refresh_from_db()
    assert (run.state, launcher.started) == (RunState.RUNNING, [Path(run.folder)])


def test_a_launch_that_is_delivered_twice_starts_one_process():
    launcher = StubLauncher()
    run = queue_run(RunRequest("replicate", "r", "flow:1"), NOW)
    assert [launch_run(run.pk, NOW, launcher), launch_run(run.pk, NOW, launcher)] == [True, False]
    assert len(launcher.started) == 1


def test_a_run_that_cannot_be_started_says_why():
    launcher = StubLauncher()
    launcher.problem = FileNotFoundError("no java on the PATH")
    run = queue_run(RunRequest("replicate", "r"), NOW)
    launch_run(run.pk, NOW, launcher)
    run.refresh_from_db()
    assert run.state == RunState.CRASHED
    assert "no java on the PATH" in run.error


def test_a_run_that_was_given_up_while_it_started_is_killed():
    class Slow(StubLauncher):
        def start_run(self, spec, run_dir, environment=None):
            finish_run(spec.run_id, RunState.CRASHED, NOW, error="given up")
            return super().start_run(spec, run_dir)

    launcher = Slow()
    launch_run(queue_run(RunRequest("replicate", "r"), NOW).pk, NOW, launcher)
    assert launcher.killed == launcher.started


def test_cancelling_a_queued_run_ends_it_at_once():
    run = queue_run(RunRequest("replicate", "r"), NOW)
    cancel_run(run.pk, NOW)
    run.refresh_from_db()
    assert run.state == RunState.STOPPED


def test_cancelling_twice_keeps_the_first_time():
    run = make_run()
    cancel_run(run.pk, NOW)
    cancel_run(run.pk, NOW + timedelta(minutes=1))
    run.refresh_from_db()
    assert run.cancel_requested_at == NOW


def test_cancelling_an_ended_run_is_refused():
    with pytest.raises(ActionRefused, match="ended already"):
        cancel_run(make_run(state=RunState.SUCCEEDED).pk, NOW)


def test_an_end_is_written_once():
    run = make_run()
    assert finish_run(run.pk, RunState.SUCCEEDED, NOW)
    assert not finish_run(run.pk, RunState.CRASHED, NOW, error="late")
    run.refresh_from_db()
    assert (run.state, run.error) == (RunState.SUCCEEDED, "")


def test_old_runs_go_with_their_folders_and_live_ones_stay():
    launcher = StubLauncher()
    long_ago = NOW - KEEP_ENDED_RUNS - timedelta(days=1)
    make_run(state=RunState.SUCCEEDED, finished_at=long_ago, folder="/old")
    live = make_run(started_at=long_ago)
    assert remove_old_runs(NOW, launcher) == 1
    assert (launcher.removed, list(Run.objects.all())) == ([Path("/old")], [live])
