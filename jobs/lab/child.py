"""Child processes that end with their parent."""

from __future__ import annotations

import os
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from concurrent.futures import Future
from pathlib import Path

# A program of its own between us and the child, because nothing may run between fork and exec in
# a process with threads. `prctl(PR_SET_PDEATHSIG, SIGKILL)` survives exec; SIGKILL because a
# paused JVM hears nothing else. Where there is no prctl (not Linux) this is a plain exec.
_LAUNCHER = """
import os, sys
parent = int(sys.argv[1])
if sys.platform == "linux":
    import ctypes
    ctypes.CDLL(None).prctl(1, 9, 0, 0, 0)
if os.getppid() != parent:
    os._exit(1)
os.execv(sys.argv[2], sys.argv[2:])
"""

_Order = tuple[Sequence[str], Path, "Future[subprocess.Popen[bytes]]"]
_orders: queue.SimpleQueue[_Order] = queue.SimpleQueue()
_starter_lock = threading.Lock()
_starters: dict[int, threading.Thread] = {}


def start_child(command: Sequence[str], log: Path) -> subprocess.Popen[bytes]:
    """Start a program that is killed when this process ends; its output is appended to `log`.

    It has a session of its own: Ctrl-C reaches us and we stop it in order.
    """
    done: Future[subprocess.Popen[bytes]] = Future()
    _ensure_starter()
    _orders.put((command, log, done))
    return done.result()


def running_pid(process: subprocess.Popen[bytes] | None) -> int | None:
    """Return the process id of a child, None while there is none."""
    return process.pid if process is not None and process.poll() is None else None


def end_child(
    process: subprocess.Popen[bytes] | None, number: signal.Signals, timeout_s: float
) -> None:
    """Send a child a signal and wait for its end; one that does not end in time is killed."""
    if process is None or process.poll() is not None:
        return
    process.send_signal(number)
    try:
        process.wait(timeout_s)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait(timeout_s)


def _ensure_starter() -> None:
    """Keep one thread that makes all children.

    The kernel sends the death signal when the *thread* that made the child ends, so a child made
    by a short-lived thread would die with it. This thread ends with the process and not before.
    """
    with _starter_lock:
        if os.getpid() not in _starters:  # a fork does not inherit threads
            starter = threading.Thread(target=_start_children, name="lab-children", daemon=True)
            _starters[os.getpid()] = starter
            starter.start()


def _start_children() -> None:
    while True:
        command, log, done = _orders.get()
        try:
            done.set_result(_start(command, log))
        except OSError as error:
            done.set_exception(error)


def _start(command: Sequence[str], log: Path) -> subprocess.Popen[bytes]:
    with log.open("ab") as output:
        return subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", _LAUNCHER, str(os.getpid()), *command],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
