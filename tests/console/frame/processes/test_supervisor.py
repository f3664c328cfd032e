"""The supervisor, with real processes."""

import os
import re
import signal
import socket
import subprocess
import sys
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from console.frame.processes.liveness import LivenessSigns, restarts_since
from console.frame.processes.supervisor import (
    Part,
    Program,
    StartFailed,
    Supervisor,
    WhenEnded,
    free_port,
    is_port_free,
)
from jobs.spark.processes import start_ticks
from tests.waiting import eventually

SLEEP = "import time; print('up', flush=True); time.sleep(60)"
# Gets one thing done, then nothing; started by `deaf_from_its_start`.
STUCK = """
import os, sys, time
now = time.monotonic_ns()
if len(sys.argv) > 1:
    os.utime(sys.argv[1], ns=(now, now))
print("up", flush=True)
while True:
    pass
"""
DEAF = "import signal, time; signal.signal(15, signal.SIG_IGN); print('up', flush=True); time.sleep(60)"


def python(code: str) -> tuple[str, ...]:
    return (sys.executable, "-c", code)


@pytest.fixture
def said():
    return []


@pytest.fixture
def supervisor(tmp_path, said):
    supervisor = Supervisor(tmp_path, said.append)
    yield supervisor
    supervisor.kill_all()
    supervisor.stop_all()


@pytest.fixture
def listening(tmp_path, said):
    """A supervisor that listens for signs all the time."""
    supervisor = Supervisor(
        tmp_path, said.append, signs=LivenessSigns(tmp_path / "alive", every_s=0.02)
    )
    yield supervisor
    supervisor.kill_all()
    supervisor.stop_all()


