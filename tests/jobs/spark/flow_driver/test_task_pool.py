"""The tasks of a flow: one lost task is noted once, comes back alone, and disturbs no other."""

import pytest

from jobs.spark.flow_driver.task_pool import (
    RECONNECT_TIMEOUT_S,
    SILENCE_TIMEOUT_S,
    STEADY_S,
    TaskPool,
    backoff_s,
    last_line,
)


class FakeJob:
    def __init__(self, number):
        self.number = number
        self.problem = self.slot = None
        self.running = True
        self.cancelled = False

    def is_running(self):
        return self.running

    def cancel(self):
        self.cancelled = True

    def end(self, problem=None):
        self.running, self.problem = False, problem


class FakeLine:
    def __init__(self, task):
        self.task = task
        self.closed = False

    def close(self):
        self.closed = True


class Jobs(list):
    """Every job that was ever started."""

    def start(self, number):
        self.append(FakeJob(number))
        return self[-1]


@pytest.fixture
def jobs():
    return Jobs()


@pytest.fixture
def task_pool(jobs):
    made = TaskPool(jobs.start)
    made.grow(2, 0.0)
    return made


def come(task_pool, number, now_s=1.0):
    line = FakeLine(number)
    task_pool.task_connected(line, now_s)
    task_pool.tasks[number].has_assignment = True
    return line


def look(task_pool, now_s):
    return [(loss.number, loss.why) for loss in task_pool.check(now_s)]


def test_every_task_is_a_job_of_its_own(task_pool, jobs):
    assert [job.number for job in jobs] == [0, 1]
    task_pool.grow(2, 5.0)
    assert len(jobs) == 2


def test_a_task_is_ready_when_it_listens_and_knows_what_it_is_for(task_pool):
    task_pool.task_connected(FakeLine(0), 1.0)
    assert task_pool.ready() == []
    task_pool.tasks[0].has_assignment = True
    assert task_pool.ready() == [0]


def test_while_no_task_is_ready_all_are_expected_however_long_it_takes(task_pool):
    assert task_pool.expected(1000.0) == [0, 1]


def test_a_task_that_does_not_come_up_is_expected_only_for_a_while(task_pool):
    come(task_pool, 0)
    assert task_pool.expected(RECONNECT_TIMEOUT_S - 1) == [1]
    assert task_pool.expected(RECONNECT_TIMEOUT_S) == []


def test_on_a_slow_cluster_the_second_task_gets_its_time_from_the_first_one_on(task_pool):
    task_pool.expected(100.0)
    come(task_pool, 0, 100.1)
    assert task_pool.expected(100.0 + RECONNECT_TIMEOUT_S - 1) == [1]
    assert task_pool.expected(100.0 + RECONNECT_TIMEOUT_S) == []


def test_a_lost_line_is_a_loss(task_pool):
    line = come(task_pool, 0)
    loss = task_pool.task_disconnected(line, 2.0)
    assert (loss.number, task_pool.ready()) == (0, [])


def test_a_job_that_breaks_is_one_loss_although_line_and_job_both_tell(task_pool, jobs):
    line = come(task_pool, 0)
    jobs[0].end("OSError: disk")
    assert task_pool.task_disconnected(line, 2.0).why == "OSError: disk"
    assert look(task_pool, 2.1) == []


def test_a_job_that_breaks_before_its_task_came_is_a_loss_too(task_pool, jobs):
    jobs[1].end("ModuleNotFoundError: jobs")
    assert look(task_pool, 2.0) == [(1, "ModuleNotFoundError: jobs")]


def test_a_lost_task_is_started_again_alone_after_a_pause(task_pool, jobs):
    come(task_pool, 0)
    come(task_pool, 1)
    jobs[0].end("Error: gone")
    look(task_pool, 10.0)
    look(task_pool, 10.9)
    assert len(jobs) == 2
    look(task_pool, 11.0)
    assert [job.number for job in jobs] == [0, 1, 0]
    assert task_pool.ready() == [1]


def test_each_failure_in_a_row_makes_the_pause_longer(task_pool, jobs):
    jobs[0].end("a")
    look(task_pool, 0.0)
    look(task_pool, 1.0)
    jobs[-1].end("b")
    look(task_pool, 1.0)
    look(task_pool, 2.9)
    assert len(jobs) == 3
    look(task_pool, 3.0)
    assert len(jobs) == 4


def test_after_a_steady_time_the_pause_is_short_again(task_pool, jobs):
    task_pool.tasks[0].failures = 5
    come(task_pool, 0)
    jobs[0].end("late")
    look(task_pool, STEADY_S + 1)
    assert task_pool.tasks[0].retry_at_s == STEADY_S + 1 + backoff_s(1)


def test_a_task_that_spark_runs_again_by_itself_is_noted_as_lost_first(task_pool):
    old = come(task_pool, 0)
    new = FakeLine(0)
    assert task_pool.task_connected(new, 5.0).number == 0
    assert (old.closed, task_pool.tasks[0].line) == (True, new)


def test_a_task_that_comes_again_after_its_loss_was_noted_is_no_second_loss(task_pool):
    task_pool.task_disconnected(come(task_pool, 0), 2.0)
    assert task_pool.task_connected(FakeLine(0), 3.0) is None


def test_what_a_task_says_that_was_given_up_counts_no_more(task_pool):
    old = come(task_pool, 0)
    come(task_pool, 0)
    assert not task_pool.note_message(old, 9.0)
    assert task_pool.task_disconnected(old, 9.0) is None


def test_a_task_that_says_nothing_is_given_up_and_its_job_cancelled(task_pool, jobs):
    come(task_pool, 0)
    line = come(task_pool, 1)
    task_pool.note_message(line, SILENCE_TIMEOUT_S)
    assert [number for number, _ in look(task_pool, SILENCE_TIMEOUT_S + 2)] == [0]
    assert (jobs[0].cancelled, jobs[1].cancelled) == (True, False)


@pytest.mark.parametrize(("failures", "seconds"), [(1, 1), (2, 2), (5, 16), (6, 30), (50, 30)])
def test_the_pause_after_failures_has_an_end(failures, seconds):
    assert backoff_s(failures) == seconds


def test_of_a_spark_error_the_line_of_python_is_shown():
    text = (
        "An error occurred.\n  File x\njobs.cluster.errors.ProducerError: fenced\n\tat org.apache"
    )
    assert last_line(text) == "jobs.cluster.errors.ProducerError: fenced"


def test_the_line_of_a_fault_is_found_whatever_the_fault_is_called():
    fault = "jobs.cluster.protocol.errors.Denied: west: Starting: TRANSACTIONAL_ID_AUTHORIZATION_FAILED."
    text = f"Traceback (most recent call last):\n  File x\n{fault}\n\n\tat org.apache.spark.Task.run\n... 1 more"
    assert last_line(text) == fault


def test_a_process_that_was_killed_is_said_to_be_gone():
    text = (
        "An error occurred while calling o7.collect.\n"
        ": org.apache.spark.SparkException: Python worker exited unexpectedly (crashed). Consider this.\n"
        "\tat org.apache.spark.Reader.read(Reader.scala:1)\n"
        "Caused by: java.io.EOFException\n"
        "\t... 22 more\n"
    )
    assert last_line(text) == "its process is gone"
