from datetime import timedelta

import pytest

from console.replication.control.reconcile import judge_end, wait_s
from console.runs.models import Run, RunState
from tests.console.making import NOW


def ended(state=RunState.CRASHED, *, lived_s=5, **fields):
    start = NOW - timedelta(seconds=lived_s)
    values = {"started_at": start, "reported_at": start, "finished_at": NOW, "error": "it broke"}
    return Run(state=state, **values | fields)


@pytest.mark.parametrize(
    ("failures", "seconds"),
    [(1, 1), (2, 2), (3, 4), (6, 32), (7, 60), (8, 60), (10_000, 60)],
)
def test_waiting_doubles_up_to_a_minute(failures, seconds):
    assert wait_s(failures) == seconds


def test_a_bad_end_is_counted_with_its_reason():
    verdict = judge_end(ended(), 2, NOW - timedelta(minutes=1), NOW)
    assert (verdict.failures, verdict.failure) == (3, "it broke")
    assert verdict.next_try_at == NOW + timedelta(seconds=4)


def test_failing_since_is_the_first_failure_of_the_row():
    first = NOW - timedelta(minutes=1)
    assert judge_end(ended(), 2, first, NOW).failing_since == first


def test_a_run_that_worked_begins_a_new_row_of_failures():
    verdict = judge_end(ended(lived_s=3600), 5, NOW - timedelta(days=1), NOW)
    assert (verdict.failures, verdict.failing_since) == (1, NOW)


@pytest.mark.parametrize(
    "run",
    [
        pytest.param(ended(RunState.STOPPED), id="cancelled"),
        pytest.param(ended(RunState.CRASHED, cancel_requested_at=NOW), id="broke while stopping"),
        pytest.param(ended(RunState.SUCCEEDED, cancel_requested_at=NOW), id="done while stopping"),
    ],
)
def test_an_end_that_was_asked_for_is_no_failure(run):
    verdict = judge_end(run, 4, NOW, NOW)
    assert (verdict.failures, verdict.next_try_at) == (0, NOW)


def test_a_flow_has_no_end_so_a_success_counts_as_one_to_wait_for():
    verdict = judge_end(ended(RunState.SUCCEEDED, error=""), 0, None, NOW)
    assert (verdict.failures, verdict.failure) == (1, "The run ended unexpectedly.")
