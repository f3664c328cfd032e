import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from jobs.lab.child import start_child
from tests.waiting import PATIENCE, eventually

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="run on Linux for death signals")

PARENT = """
import pathlib, shutil, sys, threading, time
from jobs.lab.child import start_child
started = []
starter = threading.Thread(
    target=lambda: started.append(start_child([shutil.which("sleep"), "600"], pathlib.Path(sys.argv[1])))
)
starter.start()
starter.join()
print(started[0].pid, flush=True)
time.sleep(600)
"""


def is_alive(pid):
    try:
        return "zombie" not in Path(f"/proc/{pid}/status").read_text()
    except FileNotFoundError:
        return False


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_a_child_outlives_its_thread_and_ends_with_its_process(tmp_path, how):
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT, str(tmp_path / "log")], stdout=subprocess.PIPE, text=True
    )
    child = int(parent.stdout.readline())
    assert is_alive(child)
    os.kill(parent.pid, how)
    parent.communicate()
    eventually(lambda: not is_alive(child), 5)


def test_the_output_of_a_child_goes_to_its_log(tmp_path):
    child = start_child([sys.executable, "-c", "print('hello')"], tmp_path / "log")
    assert child.wait(20 * PATIENCE) == 0
    assert (tmp_path / "log").read_text() == "hello\n"


def test_a_program_that_does_not_exist_ends_at_once(tmp_path):
    child = start_child(["/nonexistent/program"], tmp_path / "log")
    assert child.wait(20 * PATIENCE) != 0
