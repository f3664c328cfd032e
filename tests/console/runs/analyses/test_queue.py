from datetime import timedelta

import pytest
from django.db import IntegrityError, transaction

from console.accounts.models import Role
from console.runs import collect
from console.runs.actions import cancel_run, launch_run
from console.runs.analyses import watch
from console.runs.analyses.queue import queue_position, start_queued
from console.runs.analyses.watch import Clock, look_once, watch_analyses
from console.runs.collect import START_GRACE, observe_run, observe_runs
from console.runs.models import RunState
from jobs.spark import contract
from jobs.spark.contract import JobResult, Outcome
from tests.console.making import NOW, make_run, make_user
from tests.console.runs.analyses.making import make_analysis, make_queued

pytestmark = pytest.mark.django_db
LATER = NOW + timedelta(seconds=60)


def after(seconds):
    return NOW + timedelta(seconds=seconds)


def states(*runs):
    for run in runs:
        run.refresh_from_db()
    return [run.state for run in runs]


def test_the_oldest_start_first_and_a_few_at_once(launcher, settings):
    settings.ANALYSES_AT_ONCE = 2
    third, first, second = (
        make_queued(alias, created_at=after(age))
        for alias, age in (("east", 3), ("west", 1), ("north", 2))
    )
    assert start_queued(LATER, launcher) == 2
    assert states(first, second, third) == [RunState.RUNNING, RunState.RUNNING, RunState.QUEUED]


def test_one_log_has_one_running_analysis_and_others_pass(launcher):
    make_analysis("east")
    waits = make_queued("east", arguments={"most": 3}, created_at=after(1))
    passes = make_queued("west", created_at=after(2))
    assert start_queued(LATER, launcher) == 1
    assert states(waits, passes) == [RunState.QUEUED, RunState.RUNNING]


def test_the_database_itself_lets_one_analysis_of_a_log_run(launcher):
    make_analysis("east")
    waits = make_queued("east", arguments={"most": 3})
    assert not launch_run(waits.pk, NOW, launcher)
    with pytest.raises(IntegrityError), transaction.atomic():
        make_analysis("east", arguments={"most": 3})


def test_a_flow_still_has_one_live_run():
    make_run(subject="flow:1")
    with pytest.raises(IntegrityError), transaction.atomic():
        make_run(subject="flow:1")


def test_analyses_of_other_hosts_take_no_room_here(launcher, settings):
    settings.ANALYSES_AT_ONCE = 1
    make_analysis("west", host="elsewhere")
    make_queued("east")
    assert start_queued(NOW, launcher) == 1


def test_runs_of_flows_take_no_room(launcher, settings):
    settings.ANALYSES_AT_ONCE = 1
    make_run(subject="flow:1")
    make_queued("east")
    assert start_queued(NOW, launcher) == 1


def test_the_place_in_the_queue_counts_those_before():
    first, second = make_queued("east"), make_queued("west", created_at=after(1))
    running = make_analysis("north")
    assert [queue_position(run) for run in (first, second, running)] == [1, 2, None]


@pytest.fixture
def run(launcher):
    run = make_queued("east")
    start_queued(NOW, launcher)
    run.refresh_from_db()
    return run


def test_a_round_starts_what_waits(launcher):
    run = make_queued("east")
    observe_runs(NOW, launcher)
    assert states(run) == [RunState.RUNNING]


def test_a_result_is_kept_with_the_name_of_the_log(launcher, run):
    summary = {"arguments": {"log": "/archive/metadata/1"}, "tables": []}
    launcher.end(launcher.started[0], JobResult(Outcome.SUCCEEDED, None, summary))
    look_once(LATER, launcher)
    run.refresh_from_db()
    assert run.summary["arguments"]["log"] == "east"


def test_the_next_starts_at_once_when_one_ends(launcher, run):
    waits = make_queued("east", arguments={"most": 3}, created_at=after(1))
    assert look_once(LATER, launcher)
    launcher.end(launcher.started[0], JobResult(Outcome.SUCCEEDED))
    look_once(LATER, launcher)
    assert states(run, waits) == [RunState.SUCCEEDED, RunState.RUNNING]


class PaperClock:
    """Time that passes only by waiting; at each wait something may happen."""

    def __init__(self, *steps):
        self.seconds, self.steps = 0.0, list(steps)

    def wait(self, seconds):
        self.seconds += seconds
        if self.steps:
            self.steps.pop(0)()

    def clock(self):
        return Clock(lambda: after(self.seconds), lambda: self.seconds, self.wait)


def test_a_watch_ends_with_the_last_analysis(launcher, run):
    time = PaperClock(lambda: launcher.end(launcher.started[0], JobResult(Outcome.SUCCEEDED)))
    watch_analyses(launcher, time.clock())
    assert states(run) == [RunState.SUCCEEDED]
    assert time.seconds < 1


def test_a_watch_leaves_a_long_analysis_to_the_rounds(launcher, run):
    time = PaperClock()
    watch_analyses(launcher, time.clock())
    assert watch.WATCH_S <= time.seconds < watch.WATCH_S + 1
    assert states(run) == [RunState.RUNNING]


