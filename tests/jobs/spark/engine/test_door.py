"""Handing runs over to an engine: one for all, found again, and never one that ends.

Java, the border to Spark, only sleeps here: an engine that lives and does nothing.
"""

import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from jobs.spark import contract, settings, submit
from jobs.spark.contract import JobResult, JobSpec, Outcome
from jobs.spark.engine import door, folder
from tests.waiting import eventually

ROOT = Path(__file__).parents[4]


def spec(run_id: str = "a run", **spark: str) -> JobSpec:
    values = {"arguments": {"log": "/log"}, "tables": "/tables", "histories": "/histories"}
    return JobSpec(run_id, "metadata-records", values, lease_s=600.0, spark=spark)


def engines(runs) -> list[Path]:
    return folder.list_engines(runs, settings.ENGINE)


def test_runs_are_handed_over_to_one_engine_in_their_order_and_wait(runs):
    pids = {door.start_run(spec(name), runs / name) for name in ("first", "second")}
    [engine] = engines(runs)
    assert pids == {contract.read_json(engine / contract.KEEPER)["pid"]}
    assert [run_dir for _, run_dir in folder.waiting(engine)] == [runs / "first", runs / "second"]
    assert door.is_alive(runs / "second")
    assert door.read_progress(runs / "first")["message"] == "Starting the engine"
    assert door.read_progress(runs / "second")["message"] == "Waiting for the engine"


def test_a_run_that_names_a_secret_has_processes_of_its_own(runs):
    connection = {"connection": {"sasl_password": "env:CROSSLOG_SECRET_EAST"}}
    values = {**spec().arguments, "resources": {"cluster": connection}}
    door.start_run(JobSpec("r", "metadata-records", values, lease_s=600.0), runs / "own")
    assert engines(runs) == []
    assert door.is_alive(runs / "own")
    door.kill_run(runs / "own")
    eventually(lambda: not door.is_alive(runs / "own"))


def test_processes_that_want_the_first_engine_at_the_same_moment_get_one(runs):
    code = (
        "import sys; from pathlib import Path; from jobs.spark.contract import JobSpec;"
        "from jobs.spark.engine import door; sys.stdin.readline();"
        "door.start_run(JobSpec('r', 'metadata-records', {}, 600.0), Path(sys.argv[1]))"
    )
    started = [
        subprocess.Popen(
            [sys.executable, "-c", code, str(runs / str(number))], stdin=subprocess.PIPE, cwd=ROOT
        )
        for number in range(3)
    ]
    for one in started:
        one.stdin.close()
    assert [one.wait(60) for one in started] == [0, 0, 0]
    [engine] = engines(runs)
    assert len(folder.waiting(engine)) == 3


def test_a_run_with_a_result_is_over_although_its_engine_lives(runs):
    door.start_run(spec(), runs / "run")
    contract.write_result(runs / "run", JobResult(Outcome.SUCCEEDED))
    assert not door.is_alive(runs / "run")
    assert submit.is_alive(engines(runs)[0])
    door.remove_run(runs / "run")
    assert not (runs / "run").exists()


def test_an_engine_that_has_closed_is_followed_by_another(runs):
    door.start_run(spec(), runs / "run")
    first = engines(runs)[0]
    assert not folder.close_if_empty(first)
    assert folder.close(first) == [runs / "run"]
    door.start_run(spec(), runs / "next")
    assert len(engines(runs)) == 2
    assert [run_dir for _, run_dir in folder.waiting(engines(runs)[0])] == [runs / "next"]


@pytest.mark.parametrize("ending", [contract.STOP, contract.RESULT])
def test_an_engine_that_ends_is_given_nothing(runs, ending):
    first = door.start_engine(runs)
    (first / ending).write_text("{}")
    assert door.start_engine(runs) != first


def test_other_settings_of_spark_mean_another_engine(runs, monkeypatch):
    door.start_run(spec(), runs / "here")
    door.start_run(spec(master="local[7]"), runs / "there")
    assert len(engines(runs)) == 2
    door.start_run(spec(), runs / "here again")
    assert len(engines(runs)) == 2


def test_watching_a_run_or_keeping_the_engine_renews_its_lease(runs):
    door.start_run(spec(), runs / "run")
    leases = [runs / "run" / contract.LEASE, engines(runs)[0] / contract.LEASE]
    old = time.time() - 60

    def are_new() -> list[bool]:
        return [one.stat().st_mtime > old + 30 for one in leases]

    for renew, expected in (
        (lambda: door.touch_lease(runs / "run"), [True, True]),
        (lambda: door.keep(runs), [False, True]),
    ):
        for one in leases:
            os.utime(one, (old, old))
        renew()
        assert are_new() == expected


def test_keeping_where_there_is_nothing_does_nothing(tmp_path):
    door.keep(tmp_path / "nowhere")


def test_a_killed_run_takes_its_engine_with_it_and_shows_its_log(runs):
    door.start_run(spec(), runs / "run")
    engine = engines(runs)[0]
    with pytest.raises(RuntimeError, match="alive"):
        door.remove_run(runs / "run")
    (engine / contract.LOG).write_text("the heap was too small\n")
    door.kill_run(runs / "run")
    eventually(lambda: not door.is_alive(runs / "run"))
    assert contract.read_result(runs / "run") is None
    assert "the heap was too small" in door.read_log_tail(runs / "run")


def test_a_folder_that_holds_a_run_is_refused(runs):
    door.start_run(spec(), runs / "run")
    with pytest.raises(FileExistsError):
        door.start_run(spec(), runs / "run")


def test_without_java_nothing_is_left(tmp_path, monkeypatch):
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "nowhere"))
    with pytest.raises(FileNotFoundError, match="install a JDK"):
        door.start_run(spec(), tmp_path / "runs" / "run")
    assert not (tmp_path / "runs" / "run").exists()


def test_other_kinds_get_processes_of_their_own(runs):
    door.start_run(JobSpec("r", "replay", {"tasks": 1}, lease_s=600.0), runs / "run")
    try:
        assert engines(runs) == []
        assert door.is_alive(runs / "run")
    finally:
        door.kill_run(runs / "run")
    eventually(lambda: not door.is_alive(runs / "run"))


def test_the_folders_of_ended_engines_go_but_for_the_last(runs):
    for number in range(door.KEPT_ENGINES + 2):
        ended = runs / f"engine-{number}"
        ended.mkdir(parents=True)
        contract.write_spec(ended, JobSpec(ended.name, "engine", {}))
    door.start_run(spec(), runs / "run")
    assert len(engines(runs)) == door.KEPT_ENGINES + 1


def test_a_run_that_waits_for_the_lock_counts_as_alive_and_keeps_its_folder(runs):
    run_dir = runs / "slow"
    runs.mkdir()
    started = []
    thread = threading.Thread(target=lambda: started.append(door.start_run(spec("slow"), run_dir)))
    with folder.locked(runs):
        thread.start()
        eventually(lambda: door.is_alive(run_dir))
        with pytest.raises(RuntimeError, match="still alive"):
            door.remove_run(run_dir)
        door.kill_run(run_dir)
    thread.join(60)
    assert (len(started), contract.read_spec(run_dir).run_id) == (1, "slow")
    assert not (run_dir / contract.STARTER).exists()


def test_a_run_whose_starter_died_is_not_alive(runs):
    run_dir = runs / "left"
    run_dir.mkdir(parents=True)
    contract.write_json(run_dir / contract.STARTER, {"pid": os.getpid(), "start_ticks": 1})
    assert not door.is_alive(run_dir)
    door.remove_run(run_dir)
    assert not run_dir.exists()
