"""Programs that are forked from a process which has loaded everything: they share its memory, start at once.

A forked program has a process group, a log, signals and a name of its own, and nothing that its parent has
open: no connection, no lock. It ends with the thread that made it.
"""

from __future__ import annotations

import ctypes
import faulthandler
import os
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

from django.db import connections

from jobs.spark.processes import end_with_parent_thread

_PR_SET_NAME = 15
# Of /proc/PID/stat, counted after the command's closing bracket: the memory address of the command line.
_ARG_START, _ARG_END = 45, 46
_POLL_S = 0.02
_BROKE = 1


class Forked:
    """A forked process, with what a supervisor needs of `subprocess.Popen`."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.returncode: int | None = None

    def poll(self) -> int | None:
        """Return the exit code, negative for a signal; None while it runs."""
        if self.returncode is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.returncode = os.waitstatus_to_exitcode(status)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Return the exit code; raises `subprocess.TimeoutExpired` while it still runs."""
        end = None if timeout is None else time.monotonic() + timeout
        while (code := self.poll()) is None:
            if end is not None and timeout is not None and time.monotonic() >= end:
                raise subprocess.TimeoutExpired(str(self.pid), timeout)
            time.sleep(_POLL_S)
        return code

    def send_signal(self, sig: int) -> None:
        """Send a signal unless it has ended."""
        if self.poll() is None:
            os.kill(self.pid, sig)

    def kill(self) -> None:
        """End it at once."""
        self.send_signal(signal.SIGKILL)


def fork(
    run: Callable[[], object],
    name: str,
    output: int | None,
    environment: Mapping[str, str] | None = None,
) -> Forked:
    """Run something in a process of its own; `output` is its stdout and stderr, None: those of this process.

    It ends with the exit code that `run` returns or exits with. This process must have one thread of
    Python; that of an allocator (jemalloc, which comes with pyarrow) knows what to do at a fork.
    """
    connections.close_all()
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    # A signal in between would be handled as this process handles it.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    parent, pid = os.getpid(), os.fork()
    if pid == 0:
        code = _BROKE
        try:
            _begin(name, output, environment or {}, before)
            if os.getppid() != parent:  # it ended before the kernel knew that we end with it
                os._exit(_BROKE)
            code = _code(run())
        except SystemExit as end:
            code = _code(end.code)
        except BaseException:  # noqa: BLE001  nothing of this process may reach the parent's code
            traceback.print_exc()
        finally:
            _flush()
            os._exit(code)
    with suppress(OSError):  # parent and child both do it: the second call is refused
        os.setpgid(pid, pid)
    signal.pthread_sigmask(signal.SIG_SETMASK, before)
    return Forked(pid)


def _begin(
    name: str, output: int | None, environment: Mapping[str, str], mask: set[int | signal.Signals]
) -> None:
    """Leave everything of the parent behind but what it has loaded."""
    end_with_parent_thread()
    with suppress(OSError):
        os.setpgid(0, 0)
    _open_own_streams(output)
    faulthandler.enable(sys.stderr)
    os.environ.update(environment)
    for number in signal.valid_signals():
        if callable(signal.getsignal(number)):
            is_interrupt = number == signal.SIGINT
            signal.signal(number, signal.default_int_handler if is_interrupt else signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, mask)
    _name(name)


def _open_own_streams(output: int | None) -> None:
    """Have nothing open but stdin, stdout and stderr.

    What the parent has open is replaced, not closed: an object that closes it later closes nothing of ours.
    """
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    if output is not None:
        for number in (1, 2):
            os.dup2(output, number)
    for number in [int(each.name) for each in Path("/proc/self/fd").iterdir()]:
        if number > 2 and number != null:  # noqa: PLR2004  stderr
            with suppress(OSError):  # what listed them
                os.fstat(number)
                os.dup2(null, number, inheritable=False)
    sys.stdout = open(1, "w", buffering=1, closefd=False, encoding="utf-8")  # noqa: SIM115
    sys.stderr = open(2, "w", buffering=1, closefd=False, encoding="utf-8")  # noqa: SIM115


def _name(name: str) -> None:
    """Say which program this is: in `top` its name (15 characters), in `ps` in the place of its command."""
    library = ctypes.CDLL(None, use_errno=True)
    library.prctl(_PR_SET_NAME, f"crosslog:{name}".encode(), 0, 0, 0)
    with suppress(OSError, ValueError, IndexError):
        fields = Path("/proc/self/stat").read_text("utf-8").rpartition(")")[2].split()
        start, end = int(fields[_ARG_START]), int(fields[_ARG_END])
        size = end - start
        if size > 0:
            title = f"crosslog: {name}".encode()[: size - 1]
            ctypes.memmove(start, title.ljust(size, b"\0"), size)


def _code(ended: object) -> int:
    return ended if isinstance(ended, int) else int(ended is not None)


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
