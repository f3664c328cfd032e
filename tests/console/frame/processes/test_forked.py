"""Programs that are forked by a supervisor, as `manage.py up` forks its own."""

import ctypes
import os
import signal
import subprocess
import sys
import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from console.frame.processes.forked import fork
from console.frame.processes.liveness import LivenessSigns, restarts_since
from console.frame.processes.supervisor import Program, Supervisor
from jobs.spark.processes import start_ticks
from tests.waiting import eventually

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="run on Linux, as the supervisor")


@pytest.fixture
def said():
    return []


@pytest.fixture
def supervisor(tmp_path, said):
    supervisor = Supervisor(
        tmp_path, said.append, signs=LivenessSigns(tmp_path / "alive", every_s=0.02)
    )
    yield supervisor
    supervisor.kill_all()
    supervisor.stop_all()


def say(*words: object) -> None:
    sys.stdout.write(f"{' '.join(map(str, words))}\n")


def stay() -> None:
    say("up")
    threading.Event().wait()


def stay_deaf() -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    stay()


def read_nowhere() -> None:
    ctypes.string_at(0)


def log_of(folder: Path, name: str) -> str:
    log = folder / f"{name}.log"
    return log.read_text("utf-8") if log.exists() else ""


def wait_for_log(folder: Path, name: str, text: str = "up") -> None:
    eventually(lambda: text in log_of(folder, name))


def result_of(run, folder: Path) -> tuple[int, str]:
    """Return the exit code and the output of something that was forked."""
    with (folder / "forked.log").open("ab") as output:
        code = fork(run, "test", output.fileno(), {"COLOUR": "blue"}).wait(30)
    return code, log_of(folder, "forked")


def test_a_forked_program_writes_its_log_under_its_name(supervisor, tmp_path):
    supervisor.start(Program("collect", run=stay))
    wait_for_log(tmp_path, "collect")
    pid = supervisor.pid("collect")
    assert Path(f"/proc/{pid}/cmdline").read_text().rstrip("\0") == "crosslog: collect"
    assert Path(f"/proc/{pid}/comm").read_text().strip() == "crosslog:collec"
    assert os.getpgid(pid) == pid


@pytest.mark.parametrize(
    ("run", "code"),
    [
        pytest.param(lambda: None, 0, id="nothing"),
        pytest.param(lambda: 3, 3, id="a number"),
        pytest.param(lambda: sys.exit(4), 4, id="exit"),
        pytest.param(lambda: sys.exit("no room left"), 1, id="exit with a sentence"),
        pytest.param(lambda: 1 / 0, 1, id="an error"),
        pytest.param(lambda: os.kill(os.getpid(), signal.SIGTERM), -15, id="a signal"),
    ],
)
def test_how_a_forked_program_ends_is_its_exit_code(tmp_path, run, code):
    assert result_of(run, tmp_path)[0] == code


def test_an_error_is_in_the_log(tmp_path):
    assert "ZeroDivisionError" in result_of(lambda: 1 / 0, tmp_path)[1]


def test_nothing_that_the_parent_has_open_is_open_in_a_forked_program(tmp_path):
    def tell() -> None:
        opened = [Path(f"/proc/self/fd/{number}").readlink() for number in (0, held.fileno())]
        say(*opened, os.environ["COLOUR"])

    with (tmp_path / "up.lock").open("a") as held:
        assert result_of(tell, tmp_path) == (0, "/dev/null /dev/null blue\n")
        assert os.fstat(held.fileno()).st_size == 0


def test_signals_mean_what_they_mean_in_a_new_program(tmp_path):
    def tell() -> None:
        say([signal.getsignal(n) for n in (signal.SIGTERM, signal.SIGUSR1, signal.SIGHUP)])

    before = [signal.signal(n, lambda *_: None) for n in (signal.SIGTERM, signal.SIGUSR1)]
    ignored = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        _, told = result_of(tell, tmp_path)
    finally:
        signal.signal(signal.SIGHUP, ignored)
        for number, handler in zip((signal.SIGTERM, signal.SIGUSR1), before, strict=True):
            signal.signal(number, handler)
    assert told.count("Handlers.SIG_DFL") == 2
    assert told.count("Handlers.SIG_IGN") == 1


def test_a_forked_program_that_is_killed_is_forked_again(supervisor, said, tmp_path):
    supervisor.start(Program("flows", run=stay))
    first = supervisor.pid("flows")
    os.kill(first, signal.SIGKILL)

    def is_back() -> bool:
        supervisor.watch()
        return supervisor.pid("flows") != first

    eventually(is_back)
    assert said[0].startswith("flows ended with exit code -9; again in 1 s")
    wait_for_log(tmp_path, "flows")


def test_a_crash_in_a_library_is_noted_with_its_place(supervisor, said, tmp_path):
    began = datetime.now(UTC) - timedelta(seconds=1)
    supervisor.start(Program("collect", run=read_nowhere, quiet_s=60.0))
    eventually(lambda: (supervisor.watch(), said)[1])
    (kept,) = restarts_since(tmp_path / "alive", began)
    place = "in string_at (ctypes/__init__.py), called from"
    assert kept.crash.startswith(f"It crashed (Segmentation fault) {place}")
    assert "in read_nowhere" in log_of(tmp_path, "collect")


@pytest.mark.parametrize("run", [stay, stay_deaf], ids=["politely", "or not"])
def test_a_forked_program_is_ended(supervisor, tmp_path, run):
    supervisor.start(Program("web", run=run, stop_within_s=0.3 if run is stay_deaf else 20.0))
    wait_for_log(tmp_path, "web")
    pid = supervisor.pid("web")
    supervisor.stop("web")
    assert start_ticks(pid) is None


def test_no_forked_program_outlives_a_killed_supervisor(tmp_path):
    code = f"""
import os, threading
from pathlib import Path
os.environ["DJANGO_SETTINGS_MODULE"] = "console.settings"
from console.frame.processes.supervisor import Program, Supervisor
supervisor = Supervisor(Path({str(tmp_path)!r}), print)
supervisor.start(Program("child", run=lambda: (print("up"), threading.Event().wait())))
print(supervisor.pid("child"), flush=True)
threading.Event().wait()
"""
    owner = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    child = int(owner.stdout.readline())
    wait_for_log(tmp_path, "child")
    owner.kill()
    owner.wait()
    eventually(lambda: start_ticks(child) is None)
