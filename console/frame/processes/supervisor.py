"""A supervisor for the processes of crosslog on one machine.

It starts programs, restarts those that die, and ends them in a given order. No program outlives
it: the kernel ends each of them when the supervisor's process is gone, even after a kill -9. Our own Python
programs are forked (`forked`), the others are started by their command.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import Enum
from pathlib import Path
from types import FrameType

from console.frame.processes.crashes import why_ended
from console.frame.processes.forked import Forked, fork
from console.frame.processes.liveness import START_WITHIN_S, InactiveTime, LivenessSigns, Restart
from jobs import logs as log_files
from jobs.files import for_this_user_only
from jobs.spark.processes import end_with_parent_thread

LONGEST_BACKOFF_S = 30.0
STEADY_AFTER_S = 60.0  # a program that lived this long starts its back-off from the beginning
# How often the sizes of logs are looked at.
ROTATE_EVERY_S = 10.0
POLL_S = 0.1
# What `faulthandler` writes about all threads of a program is less.
LARGEST_CRASH_BYTES = 256_000


# Output is in the log at once, and a crash in a library leaves there what each thread was doing.
_TELLING = {"PYTHONUNBUFFERED": "1", "PYTHONFAULTHANDLER": "1"}


def always() -> bool:
    """Say that nothing is needed."""
    return True


class WhenEnded(Enum):
    """What the end of a program means."""

    RESTART = "it is started again"
    FAIL = "everything ends"
    FINE = "it has done its work"


class StartFailed(Exception):
    """A program or the whole could not be started; the message is for a person."""


@dataclass(frozen=True, slots=True)
class Part:
    """What signs for itself; what it needs is there while `can_work` says so."""

    name: str
    can_work: Callable[[], bool] = always


@dataclass(frozen=True, slots=True)
class Program:
    """What to run; `stop_within_s` is how long it may take to end before it is killed.

    `run` is forked, and its result is the exit code; a program without it is started by `command`.
    `is_shown` sends its output to the terminal instead of its log.

    A program with `quiet_s`, or each of its `parts`, says when it got something done (`liveness.sign`). When
    one did not for so many seconds, the program is ended and started again. What counts are seconds in which
    it had something to do: while `fed_by`, the part that hands it work, got something done, and what it needs
    is there.
    """

    name: str
    command: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    stop_within_s: float = 10.0
    when_ended: WhenEnded = WhenEnded.RESTART
    is_shown: bool = False
    quiet_s: float | None = None
    start_within_s: float = START_WITHIN_S
    fed_by: str = ""
    parts: tuple[Part, ...] = ()
    run: Callable[[], object] | None = None

    @property
    def signing(self) -> tuple[Part, ...]:
        """Who signs: its parts, or itself."""
        return () if self.quiet_s is None else self.parts or (Part(self.name),)


@dataclass(slots=True)
class _Child:
    program: Program
    log: Path
    process: subprocess.Popen[bytes] | Forked
    started_at: float
    failures: int = 0
    due_at: float | None = None
    # By the name of the part.
    silence: dict[str, InactiveTime] = field(default_factory=dict)
    # When it is killed, if it got SIGTERM for a stall.
    kill_at: float | None = None


class Supervisor:
    """Starts, watches and ends programs.

    Used from one thread only, because the kernel ends a child with the thread that made it. `signs` is where
    programs say that they got something done; without it none is restarted for getting nothing done.
    """

    def __init__(
        self,
        logs: Path,
        say: Callable[[str], None],
        *,
        largest_log_bytes: int = log_files.LARGEST_BYTES,
        kept_logs: int = log_files.KEPT_FILES,
        rotate_every_s: float = ROTATE_EVERY_S,
        signs: LivenessSigns | None = None,
    ) -> None:
        self._logs = logs
        self._signs = signs
        self._listened_at = time.monotonic()
        self._largest_log_bytes, self._kept_logs = largest_log_bytes, kept_logs
        self._rotate_every_s = rotate_every_s
        self._rotated_at = time.monotonic()
        self._say = say
        self._children: dict[str, _Child] = {}
        logs.mkdir(mode=0o700, parents=True, exist_ok=True)

    def start(self, program: Program) -> None:
        """Start a program; its output goes to `<logs>/<name>.log`."""
        log = self._logs / f"{program.name}.log"
        for earlier in self._logs.glob(f"{log.name}*"):
            with suppress(OSError):  # not ours
                earlier.chmod(0o600)
        self._rotate(log)
        process = self._spawn(program, log)
        self._children[program.name] = _Child(program, log, process, time.monotonic())

    def watch(self) -> None:
        """Start again what has died and is due, end what gets nothing done, rotate logs that grew large.

        Raises `StartFailed` for what cannot be restarted.
        """
        if time.monotonic() - self._rotated_at >= self._rotate_every_s:
            self._rotated_at = time.monotonic()
            for child in self._children.values():
                self._rotate(child.log)
        if self._signs and time.monotonic() - self._listened_at >= self._signs.every_s:
            self._listen(self._signs)
        for child in self._children.values():
            self._look_at(child)

    def wait_until(self, is_ready: Callable[[], bool], name: str, timeout_s: float) -> None:
        """Wait for a program to come up; raises `StartFailed` with the end of its log when it does not."""
        end = time.monotonic() + timeout_s
        while not is_ready():
            code = self._children[name].process.poll()
            if code is not None:
                raise StartFailed(f"{name} ended with exit code {code}.{self.last_lines(name)}")
            if time.monotonic() > end:
                raise StartFailed(
                    f"{name} did not come up within {timeout_s:.0f} s.{self.last_lines(name)}"
                )
            time.sleep(POLL_S)

    def stop(self, *names: str) -> None:
        """End these programs together: politely first, then not; those not running are passed over."""
        children = [self._children[name] for name in names if name in self._children]
        for child in children:
            if child.process.poll() is None:
                child.process.send_signal(signal.SIGTERM)
        for child in children:
            _end(child)
            del self._children[child.program.name]

    def stop_all(self) -> None:
        """End everything that is left, last started first."""
        for name in reversed(list(self._children)):
            self.stop(name)

    def kill_all(self) -> None:
        """End everything at once."""
        for child in self._children.values():
            _signal_group(child.process, signal.SIGKILL)

    def last_lines(self, name: str, most_bytes: int = 1500) -> str:
        """Return the end of a program's log as a paragraph for a message."""
        log = self._logs / f"{name}.log"
        if not log.exists():
            return ""
        text = log.read_bytes()[-most_bytes:].decode("utf-8", errors="replace").strip()
        return f" The end of {log}:\n{text}"

    def pid(self, name: str) -> int:
        """Return the process id of a program that was started."""
        return self._children[name].process.pid

    def has_ended(self, name: str) -> bool:
        """Return whether a program does not run now."""
        return name not in self._children or self._children[name].process.poll() is not None

    def _rotate(self, log: Path) -> None:
        try:
            log_files.rotate(log, self._largest_log_bytes, self._kept_logs)
        except OSError as error:
            self._say(f"{log} cannot be rotated: {error.strerror}")

    def _look_at(self, child: _Child) -> None:
        if child.due_at is not None:
            if time.monotonic() >= child.due_at:
                self._restart(child)
        elif child.process.poll() is not None:
            self._take_end(child)
        elif child.kill_at is not None and time.monotonic() >= child.kill_at:
            _signal_group(child.process, signal.SIGKILL)

    def _listen(self, signs: LivenessSigns) -> None:
        now = time.monotonic()
        passed_s, self._listened_at = now - self._listened_at, now
        feeding = {
            name
            for child in self._children.values()
            for name, silence in child.silence.items()
            if silence.feeds
        }
        for child in self._children.values():
            fed_by = child.program.fed_by
            for part in child.program.signing if child.due_at is None else ():
                sign = signs.last(part.name)
                if sign is not None:
                    self._hear(
                        child, part, sign, passed_s if not fed_by or fed_by in feeding else 0
                    )
                    self._end_if_silent(child, part, signs)

    def _hear(self, child: _Child, part: Part, sign: float, passed_s: float) -> None:
        before = child.silence.get(part.name, InactiveTime())
        child.silence[part.name] = before.after(sign, passed_s)

    def _end_if_silent(self, child: _Child, part: Part, signs: LivenessSigns) -> None:
        """Tell a program that gets nothing done to end; it is killed when it does not, and started again."""
        program, silence = child.program, child.silence[part.name]
        if child.kill_at is not None or program.quiet_s is None:
            return
        if not silence.is_too_long(program.quiet_s, program.start_within_s):
            return
        if not part.can_work():
            child.silence[part.name] = InactiveTime(silence.sign)
            return
        silent_s, what = round(silence.seconds), "it" if part.name == program.name else program.name
        self._say(
            f"{part.name} has finished nothing for {silent_s} s; {what} is restarted (see {child.log})"
        )
        signs.note_restart(Restart(part.name, datetime.now(UTC), silent_s, str(child.log)))
        child.kill_at = time.monotonic() + program.stop_within_s
        child.process.send_signal(signal.SIGTERM)

    def _take_end(self, child: _Child) -> None:
        name, code = child.program.name, int(child.process.returncode or 0)
        if child.program.when_ended is WhenEnded.FINE:
            return
        if child.program.when_ended is WhenEnded.FAIL:
            raise StartFailed(f"{name} ended with exit code {code}.{self.last_lines(name)}")
        _signal_group(child.process, signal.SIGKILL)
        if child.kill_at is None:
            self._note_crash(child, code)
        lived_s = time.monotonic() - child.started_at
        # Who was restarted for getting nothing done has lived long, and well it was not.
        is_steady = lived_s > STEADY_AFTER_S and child.kill_at is None
        child.failures = 1 if is_steady else child.failures + 1
        wait_s = min(LONGEST_BACKOFF_S, 2.0 ** (child.failures - 1))
        child.due_at = time.monotonic() + wait_s
        self._say(f"{name} ended with exit code {code}; again in {wait_s:.0f} s (see {child.log})")

    def _note_crash(self, child: _Child, code: int) -> None:
        if self._signs is None:
            return
        try:
            with child.log.open("rb") as log:
                log.seek(max(child.log.stat().st_size - LARGEST_CRASH_BYTES, 0))
                end = log.read().decode("utf-8", errors="replace")
        except OSError:
            end = ""
        name, now = child.program.name, datetime.now(UTC)
        self._signs.note_restart(Restart(name, now, 0, str(child.log), why_ended(code, end)))

    def _restart(self, child: _Child) -> None:
        child.process = self._spawn(child.program, child.log)
        child.started_at, child.due_at = time.monotonic(), None
        child.silence, child.kill_at = {}, None
        self._say(f"{child.program.name} started again")

    def _spawn(self, program: Program, log: Path) -> subprocess.Popen[bytes] | Forked:
        if self._signs is not None:
            for part in program.signing:
                self._signs.expect(part.name)
        return _spawn(program, log)


