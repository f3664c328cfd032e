"""Processes of this machine: who is alive, who belongs to whom, and who ends with whom (Linux)."""

from __future__ import annotations

import ctypes
import os
import signal
import threading
import time
from pathlib import Path

_PR_SET_PDEATHSIG = 1
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
_START_TICKS_FIELD = 19  # of /proc/PID/stat, counted after the command's closing bracket
_USER_TICKS_FIELD = 11  # counted in the same way, from the state on; system time follows
_TICKS_PER_S = os.sysconf("SC_CLK_TCK")
_PARENT_LOST_EXIT = 143
_ORPHANED_POLL_S = 0.1


def end_with_parent_thread() -> None:
    """Ask the kernel to kill this process when the thread that created it ends; survives exec.

    Meant as `preexec_fn` of a process whose parent creates it from its main thread.
    """
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def end_with_parent(poll_s: float = 0.5) -> int:
    """Watch from a thread that the parent process stays the same, and exit at once when it does not.

    Unlike the kernel's signal this does not depend on which thread of the parent made this process.
    Returns the parent's pid, for `end_if_orphaned`.
    """
    parent = os.getppid()

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(poll_s)
        os._exit(_PARENT_LOST_EXIT)

    threading.Thread(target=watch, name="end-with-parent", daemon=True).start()
    return parent


def end_if_orphaned(parent: int, within_s: float) -> None:
    """Return after this time where the parent still is this one, exit at once where it is not.

    A parent that is killed closes its connections before the kernel gives its children to another: who
    lost a connection to it waits here to know which of the two ended.
    """
    until = time.monotonic() + within_s
    while os.getppid() == parent:
        left = until - time.monotonic()
        if left <= 0:
            return
        time.sleep(min(left, _ORPHANED_POLL_S))
    os._exit(_PARENT_LOST_EXIT)


def start_ticks(pid: int) -> int | None:
    """Return when a process started (clock ticks since boot), None when it is gone or a zombie.

    Together with the pid this identifies a process even after the pid was given out again.
    """
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    state, *fields = stat.rpartition(")")[2].split()
    return None if state == "Z" else int(fields[_START_TICKS_FIELD - 1])


def is_same_process(pid: int, ticks: int) -> bool:
    """Return whether the process that had this pid and start is still running."""
    return start_ticks(pid) == ticks


def children_of(pid: int) -> list[int]:
    """Return the pids of all descendants, nearest first; who ends meanwhile has none."""
    found: list[int] = []
    try:
        threads = list(Path(f"/proc/{pid}/task").iterdir())
    except OSError:
        return found
    for thread in threads:
        try:
            told = (thread / "children").read_text(encoding="ascii")
        except OSError:
            continue
        for child in map(int, told.split()):
            found += [child, *children_of(child)]
    return found


def resident_bytes(pids: list[int]) -> int:
    """Return the resident memory of these processes together; those that are gone count 0."""
    total = 0
    for pid in pids:
        try:
            statm = Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()
        except OSError:
            continue
        total += int(statm[1]) * _PAGE_BYTES
    return total


def cpu_seconds(pids: list[int]) -> float:
    """Return the processor time of these processes together; those that are gone count 0."""
    total = 0
    for pid in pids:
        try:
            stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
        except OSError:
            continue
        fields = stat.rpartition(")")[2].split()
        total += int(fields[_USER_TICKS_FIELD]) + int(fields[_USER_TICKS_FIELD + 1])
    return total / _TICKS_PER_S


def signal_all(pids: list[int], number: signal.Signals) -> None:
    """Send a signal to each of these processes that is still there."""
    for pid in pids:
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            continue
