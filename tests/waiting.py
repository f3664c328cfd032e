"""How tests wait: for a condition, for nothing to happen, or because time itself is what is tried.

A limit is machine time: a busy machine gets longer.
"""

from __future__ import annotations

import asyncio
import inspect
import os
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import TypeVar

from jobs.cluster.errors import ClusterFault
from tests.condition_text import describe_condition, short

T = TypeVar("T")
# A busy machine takes several times as long as a calm one.
PATIENCE = 3
# No limit is stretched further: so many times itself, in wall time.
MOST_STRETCHED = 5
# A sleep that returns later than this was held up by the machine.
_LATE_S = 0.05
_LOADAVG = Path("/proc/loadavg")


def runnable_beside_this() -> int:
    """Return how many other threads run or could run now (Linux; 0 elsewhere)."""
    try:
        running = _LOADAVG.read_text("ascii").split()[3].partition("/")[0]
    except (OSError, IndexError):
        return 0
    return max(0, int(running) - 1)


def usable_cores() -> int:
    """Return on how many cores this process may run."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class MachineTime:
    """Counts wall time, and machine time: a second with two runnable threads per core is half of one.

    What a sleep returned too late (`late_s`) is no machine time at all.
    """

    def __init__(
        self,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], object] = time.sleep,
        runnable: Callable[[], int] = runnable_beside_this,
        cores: int | None = None,
    ) -> None:
        self._clock = clock
        self._sleep = sleep
        self._runnable = runnable
        self._cores = cores or usable_cores()
        self._counted_at = clock()
        self.wall_s = 0.0
        self.machine_s = 0.0
        self.late_s = 0.0

    def count(self, asked_s: float | None = None) -> float:
        """Count the time since the last call, a sleep of `asked_s` if that is given; returns it."""
        now = self._clock()
        took_s = now - self._counted_at
        self._counted_at = now
        late_s = 0.0 if asked_s is None else took_s - asked_s
        if late_s <= _LATE_S:
            late_s = 0.0
        self.wall_s += took_s
        self.late_s += late_s
        self.machine_s += (took_s - late_s) / max(1.0, self._runnable() / self._cores)
        return took_s

    def sleep(self, seconds: float) -> None:
        """Sleep, and count that."""
        self.count()
        self._sleep(seconds)
        self.count(seconds)


class Deadline:
    """A limit of `PATIENCE` times `within` seconds of machine time for a condition that is checked again."""

    def __init__(self, within: float, machine: MachineTime | None = None) -> None:
        self.machine = machine or MachineTime()
        self.limit_s = within * PATIENCE
        self._began = self.machine.wall_s, self.machine.machine_s

    def is_over(self) -> bool:
        """Say whether the time is over now."""
        self.machine.count()
        wall_s, machine_s = self._waited_s
        return machine_s > self.limit_s or wall_s > self.limit_s * MOST_STRETCHED

    @property
    def _waited_s(self) -> tuple[float, float]:
        wall_s, machine_s = self._began
        return self.machine.wall_s - wall_s, self.machine.machine_s - machine_s

    @property
    def waited(self) -> str:
        """How long it was, for a message."""
        wall_s, machine_s = self._waited_s
        return f"{wall_s:.1f} s ({machine_s:.1f} s of machine time)"

    def check(self, what: str) -> None:
        """Fail with `what` when the time is over."""
        if self.is_over():
            raise AssertionError(f"{what}, in {self.waited}; the limit is {self.limit_s:g} s")


class _Looks:
    """What was seen of a condition that is checked until a deadline."""

    def __init__(self, condition: Callable[[], object], deadline: Deadline) -> None:
        self._condition = condition
        self.deadline = deadline
        self._value: object = None
        self._fault: ClusterFault | None = None

    def hear(self, error: ClusterFault) -> None:
        """Note a fault; one that asking again does not help against is raised."""
        if not error.retriable:
            raise error
        self._fault = error

    def note(self, value: object) -> None:
        """Note a value; it was an answer."""
        self._value, self._fault = value, None

    def pause_s(self, every: float) -> float:
        """Return when to look again; fails at the end of the time.

        What is dear to look at is looked at more seldom: the machine is left to what is waited for.
        """
        took_s = self.deadline.machine.count()
        self.check()
        return max(every, min(4 * took_s, took_s + 1.0))

    def check(self) -> None:
        """Fail at the end of the time."""
        if self.deadline.is_over():
            raise self._failure() from self._fault

    def _failure(self) -> AssertionError:
        waited = self.deadline.waited  # asking for the parts of the condition takes time, too
        lines = [f"not true within {waited}; the limit is {self.deadline.limit_s:g} s"]
        lines.append(describe_condition(self._condition))
        lines.append(f"last value: {short(self._value)}")
        if self._fault is not None:
            lines.append(f"last fault: {type(self._fault).__name__}: {self._fault}")
        return AssertionError("\n".join(lines))


def eventually(
    condition: Callable[[], T],
    within: float = 10.0,
    *,
    every: float = 0.05,
    machine: MachineTime | None = None,
) -> T:
    """Wait until a condition returns something true, and return that; see `Deadline` for the limit.

    A cluster that does not answer for a moment, because a test kills its nodes, is queried again.
    """
    looks = _Looks(condition, Deadline(within, machine))
    while True:
        looks.deadline.machine.count()
        try:
            value = condition()
        except ClusterFault as error:
            looks.hear(error)
        else:
            if value:
                return value
            looks.note(value)
        looks.deadline.machine.sleep(looks.pause_s(every))


async def eventually_async(
    condition: Callable[[], T | Awaitable[T]], within: float = 10.0, *, every: float = 0.005
) -> T:
    """Do the same in an event loop, without holding it up; an awaited condition is not dear to look at."""
    looks = _Looks(condition, Deadline(within))
    while True:
        try:
            found = condition()
            value: T = await found if inspect.isawaitable(found) else found  # type: ignore[assignment]
        except ClusterFault as error:
            looks.hear(error)
        else:
            if value:
                return value
            looks.note(value)
        looks.check()
        await asyncio.sleep(every)
        looks.deadline.machine.count(every)


def stays(
    condition: Callable[[], object],
    seconds: float,
    *,
    every: float = 0.1,
    machine: MachineTime | None = None,
) -> None:
    """Fail unless a condition holds for so many seconds of wall time, at every look and at the last one.

    A cluster that cannot be asked for a moment says nothing; it must answer in the end.
    """
    machine = machine or MachineTime()
    while machine.wall_s < seconds:
        try:
            _assert_holds(condition, seconds, machine)
        except ClusterFault as error:
            if not error.retriable:
                raise
        machine.sleep(min(every, max(0.0, seconds - machine.wall_s)))
    eventually(lambda: _assert_holds(condition, seconds, machine), machine=machine)


def _assert_holds(condition: Callable[[], object], seconds: float, machine: MachineTime) -> bool:
    value = condition()
    machine.count()
    if not value:
        text = f"no longer true after {machine.wall_s:.1f} s of {seconds:g} s"
        raise AssertionError(f"{text}\n{describe_condition(condition)}\nlast value: {short(value)}")
    return True


def unchanged(
    look: Callable[[], T],
    seconds: float,
    within: float = 10.0,
    *,
    every: float = 0.05,
    machine: MachineTime | None = None,
) -> T:
    """Wait until a value has been the same for so many seconds of wall time, and return it."""
    machine = machine or MachineTime()
    seen: list[tuple[float, T]] = []

    def is_unchanged() -> bool:
        value = look()
        machine.count()
        if not seen or seen[-1][1] != value:
            seen[:] = [(machine.wall_s, value)]
        return machine.wall_s - seen[0][0] >= seconds

    eventually(is_unchanged, within, every=every, machine=machine)
    return seen[0][1]


def lasting(seconds: float, machine: MachineTime | None = None) -> Iterator[float]:
    """Yield the seconds of wall time that are left, until they are over."""
    machine = machine or MachineTime()
    while machine.wall_s < seconds:
        yield seconds - machine.wall_s
        machine.count()


def pause(seconds: float, why: str) -> None:
    """Let time go by where that is what a test does to the others; `why` says what for."""
    assert why
    time.sleep(seconds)


class Stalls:
    """Counts for how long this process was not run, while its block lasts; a limit of time leaves that out.

    A thread sleeps for moments: what it oversleeps is time in which the machine was busy with others.
    """

    _MOMENT_S = 0.05

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._began = 0.0
        self._ended: float | None = None
        self._stop = threading.Event()
        self._machine = MachineTime(clock=self._now, runnable=lambda: 0)
        self._thread = threading.Thread(target=self._count, daemon=True)

    def __enter__(self) -> Stalls:
        self._machine.count()
        self._began = self._now()
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended = self._clock()
        self._stop.set()
        self._thread.join()

    @property
    def seconds(self) -> float:
        """For how long it was not run."""
        return self._machine.late_s

    @property
    def wall_s(self) -> float:
        """How long the block took, or takes so far."""
        return self._now() - self._began

    @property
    def took_s(self) -> float:
        """The time of the block in which this process could run."""
        return self.wall_s - self.seconds

    def _now(self) -> float:
        """Return the time, which ends with the block."""
        return self._clock() if self._ended is None else self._ended

    def _count(self) -> None:
        while not self._stop.wait(self._MOMENT_S):
            self._machine.count(self._MOMENT_S)
        self._machine.count(self._MOMENT_S)
