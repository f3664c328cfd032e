"""The tasks of a running flow: one Spark job each, started when needed, started again when lost.

A job of its own, not one job with many tasks: Spark ends a whole job when one of its tasks is lost for
good, and the others would have to end with it. Spark's own retries are off (`spark.task.maxFailures=1`),
because only the driver may say when it is safe to resume: after fencing, at positions read again. An
executor that is lost together with its machine does not count as a failure for Spark, which runs the task
again elsewhere; its coming is heard here like that of a job started again.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from jobs.replication.copy.contract import CopyLimits
from jobs.spark.channel.line import ChannelAddress, Line

if TYPE_CHECKING:
    from pyspark import SparkContext

logger = logging.getLogger(__name__)

RECONNECT_TIMEOUT_S = 15.0
SILENCE_TIMEOUT_S = 30.0
STEADY_S = 60.0
# Why a task is gone that was moved on purpose: it is started again elsewhere at once.
MOVED = "it moves to another slot"
LONGEST_BACKOFF_S = 30.0
# How Python begins the line of an exception of this package, whatever its name.
_OWN_FAULT = "jobs."
# What Spark says of a process that was killed, and what that means here.
_DIED, _GONE = "Python worker exited unexpectedly", "its process is gone"

Program = Callable[[int, ChannelAddress], None]
"""What a task does until its channel asks for a stop: gets its number and where the driver listens."""


class TaskJob(Protocol):
    """What runs one task: a Spark job, or a copy in a slot (`slot`, None: in none).

    `problem` says why it ended, or is to.
    """

    problem: str | None
    slot: int | None

    def is_running(self) -> bool: ...

    def cancel(self) -> None: ...


class TaskFunction:
    """A function for `mapPartitions` that runs a program with the channel's address and a number."""

    def __init__(self, program: Program, address: ChannelAddress, number: int) -> None:
        self.program = program
        self.address = address
        self.number = number

    def __call__(self, _elements: Iterable[int]) -> Iterator[int]:
        """Run the program; yields its number."""
        self.program(self.number, self.address)
        yield self.number


class SparkJob:
    """A Spark job of one long task, run from a thread so that the driver can watch it."""

    def __init__(
        self, context: SparkContext, program: Program, address: ChannelAddress, number: int
    ) -> None:
        self.problem: str | None = None
        self.slot: int | None = None
        self._context = context
        self._group = f"task-{number}"
        self._task = TaskFunction(program, address, number)
        self._thread = threading.Thread(target=self._run, name=self._group, daemon=True)
        self._thread.start()

    def is_running(self) -> bool:
        """Return whether the task is still at work, or waits for a free core."""
        return self._thread.is_alive()

    def cancel(self) -> None:
        """Cancel the Spark job: Spark kills the Python worker if that does not return."""
        self._context.cancelJobGroup(self._group)

    def _run(self) -> None:
        try:
            self._context.setJobGroup(self._group, "copies partitions")
            self._context.parallelize([0], 1).mapPartitions(self._task).collect()
        except Exception as error:  # noqa: BLE001  Py4J wraps whatever ended the job
            self.problem = last_line(str(error))


@dataclass(slots=True)
class TaskHandle:
    """One task. Times are monotonic seconds; `since_s` is when it began to come up, or was lost.

    `line` is there while it listens, `has_assignment` once it knows what it is for. `is_lost` means that its
    partitions wait for their recovery. `is_up` is False from the moment its loss was noted until it comes
    again. One that `is_retired` was ended on purpose and is not started again.
    """

    number: int
    since_s: float
    job: TaskJob | None = None
    line: Line | None = None
    has_assignment: bool = False
    is_lost: bool = False
    is_up: bool = True
    is_retired: bool = False
    last_message_s: float = 0.0
    failures: int = 0
    retry_at_s: float = 0.0
    limits: CopyLimits | None = None

    @property
    def is_ready(self) -> bool:
        """Whether it can take partitions on."""
        return self.line is not None and self.has_assignment and not self.is_lost

    @property
    def state(self) -> str:
        """One word for the progress."""
        if self.is_ready:
            return "running"
        if self.is_lost:
            return "lost"
        return "starting" if self.job is not None else "waiting"

    def row(self) -> dict[str, Any]:
        """Return what the progress says: `task`, `state`, `slot`."""
        slot = self.job.slot if self.job is not None else None
        return {"task": self.number, "state": self.state, "slot": slot}


@dataclass(frozen=True, slots=True)
class LostTask:
    """A task is gone; `why` is a sentence."""

    number: int
    why: str


