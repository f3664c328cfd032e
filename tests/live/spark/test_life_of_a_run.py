"""A flow's processes: they end when they should, all of them, whatever is killed."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from jobs.replication.flow.spec import FlowSpec
from jobs.spark import contract, processes, submit
from jobs.spark.contract import JobSpec, Outcome
from tests.live.topics import new_topic
from tests.waiting import eventually

STARTS_WITHIN_S = 120
ENDS_WITHIN_S = 20


def pids_in(folder: Path) -> list[int]:
    """Every process of a run works in the run's folder, so this finds also those that lost their parent."""
    found = []
    for link in Path("/proc").glob("[0-9]*/cwd"):
        try:
            if link.readlink() == folder:
                found.append(int(link.parent.name))
        except OSError:
            continue
    return [pid for pid in found if processes.start_ticks(pid) is not None]


def flow_of(east, west, topic: str) -> FlowSpec:
    return FlowSpec(f"life-{topic}", east.connection, west.connection, topics=(topic,))


@pytest.fixture
def topic(east):
    return new_topic(east, 2)


@pytest.fixture
def start(east, west, topic, tmp_path):
    """Start a run, wait until it copies, and make sure that nothing of it is left after the test."""
    folder = (tmp_path / "run").resolve()

    def begin(lease_s: float = 60.0) -> Path:
        flow = flow_of(east, west, topic)
        spec = JobSpec("life", "replicate", {"flow": flow.to_mapping()}, lease_s)
        submit.start_run(spec, folder)
        eventually(lambda: is_copying_for_its_owner(folder), STARTS_WITHIN_S)
        return folder

    yield begin
    for pid in pids_in(folder):
        os.kill(pid, signal.SIGKILL)


def is_copying(folder: Path) -> bool:
    progress = submit.read_progress(folder)
    return bool(progress) and {r["state"] for r in progress["partitions"]} == {"caught_up"}


def is_copying_for_its_owner(folder: Path) -> bool:
    """Look as an owner does, who renews the lease each time; a run that ended says why."""
    submit.touch_lease(folder)
    assert contract.read_result(folder) is None, contract.read_result(folder)
    return is_copying(folder)


def pid_of(folder: Path, word: str, program: str = "") -> int:
    """Return the first process of the run that runs a program, any by default, and has this word."""
    for pid in sorted(pids_in(folder)):
        words = Path(f"/proc/{pid}/cmdline").read_text(errors="replace").split("\0")
        if Path(words[0]).name.startswith(program) and any(word in one for one in words):
            return pid
    raise AssertionError(f"no process of {program} with {word} in {folder}")


def worker_of(folder: Path) -> int:
    """Return a Python process that copies: one without children of those that Spark's daemon forked."""
    for pid in pids_in(folder):
        words = Path(f"/proc/{pid}/cmdline").read_text(errors="replace")
        if "pyspark.worker" in words and not processes.children_of(pid):
            return pid
    raise AssertionError(f"no task in {folder}")


@pytest.mark.parametrize(
    ("program", "word", "result"),
    [
        pytest.param("python", "jobs.spark.run_supervisor", None, id="the keeper"),
        # Killed in a console, too, by tests/live/console/test_whole_console.py.
        pytest.param(
            "java",
            "deploy.SparkSubmit",
            Outcome.CRASHED,
            id="the JVM",
            marks=pytest.mark.campaign("faults"),
        ),
        pytest.param("python", "entry/run.py", Outcome.CRASHED, id="the Python driver"),
    ],
)
def test_nothing_is_left_after_kill_9_of(start, program, word, result):
    folder = start()
    os.kill(pid_of(folder, word, program), signal.SIGKILL)
    eventually(lambda: pids_in(folder) == [], ENDS_WITHIN_S)
    eventually(lambda: not submit.is_alive(folder))
    found = contract.read_result(folder)
    assert (found and found.outcome) == result


def test_a_killed_task_is_started_again_and_the_run_says_so_until_it_is_asked_to_stop(start):
    folder = start()
    os.kill(worker_of(folder), signal.SIGKILL)

    def is_started_again() -> bool:
        submit.touch_lease(folder)
        return submit.read_progress(folder)["restarts"] == 1

    eventually(is_started_again, ENDS_WITHIN_S)
    eventually(lambda: is_copying_for_its_owner(folder), STARTS_WITHIN_S)
    submit.request_stop(folder)
    eventually(lambda: pids_in(folder) == [], ENDS_WITHIN_S)
    assert contract.read_result(folder).outcome is Outcome.STOPPED


def test_a_run_whose_owner_stopped_renewing_the_lease_ends_by_itself(start):
    folder = start(lease_s=120.0)
    old = time.time() - 300
    os.utime(folder / contract.LEASE, (old, old))
    eventually(lambda: pids_in(folder) == [], ENDS_WITHIN_S)
    assert "lease" in contract.read_result(folder).error


def test_a_run_in_the_foreground_ends_with_the_command_that_started_it(east, west, topic, tmp_path):
    import yaml

    flow = tmp_path / "flow.yaml"
    flow.write_text(yaml.safe_dump(flow_of(east, west, topic).to_mapping()))
    folder = (tmp_path / "run").resolve()
    command = subprocess.Popen(
        [sys.executable, "-m", "jobs", "replicate", str(flow), "--run-dir", str(folder)],
        stdout=subprocess.DEVNULL,
        cwd=Path(__file__).parents[3],
    )
    eventually(lambda: is_copying(folder), STARTS_WITHIN_S)
    command.kill()
    command.wait()
    eventually(lambda: pids_in(folder) == [], ENDS_WITHIN_S)


def test_the_command_line_of_spark_holds_no_secret(monkeypatch, tmp_path):
    monkeypatch.setenv("CROSSLOG_SECRET_EAST", "hunter2")
    flow = {"name": "f", "source": {"sasl_password": "env:CROSSLOG_SECRET_EAST"}}
    command = submit.submit_command(JobSpec("r", "replicate", {"flow": flow}), tmp_path)
    assert "hunter2" not in " ".join(command)
