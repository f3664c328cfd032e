"""The tasks of a flow: one lost task is noted once, comes back alone, and disturbs nobody."""

import pytest

from jobs.spark.flow_driver.crew import HOME_S, SILENT_S, STEADY_S, Crew, backoff_s, last_line


class FakeJob:
    def __init__(self, number):
        self.number = number
        self.problem = None
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
def crew(jobs):
    made = Crew(jobs.start)
    made.grow(2, 0.0)
    return made


def come(crew, number, now_s=1.0):
    line = FakeLine(number)
    crew.came(line, now_s)
    crew.members[number].is_greeted = True
    return line


def look(crew, now_s):
    return [(loss.number, loss.why) for loss in crew.look(now_s)]


def test_every_task_is_a_job_of_its_own(crew, jobs):
    assert [job.number for job in jobs] == [0, 1]
    crew.grow(2, 5.0)
    assert len(jobs) == 2


def test_a_task_is_ready_when_it_listens_and_knows_what_it_is_for(crew):
    crew.came(FakeLine(0), 1.0)
    assert crew.ready() == []
    crew.members[0].is_greeted = True
    assert crew.ready() == [0]


def test_while_no_task_is_ready_all_are_expected_however_long_it_takes(crew):
    assert crew.expected(1000.0) == [0, 1]


def test_a_task_that_does_not_come_up_is_expected_only_for_a_while(crew):
    come(crew, 0)
    assert crew.expected(HOME_S - 1) == [1]
    assert crew.expected(HOME_S) == []


def test_on_a_slow_cluster_the_second_task_gets_its_time_from_the_first_one_on(crew):
    crew.expected(100.0)
    come(crew, 0, 100.1)
    assert crew.expected(100.0 + HOME_S - 1) == [1]
    assert crew.expected(100.0 + HOME_S) == []


def test_a_lost_line_is_a_loss(crew):
    line = come(crew, 0)
    loss = crew.left(line, 2.0)
    assert (loss.number, crew.ready()) == (0, [])


def test_a_job_that_breaks_is_one_loss_although_line_and_job_both_tell(crew, jobs):
    line = come(crew, 0)
    jobs[0].end("OSError: disk")
    assert crew.left(line, 2.0).why == "OSError: disk"
    assert look(crew, 2.1) == []


def test_a_job_that_breaks_before_its_task_came_is_a_loss_too(crew, jobs):
    jobs[1].end("ModuleNotFoundError: jobs")
    assert look(crew, 2.0) == [(1, "ModuleNotFoundError: jobs")]


def test_a_lost_task_is_started_again_alone_after_a_pause(crew, jobs):
    come(crew, 0)
    come(crew, 1)
    jobs[0].end("Error: gone")
    look(crew, 10.0)
    look(crew, 10.9)
    assert len(jobs) == 2
    look(crew, 11.0)
    assert [job.number for job in jobs] == [0, 1, 0]
    assert crew.ready() == [1]


def test_each_failure_in_a_row_makes_the_pause_longer(crew, jobs):
    jobs[0].end("a")
    look(crew, 0.0)
    look(crew, 1.0)
    jobs[-1].end("b")
    look(crew, 1.0)
    look(crew, 2.9)
    assert len(jobs) == 3
    look(crew, 3.0)
    assert len(jobs) == 4


def test_after_a_steady_time_the_pause_is_short_again(crew, jobs):
    crew.members[0].failures = 5
    come(crew, 0)
    jobs[0].end("late")
    look(crew, STEADY_S + 1)
    assert crew.members[0].retry_at_s == STEADY_S + 1 + backoff_s(1)


def test_a_task_that_spark_runs_again_by_itself_is_noted_as_lost_first(crew):
    old = come(crew, 0)
    new = FakeLine(0)
    assert crew.came(new, 5.0).number == 0
    assert (old.closed, crew.members[0].line) == (True, new)


def test_a_task_that_comes_again_after_its_loss_was_noted_is_no_second_loss(crew):
    crew.left(come(crew, 0), 2.0)
    assert crew.came(FakeLine(0), 3.0) is None


def test_what_a_task_says_that_was_given_up_counts_no_more(crew):
    old = come(crew, 0)
    come(crew, 0)
    assert not crew.heard(old, 9.0)
    assert crew.left(old, 9.0) is None


def test_a_task_that_says_nothing_is_given_up_and_its_job_cancelled(crew, jobs):
    come(crew, 0)
    line = come(crew, 1)
    crew.heard(line, SILENT_S)
    assert [number for number, _ in look(crew, SILENT_S + 2)] == [0]
    assert (jobs[0].cancelled, jobs[1].cancelled) == (True, False)


@pytest.mark.parametrize(("failures", "seconds"), [(1, 1), (2, 2), (5, 16), (6, 30), (50, 30)])
def test_the_pause_after_failures_has_an_end(failures, seconds):
    assert backoff_s(failures) == seconds


def test_of_a_spark_error_the_line_of_python_is_shown():
    text = (
        "An error occurred.\n  File x\njobs.cluster.errors.ProducerError: fenced\n\tat org.apache"
    )
    assert last_line(text) == "jobs.cluster.errors.ProducerError: fenced"