def _spawn(program: Program, log: Path) -> subprocess.Popen[bytes] | Forked:
    environment = {**_TELLING, **program.environment}
    with open(log, "ab", opener=for_this_user_only) as output:
        if program.run is not None:
            shown = None if program.is_shown else output.fileno()
            return fork(program.run, program.name, shown, environment)
        return subprocess.Popen(
            program.command,
            stdin=subprocess.DEVNULL,
            stdout=None if program.is_shown else output,
            stderr=None if program.is_shown else subprocess.STDOUT,
            env={**os.environ, **environment},
            # A Ctrl-C of the terminal reaches only the supervisor, which ends the others in order.
            process_group=0,
            preexec_fn=end_with_parent_thread,  # noqa: PLW1509  the supervisor has one thread
        )


def _end(child: _Child) -> None:
    try:
        child.process.wait(child.program.stop_within_s)
    except subprocess.TimeoutExpired:
        child.process.kill()
        child.process.wait()
    _signal_group(child.process, signal.SIGKILL)


def _signal_group(process: subprocess.Popen[bytes] | Forked, number: signal.Signals) -> None:
    """Send a signal to what a program left behind in its process group."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)


def is_port_free(port: int, host: str = "127.0.0.1") -> bool:
    """Return whether a server could listen there now."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError:
            return False
    return True