@dataclass(slots=True)
class TaskPool:
    """All tasks of a flow. `start_job` starts the Spark job of a task.

    A task that is lost has `reconnect_timeout_s` seconds to come back before its share goes to others; one
    that says nothing for `silence_timeout_s` is lost.
    """

    start_job: Callable[[int], TaskJob]
    reconnect_timeout_s: float = RECONNECT_TIMEOUT_S
    silence_timeout_s: float = SILENCE_TIMEOUT_S
    tasks: list[TaskHandle] = field(default_factory=list)
    up_since_s: float = 0.0

    def grow(self, count: int, now_s: float) -> None:
        """Have at least so many tasks."""
        while len(self.tasks) < count:
            number = len(self.tasks)
            self.tasks.append(TaskHandle(number, now_s, self.start_job(number)))

    def ready(self) -> list[int]:
        """Return the tasks that can take partitions on."""
        return [handle.number for handle in self.tasks if handle.is_ready]

    def expected(self, now_s: float) -> list[int]:
        """Return the tasks that will soon be ready; all of them while none is.

        However long it takes until the first one is there, the others get their time from then on.
        """
        coming = [m for m in self.tasks if not (m.is_ready or m.is_retired)]
        if not self.ready():
            self.up_since_s = now_s
        since_s = self.up_since_s
        return [
            m.number for m in coming if now_s - max(m.since_s, since_s) < self.reconnect_timeout_s
        ]

    def task_connected(self, line: Line, now_s: float) -> LostTask | None:
        """Note that a task listens; returns the loss of the one it replaces, if that was not noted."""
        handle = self.tasks[line.task]
        loss = None
        if handle.line is not None:
            handle.line.close()
            loss = self._lose(handle, "Spark runs the task again", now_s)
        handle.line, handle.last_message_s, handle.is_up = line, now_s, True
        handle.has_assignment, handle.limits = False, None
        return loss

    def note_message(self, line: Line, now_s: float) -> bool:
        """Note that a task said something; returns False for one that was given up."""
        handle = self.tasks[line.task]
        if handle.line is not line:
            return False
        handle.last_message_s = now_s
        return True

    def task_disconnected(self, line: Line, now_s: float) -> LostTask | None:
        """Note that a line is closed; returns the loss, None for one that was given up before."""
        handle = self.tasks[line.task]
        if handle.line is not line:
            return None
        problem = handle.job.problem if handle.job is not None else None
        return self._lose(handle, problem or _GONE, now_s)

    def check(self, now_s: float) -> Iterator[LostTask]:
        """Find tasks that ended or fell silent, and start again those whose time has come."""
        for handle in self.tasks:
            job = handle.job
            if job is not None and not job.is_running():
                why = job.problem or "it exited unexpectedly"
                loss = self._lose(handle, why, now_s)
                self._back_off(handle, now_s)
                if loss is not None:
                    yield loss
            elif handle.line is not None and now_s - handle.last_message_s > self.silence_timeout_s:
                loss = self._lose(
                    handle, f"it sent no report for {self.silence_timeout_s:.0f} s", now_s
                )
                if job is not None:
                    job.cancel()
                if loss is not None:
                    yield loss
            elif job is None and now_s >= handle.retry_at_s and not handle.is_retired:
                handle.job, handle.since_s, handle.is_up = (
                    self.start_job(handle.number),
                    now_s,
                    True,
                )

    def _lose(self, handle: TaskHandle, why: str, now_s: float) -> LostTask | None:
        if handle.line is not None:
            handle.line.close()
        if now_s - handle.since_s > STEADY_S:
            handle.failures = 0
        handle.line, handle.has_assignment = None, False
        if not handle.is_up:
            return None
        handle.is_up, handle.since_s = False, now_s
        return LostTask(handle.number, why)

    def _back_off(self, handle: TaskHandle, now_s: float) -> None:
        """Wait a little longer after each failure in a row before the job is started again."""
        is_moved = handle.job is not None and handle.job.problem == MOVED
        handle.job = None
        handle.failures += not is_moved
        handle.retry_at_s = now_s if is_moved else now_s + backoff_s(handle.failures)

    def is_running(self) -> bool:
        """Return whether some job is still running."""
        return any(m.job is not None and m.job.is_running() for m in self.tasks)


def backoff_s(failures: int) -> float:
    """Return how long to wait after this many failures in a row: 1, 2, 4 ... 30 s."""
    return min(2.0 ** (failures - 1), LONGEST_BACKOFF_S)


def last_line(text: str) -> str:
    """Return the line of a Spark error that says what happened in the Python task."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    told = [
        line
        for line in lines
        if line.startswith(_OWN_FAULT) or ("Error:" in line and not line.startswith("at "))
    ]
    if not told and _DIED in text:
        return _GONE
    return (told or lines or ["unknown"])[-1][:500]