def test_a_second_watch_only_starts_what_waits(launcher, run):
    late = []
    time = PaperClock(lambda: late.append(watch_analyses(launcher, PaperClock().clock())))
    watch_analyses(launcher, time.clock())
    assert late == [None]


def test_cancelling_tells_the_job_at_once(launcher, run):
    cancel_run(run.pk, NOW)
    assert (launcher.started[0] / contract.STOP).exists()


def test_an_engine_that_does_not_let_go_of_a_cancelled_analysis_is_ended(launcher, run):
    cancel_run(run.pk, NOW)
    look_once(after(10), launcher)
    assert launcher.killed == []
    look_once(after(11), launcher)
    assert launcher.killed == [launcher.started[0]]


def test_cancelling_on_another_host_is_reported_by_its_watch(launcher, run):
    type(run).objects.update(host="elsewhere")
    cancel_run(run.pk, NOW)
    assert not (launcher.started[0] / contract.STOP).exists()


def lose(launcher, run, seconds):
    """Let the processes of a run die without a result, and look."""
    launcher.alive.clear()
    look_once(run.started_at + START_GRACE + timedelta(seconds=seconds), launcher)


def test_a_lost_analysis_is_tried_once_more_in_another_folder(launcher, run):
    lose(launcher, run, 1)
    run.refresh_from_db()
    assert (run.state, run.attempts) == (RunState.RUNNING, 2)
    assert [folder.name for folder in launcher.started] == [str(run.pk), f"{run.pk}-2"]
    assert launcher.removed == [launcher.started[0]]


def test_the_end_of_a_lost_attempt_is_not_that_of_the_next_one(launcher, run):
    run.refresh_from_db()
    lose(launcher, run, 1)
    launcher.end(launcher.started[0], JobResult(Outcome.FAILED, "too late"))
    observe_run(run, LATER, launcher)
    assert (run.attempts, states(run)) == (1, [RunState.RUNNING])
    assert (run.attempts, run.error) == (2, "")


def test_lost_twice_it_ends_and_says_why(launcher, run):
    lose(launcher, run, 1)
    run.refresh_from_db()
    (launcher.started[1] / contract.LOG).write_text("OutOfMemoryError\n")
    lose(launcher, run, 1)
    run.refresh_from_db()
    assert run.state == RunState.CRASHED
    assert run.error.startswith("Spark crashed 2 times")
    assert "OutOfMemoryError" in run.error


def test_one_that_was_cancelled_is_not_tried_again(launcher, run):
    cancel_run(run.pk, NOW)
    lose(launcher, run, 1)
    assert states(run) == [RunState.STOPPED]


def test_one_that_failed_is_not_tried_again(launcher, run):
    launcher.end(launcher.started[0], JobResult(Outcome.FAILED, "no such folder"))
    look_once(LATER, launcher)
    run.refresh_from_db()
    assert (run.state, run.error, run.attempts) == (RunState.FAILED, "no such folder", 1)


def test_one_that_was_lost_with_its_host_is_tried_here(launcher, settings):
    settings.LEASE_S = 30
    run = make_analysis("east", host="elsewhere", heartbeat_at=NOW)
    observe_runs(NOW + timedelta(seconds=91), launcher)
    run.refresh_from_db()
    assert (run.state, run.attempts) == (RunState.RUNNING, 2)


def test_a_lost_flow_is_not_tried_again(launcher):
    run = make_run(subject="flow:1", folder="/nowhere/run")
    observe_runs(NOW + timedelta(minutes=1), launcher)
    assert states(run) == [RunState.CRASHED]


@pytest.fixture
def ada_and_bo():
    return make_user(Role.OPERATOR, "ada"), make_user(Role.OPERATOR, "bo")


def test_people_take_turns_however_many_they_queued(launcher, settings, ada_and_bo):
    settings.ANALYSES_AT_ONCE = 1
    runs = {
        name: make_queued(name, requested_by=person, created_at=after(second - 60))
        for second, (name, person) in enumerate(
            zip(
                ["a1", "a2", "a3", "b1", "b2"],
                [ada_and_bo[n] for n in (0, 0, 0, 1, 1)],
                strict=True,
            )
        )
    }
    order = []
    for second in range(len(runs)):
        start_queued(after(second), launcher)
        order += [name for name, run in runs.items() if states(run) == [RunState.RUNNING]]
        launcher.end(launcher.started[-1], JobResult(Outcome.SUCCEEDED))
        collect.observe_all(collect.running_here(), after(second), launcher)
    assert order == ["a1", "b1", "a2", "b2", "a3"]


def test_a_person_without_a_place_comes_before_one_who_has_one(ada_and_bo):
    ada, bo = ada_and_bo
    make_analysis("north", requested_by=ada)
    older = make_queued("east", requested_by=ada)
    newer = make_queued("west", requested_by=bo, created_at=after(1))
    assert [queue_position(run) for run in (older, newer)] == [2, 1]