def free_port(wanted: int, host: str = "127.0.0.1") -> int:
    """Return the first free port from `wanted` on; raises `StartFailed` when a hundred are taken."""
    for port in range(wanted, wanted + 100):
        if is_port_free(port, host):
            return port
    raise StartFailed(f"The ports {wanted} to {wanted + 99} on {host} are all taken.")


def is_url_ok(url: str, timeout_s: float = 2.0) -> bool:
    """Return whether this URL of our own answers with 200."""
    try:
        with urllib.request.urlopen(url, timeout=timeout_s) as answer:  # noqa: S310  our own http://
            return bool(answer.status == 200)  # noqa: PLR2004  HTTP's "OK"
    except (urllib.error.URLError, OSError):
        return False


@contextmanager
def signals_as_interrupts() -> Iterator[None]:
    """Turn SIGTERM and SIGHUP into the same KeyboardInterrupt that Ctrl-C is.

    A SIGHUP that `nohup` told this process to ignore stays ignored.
    """
    numbers = [signal.SIGINT, signal.SIGTERM]
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
        numbers.append(signal.SIGHUP)
    before = {number: signal.signal(number, signal.default_int_handler) for number in numbers}
    try:
        yield
    finally:
        for number, action in before.items():
            signal.signal(number, action)


def kill_on_next_signal(supervisor: Supervisor, say: Callable[[str], None]) -> None:
    """While everything is being ended: a second Ctrl-C stops waiting and kills what is left."""

    def kill(_number: int, _frame: FrameType | None) -> None:
        say("ending everything at once")
        supervisor.kill_all()

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, kill)
