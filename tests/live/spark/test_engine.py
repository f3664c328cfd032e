"""The warm engine: quick answers by one application, whatever is stopped or killed."""

import os
import signal
import subprocess
import time

import pytest

from jobs.spark import contract, processes, submit
from jobs.spark.contract import Outcome
from jobs.spark.engine import door
from tests.live.spark.runs import (
    ENGINE_STARTS_WITHIN_S,
    answer_of,
    ask,
    end_engines,
    engine_of,
    family_of,
    freeze_workers,
    holding_work,
    with_word,
    workers_of,
    write_small_log,
)
from tests.small_disks import small_disk
from tests.waiting import Stalls, eventually

pytestmark = pytest.mark.timeout(900)
WARM_S = 2.5
STOPS_WITHIN_S = 2.0


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    yield folder
    end_engines(folder)


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    return write_small_log(tmp_path_factory.mktemp("log") / "__cluster_metadata-0")


@pytest.fixture
def engine(runs, log):
    """An engine that has answered before."""
    first = ask(runs, log)
    assert answer_of(first).outcome is Outcome.SUCCEEDED, door.read_log_tail(first)
    eventually(lambda: is_warm(engine_of(first)), ENGINE_STARTS_WITHIN_S)
    return engine_of(first)


def is_warm(engine) -> bool:
    return "the engine is warm" in submit.read_log_tail(engine)


def waits_for_a_worker(run_dir) -> bool:
    return "segments" in door.read_progress(run_dir)["message"]


def test_a_warm_engine_answers_at_once_and_each_run_has_its_log(runs, log, engine):
    before = family_of(engine)[0]
    with Stalls() as stalls:
        run_dir = ask(runs, log)
        result = answer_of(run_dir)
    assert stalls.took_s < WARM_S
    assert (result.outcome, result.summary["facts"]["records"]) == (Outcome.SUCCEEDED, 86)
    assert family_of(engine_of(run_dir))[0] == before
    assert (run_dir / "tables" / "types").is_dir()
    text = (run_dir / contract.LOG).read_text()
    assert [run_dir.name in line or "analysis" in line for line in text.splitlines()] == [True] * 2


def test_a_folder_that_is_no_log_is_refused_and_leaves_no_table(runs, engine, tmp_path):
    run_dir = ask(runs, tmp_path)
    result = answer_of(run_dir)
    assert result.outcome is Outcome.FAILED
    assert str(tmp_path) in result.error
    assert not list(run_dir.glob("tables*"))


def test_a_full_disk_is_named_by_its_folder(runs, log, engine, tmp_path):
    with small_disk(tmp_path):
        full = ["dd", "if=/dev/zero", f"of={tmp_path}/filled", "bs=1k"]
        subprocess.run(full, check=False, capture_output=True)
        run_dir = runs / "full"
        spec = contract.read_spec(ask(runs, log))
        values = {**spec.arguments, "tables": str(tmp_path / "tables")}
        door.start_run(contract.JobSpec("full", spec.kind, values, spec.lease_s), run_dir)
        result = answer_of(run_dir)
    assert result.outcome is Outcome.FAILED
    assert f"No space left on {tmp_path}" in result.error


def test_a_stop_ends_what_hangs_and_its_processes_and_the_engine_goes_on(runs, log, engine):
    frozen = freeze_workers(engine)
    run_dir = ask(runs, log)
    # Before that nothing of this run hangs: Spark may stop a task that has not reached its worker.
    eventually(lambda: holding_work(frozen) == set(frozen))
    with Stalls() as stalls:
        door.request_stop(run_dir, "Ada does not want it any more.")
        result = answer_of(run_dir)
    assert stalls.took_s < STOPS_WITHIN_S
    assert (result.outcome, result.error) == (Outcome.STOPPED, "Ada does not want it any more.")
    eventually(lambda: set(frozen).isdisjoint(workers_of(engine)))
    following = ask(runs, log)
    assert answer_of(following).outcome is Outcome.SUCCEEDED
    assert engine_of(following) == engine


def test_a_third_run_waits_and_says_so_and_ends_when_nobody_wants_it(runs, log, engine):
    freeze_workers(engine)
    first, second = ask(runs, log), ask(runs, log)
    eventually(lambda: waits_for_a_worker(first) and waits_for_a_worker(second))
    third = ask(runs, log, lease_s=120.0)
    eventually(lambda: "2 before it" in door.read_progress(third)["message"])
    assert door.is_alive(third)
    old = time.time() - 300
    os.utime(third / contract.LEASE, (old, old))
    result = answer_of(third)
    assert result.outcome is Outcome.STOPPED
    assert "lease" in result.error
    for one in (first, second):
        door.request_stop(one)
        assert answer_of(one).outcome is Outcome.STOPPED


@pytest.mark.parametrize(
    "program",
    [
        pytest.param("deploy.SparkSubmit", id="the JVM"),
        pytest.param("entry/run.py", id="the driver", marks=pytest.mark.campaign("faults")),
    ],
)
def test_what_a_killed_engine_had_is_lost_and_the_next_run_gets_a_new_engine(
    runs, log, engine, program
):
    frozen = freeze_workers(engine)
    run_dir = ask(runs, log)
    eventually(lambda: waits_for_a_worker(run_dir))
    os.kill(with_word(family_of(engine), program)[0], signal.SIGKILL)
    for pid in frozen:
        os.kill(pid, signal.SIGCONT)
    assert answer_of(run_dir) is None
    following = ask(runs, log)
    assert answer_of(following).outcome is Outcome.SUCCEEDED
    assert engine_of(following) != engine
    eventually(lambda: all(processes.start_ticks(pid) is None for pid in frozen))


def test_an_idle_engine_ends_in_order_and_only_after_what_it_was_given(log, tmp_path):
    idle = door.start_engine(tmp_path, lease_s=600.0, idle_s=0.0)
    run_dir = ask(tmp_path, log)
    assert answer_of(run_dir).outcome is Outcome.SUCCEEDED
    assert engine_of(run_dir) == idle
    eventually(lambda: not submit.is_alive(idle), ENGINE_STARTS_WITHIN_S)
    assert is_warm(idle)  # Spark is not stopped while jobs of it begin
    result = contract.read_result(idle)
    assert (result.outcome, result.summary) == (Outcome.SUCCEEDED, {"answered": 1})
    assert processes.children_of(family_of(idle)[0]) == []


def test_an_engine_that_is_stopped_while_it_warms_up_ends_with_the_reason(tmp_path):
    engine = door.start_engine(tmp_path)
    eventually((engine / "warm-up.parquet").exists, ENGINE_STARTS_WITHIN_S)
    door.request_stop(engine, "Ada does not want it any more.")
    eventually(lambda: not submit.is_alive(engine), ENGINE_STARTS_WITHIN_S)
    result = contract.read_result(engine)
    assert (result.outcome, result.error) == (Outcome.STOPPED, "Ada does not want it any more.")