@contextmanager
def deaf_from_its_start():
    """What is started in here does not hear SIGTERM, however long its interpreter takes to come up."""
    before = signal.signal(signal.SIGTERM, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def wait_for_log(folder: Path, name: str, text: str = "up") -> None:
    log = folder / f"{name}.log"
    eventually(lambda: log.exists() and text in log.read_text("utf-8"))


def test_a_program_that_dies_is_started_again(supervisor, said):
    supervisor.start(Program("web", python(SLEEP)))
    first = supervisor.pid("web")
    os.kill(first, signal.SIGKILL)

    def is_back() -> bool:
        supervisor.watch()
        return supervisor.pid("web") != first

    eventually(is_back)
    assert said[0].startswith("web ended with exit code -9; again in 1 s")
    assert said[1] == "web started again"


def test_the_wait_before_a_restart_grows_with_every_early_end(supervisor, said):
    supervisor.start(Program("web", python("pass")))

    def has_failed_twice() -> bool:
        supervisor.watch()
        return len([line for line in said if "again in" in line]) == 2

    eventually(has_failed_twice)
    assert "again in 2 s" in said[-1]


def test_a_program_that_crashes_leaves_where_it_crashed(listening, said, tmp_path):
    code = "import ctypes\ndef read_memory():\n    ctypes.string_at(0)\nread_memory()"
    began = datetime.now(UTC)
    listening.start(Program("collect", python(code), quiet_s=60.0))
    eventually(lambda: (listening.watch(), said)[1])
    kept = restarts_since(tmp_path / "alive", began)[0]
    assert kept.crash == "It crashed (Segmentation fault) in string_at (ctypes/__init__.py)."
    assert (kept.program, kept.silent_s) == ("collect", 0)


@pytest.mark.parametrize("has_begun", [True, False], ids=["after its first work", "at its start"])
def test_a_program_that_gets_nothing_done_is_killed_and_started_again(
    listening, said, tmp_path, has_begun
):
    sign = [str(tmp_path / "alive" / "collect")] if has_begun else []
    limits = {"quiet_s": 0.3, "start_within_s": 60.0 if has_begun else 0.3, "stop_within_s": 0.2}
    with deaf_from_its_start():
        listening.start(Program("collect", (*python(STUCK), *sign), **limits))
    first = listening.pid("collect")

    def is_back() -> bool:
        listening.watch()
        return listening.pid("collect") != first

    eventually(is_back)
    assert re.match(r"collect has finished nothing for \d+ s; it is restarted", said[0])
    assert said[1].startswith("collect ended with exit code -9; again in 1 s")
    assert said[2] == "collect started again"
    (kept,) = restarts_since(tmp_path / "alive", datetime.now(UTC) - timedelta(minutes=5))
    assert (kept.program, kept.log) == ("collect", str(tmp_path / "collect.log"))


def test_the_wait_grows_with_every_restart_of_a_program_that_gets_nothing_done(listening, said):
    program = Program("collect", python(STUCK), quiet_s=0.1, start_within_s=0.1, stop_within_s=0.1)
    listening.start(program)

    def has_failed_twice() -> bool:
        listening.watch()
        return len([line for line in said if "again in" in line]) == 2

    eventually(has_failed_twice)
    assert [line.rpartition("again in ")[2][:3] for line in said if "again in" in line] == [
        "1 s",
        "2 s",
    ]


@pytest.mark.parametrize(
    "reason",
    [
        pytest.param({"fed_by": "beat"}, id="it gets no work"),
        pytest.param({"parts": (Part("collect", lambda: False),)}, id="what it needs is away"),
        pytest.param({"quiet_s": None}, id="it has nothing to say"),
    ],
)
def test_a_program_without_work_is_not_restarted(listening, said, tmp_path, reason):
    limits = {"quiet_s": 0.05, "start_within_s": 0.05} | reason
    listening.start(Program("collect", python(SLEEP), **limits))
    listening.start(Program("other", python(SLEEP), quiet_s=0.3, start_within_s=0.3))

    def is_other_ended() -> bool:
        listening.watch()
        return any(line.startswith("other has finished nothing") for line in said)

    eventually(is_other_ended)
    assert [line for line in said if line.startswith("collect")] == []


def test_a_program_is_started_again_for_a_part_that_gets_nothing_done(listening, said, tmp_path):
    parts = (Part("beat"), Part("follower"))
    sign = f"""
import os, time
while True:
    now = time.monotonic_ns()
    os.utime({str(tmp_path / "alive" / "beat")!r}, ns=(now, now))
"""
    limits = {"quiet_s": 0.3, "start_within_s": 0.3, "stop_within_s": 0.2}
    listening.start(Program("services", python(sign), parts=parts, **limits))
    first = listening.pid("services")

    def is_back() -> bool:
        listening.watch()
        return listening.pid("services") != first

    eventually(is_back)
    assert any(
        re.match(r"follower has finished nothing for \d+ s; services is restarted", line)
        for line in said
    )
    kept = restarts_since(tmp_path / "alive", datetime.now(UTC) - timedelta(minutes=5))
    assert "follower" in {one.program for one in kept}


def test_the_end_of_a_program_that_must_live_is_told_with_its_last_lines(supervisor, tmp_path):
    program = Program(
        "lab", python("print('no room left', flush=True); 1/0"), when_ended=WhenEnded.FAIL
    )
    supervisor.start(program)
    eventually(lambda: supervisor.has_ended("lab"))
    with pytest.raises(StartFailed, match=r"(?s)lab ended with exit code 1.*no room left"):
        supervisor.watch()


def test_a_crash_in_a_library_leaves_in_the_log_what_the_program_was_doing(supervisor, tmp_path):
    supervisor.start(
        Program("crash", python("import ctypes\ndef reading(): ctypes.string_at(0)\nreading()"))
    )
    eventually(lambda: "Segmentation fault" in (tmp_path / "crash.log").read_text())
    eventually(lambda: "in reading" in (tmp_path / "crash.log").read_text())


def test_a_program_that_has_done_its_work_is_left_alone(supervisor, said):
    supervisor.start(Program("once", python("pass"), when_ended=WhenEnded.FINE))
    eventually(lambda: supervisor.has_ended("once"))
    supervisor.watch()
    assert said == []


def test_waiting_for_a_program_that_ended_tells_why(supervisor):
    supervisor.start(Program("redis", python("print('bad option', flush=True); exit(3)")))
    with pytest.raises(StartFailed, match=r"(?s)redis ended with exit code 3.*bad option"):
        supervisor.wait_until(lambda: False, "redis", 20.0)


def test_a_program_that_does_not_come_up_in_time_is_told(supervisor):
    supervisor.start(Program("web", python(SLEEP)))
    with pytest.raises(StartFailed, match="web did not come up within 0 s"):
        supervisor.wait_until(lambda: False, "web", 0.3)


def test_a_program_that_ignores_the_polite_end_is_killed(supervisor, tmp_path):
    supervisor.start(Program("deaf", python(DEAF), stop_within_s=0.3))
    wait_for_log(tmp_path, "deaf")
    pid = supervisor.pid("deaf")
    supervisor.stop("deaf")
    assert start_ticks(pid) is None


def test_what_a_program_started_ends_with_it(supervisor, tmp_path):
    code = (
        f"import subprocess, sys; p = subprocess.Popen([sys.executable, '-c', {SLEEP!r}]); {SLEEP}"
    )
    supervisor.start(Program("parent", python(f"{code}")))
    eventually(lambda: (tmp_path / "parent.log").read_text("utf-8").count("up") == 2)
    group = supervisor.pid("parent")
    supervisor.stop("parent")
    eventually(lambda: is_group_gone(group), 5)


def is_group_gone(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return True
    return False


def test_no_program_outlives_a_killed_supervisor(tmp_path):
    code = f"""
import sys, time
from pathlib import Path
from console.frame.processes.supervisor import Program, Supervisor
supervisor = Supervisor(Path({str(tmp_path)!r}), print)
supervisor.start(Program("child", (sys.executable, "-c", {SLEEP!r})))
print(supervisor.pid("child"), flush=True)
time.sleep(60)
"""
    owner = subprocess.Popen(python(code), stdout=subprocess.PIPE, text=True)
    child = int(owner.stdout.readline())
    wait_for_log(tmp_path, "child")
    owner.kill()
    owner.wait()
    eventually(lambda: start_ticks(child) is None)


def test_a_log_that_grew_large_is_put_aside(said, tmp_path):
    supervisor = Supervisor(tmp_path, said.append, largest_log_bytes=10)
    (tmp_path / "web.log").write_text("old lines of yesterday", encoding="utf-8")
    supervisor.start(Program("web", python("pass")))
    supervisor.stop("web")
    assert (tmp_path / "web.log.1").read_text("utf-8") == "old lines of yesterday"


@pytest.mark.parametrize("earlier", [(), ("web.log", "web.log.1")], ids=["new ones", "open ones"])
def test_logs_are_for_their_user_only_whatever_the_umask(said, tmp_path, earlier):
    logs = tmp_path / "logs"
    logs.mkdir()
    for name in earlier:
        (logs / name).touch(mode=0o644)
    before = os.umask(0o022)
    try:
        supervisor = Supervisor(logs, said.append)
        supervisor.start(Program("web", python("pass")))
        supervisor.stop("web")
    finally:
        os.umask(before)
    assert {path.name for path in logs.iterdir()} == {"web.log", *earlier}
    assert {path.stat().st_mode & 0o777 for path in logs.iterdir()} == {0o600}


def test_the_log_of_a_running_program_is_rotated(said, tmp_path):
    supervisor = Supervisor(
        tmp_path, said.append, largest_log_bytes=1000, kept_logs=2, rotate_every_s=0
    )
    code = "import time\nwhile True: print('x' * 100, flush=True); time.sleep(0.001)"
    supervisor.start(Program("web", python(code)))

    def is_rotated() -> bool:
        supervisor.watch()
        return (tmp_path / "web.log.2").exists()

    try:
        eventually(is_rotated)
    finally:
        supervisor.stop_all()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["web.log", "web.log.1", "web.log.2"]
    assert said == []


def test_a_taken_port_is_passed_over():
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        taken = server.getsockname()[1]
        assert not is_port_free(taken)
        assert free_port(taken) > taken
