"""A flow in an engine: a thread with the driver of the flow, whose tasks are jobs of slots."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jobs.logs import rotate
from jobs.spark import contract, submit
from jobs.spark.application import result_of
from jobs.spark.channel.line import DriverChannel, Event
from jobs.spark.contract import JobResult, JobSpec, Outcome
from jobs.spark.engine import folder
from jobs.spark.engine.hosted_run import SparkState, end, log_of, stop_if_unwanted
from jobs.spark.flow_driver.host import Host
from jobs.spark.flow_driver.task_pool import TaskJob

if TYPE_CHECKING:
    from jobs.spark.flow_driver.replicate import FlowDriver
    from jobs.spark.slots.slots import SlotPool

logger = logging.getLogger(__name__)

# How long a flow has for its end: one that is killed or set apart, and one that is handed over.
DROP_S, MOVE_S = 5.0, 40.0
ROTATE_EVERY_S = 10.0
SET_APART = (
    "At two deaths of a slot within ten minutes this flow was at work: it is set apart, in an application of "
    "its own."
)


@dataclass(frozen=True, slots=True)
class Hosting:
    """What the flows of an engine share; `settling` is set where the start of one is over."""

    engine: Path
    pool: SlotPool
    state: SparkState
    open_channel: Callable[[Callable[[Event], None]], DriverChannel]
    make_driver: Callable[[JobSpec, Path, Host], FlowDriver]
    settling: threading.Event = field(default_factory=threading.Event)


class SlotHost:
    """The host of one flow in an engine."""

    def __init__(self, flow: str, hosting: Hosting) -> None:
        self._flow = flow
        self._hosting = hosting
        self._channel: DriverChannel | None = None
        self._jobs: dict[int, TaskJob] = {}
        self._is_dropped = False

    def open_channel(self, on_event: Callable[[Event], None]) -> DriverChannel:
        """Return a channel that the slots reach."""
        self._channel = self._hosting.open_channel(on_event)
        return self._channel

    def start_job(self, channel: DriverChannel, number: int) -> TaskJob:
        """Let a slot copy as the task of this number."""
        self._jobs[number] = self._hosting.pool.begin(self._flow, number, channel.address)
        return self._jobs[number]

    def why_over(self) -> str | None:
        """Return why nothing can be copied any more."""
        return "The engine ended this flow." if self._is_dropped else self._hosting.state.known

    def settle(self) -> None:
        """Say that this flow needs the memory of its start no longer."""
        self._hosting.settling.set()

    def usage(self) -> dict[str, Any]:
        """Return what the flow takes of the engine."""
        return {"name": self._hosting.engine.name, **self._hosting.pool.usage(self._flow)}

    def drop(self) -> None:
        """Let the slots end what they do for the flow, without its driver."""
        self._is_dropped = True
        for job in list(self._jobs.values()):
            job.cancel()
        if self._channel is not None:
            self._channel.close()


class HostedFlow:
    """A run that the engine has taken; `file` says so in the engine's folder. Its loop calls `look`."""

    def __init__(self, file: Path, run_dir: Path, spec: JobSpec, hosting: Hosting) -> None:
        self.flow = name_of(spec)
        self.run_dir = run_dir
        self.is_moving = False
        self._file = file
        self._spec = spec
        self._hosting = hosting
        self._host = SlotHost(self.flow, hosting)
        self._driver: FlowDriver | None = None
        self._ends_at: float | None = None
        self._is_set_apart = self._is_dropped = False
        self._result: JobResult | None = None
        self._rotated_at = time.monotonic()
        self._thread = threading.Thread(target=self._run, name=f"{self.flow}: driver", daemon=True)
        self._thread.start()

    @property
    def is_over(self) -> bool:
        """Whether its thread has ended, or is waited for no longer."""
        return self._is_dropped or not self._thread.is_alive()

    @property
    def is_ending(self) -> bool:
        """Whether it is to stop."""
        return self._ends_at is not None or (self.run_dir / contract.STOP).exists()

    def row(self) -> dict[str, Any]:
        """Return what the engine's progress says about it."""
        used = self._hosting.pool.usage(self.flow)
        state = "running" if used["slots"] else "starting"
        if self.is_ending:
            state = "handed over" if self.is_moving else "stopping"
        return {"run_id": self._spec.run_id, "flow": self.flow, "state": state, **used}

    def look(self) -> None:
        """Request a stop when the lease is over; end the flow that is to end at once, or had its time."""
        now = time.monotonic()
        try:
            stop_if_unwanted(self.run_dir, self._spec)
            if now - self._rotated_at > ROTATE_EVERY_S:
                self._rotated_at = now
                rotate(self.run_dir / contract.LOG)
        except OSError:
            logger.exception("folder of a run cannot be used folder=%s", self.run_dir)
        if (self.run_dir / folder.DROP).exists():
            self._stop_within(DROP_S)
        if self._ends_at is not None and now > self._ends_at and not self.is_over:
            logger.error("flow does not stop and is ended flow=%s", self.flow)
            self._host.drop()
            self._is_dropped = True

    def set_apart(self) -> None:
        """End it, for an application of its own."""
        self._is_set_apart = True
        self._stop_within(DROP_S)

    def move(self) -> None:
        """Stop it for the engine's successor."""
        self.is_moving = True
        self._stop_within(MOVE_S)

    def finish(self) -> None:
        """Write how it ended, or hand it over; when it is over."""
        result = self._ended()
        is_stop = result.outcome is Outcome.STOPPED
        if self.is_moving and is_stop and not (self.run_dir / contract.STOP).exists():
            self._hand_over()
        elif self._is_set_apart and result.outcome is not Outcome.SUCCEEDED:
            told = {**result.summary, "set_apart": True}
            end(self.run_dir, JobResult(Outcome.CRASHED, SET_APART, told))
        elif is_stop or result.outcome is Outcome.SUCCEEDED or not self._hosting.state.is_over():
            end(self.run_dir, result)
        # Else the engine ends with its Spark: who finds the run without a result may start it again.
        self._file.unlink(missing_ok=True)

    def _ended(self) -> JobResult:
        if self._is_dropped:
            return JobResult(Outcome.STOPPED, submit.stop_reason(self.run_dir))
        if self._result is not None:
            return self._result
        what = "The thread of this flow exited unexpectedly; see the log of its engine."
        return JobResult(Outcome.CRASHED, what)

    def _hand_over(self) -> None:
        engine = self._hosting.engine
        with folder.locked(engine.parent):
            successor = folder.successor_of(engine)
            is_there = successor is not None and submit.is_alive(successor)
            target = successor if successor and is_there else engine
            try:
                folder.hand_over(target, self.run_dir)
            except OSError:
                logger.exception("run cannot be handed over folder=%s", self.run_dir)
                end(self.run_dir, self._ended())
                return
        logger.info("flow handed over flow=%s to=%s", self.flow, target.name)

    def _stop_within(self, seconds: float) -> None:
        until = time.monotonic() + seconds
        self._ends_at = until if self._ends_at is None else min(until, self._ends_at)
        if self._driver is not None:
            self._driver.stopping.set()

    def _run(self) -> None:
        with log_of(self.run_dir, self.flow):
            logger.info("flow begins run_id=%s flow=%s", self._spec.run_id, self.flow)
            result = result_of(self._spec, self._drive)
            logger.info("flow ended run_id=%s outcome=%s", self._spec.run_id, result.outcome)
        self._result = result

    def _drive(self) -> JobResult:
        progress = contract.read_json(self.run_dir / contract.PROGRESS) or {}
        self._driver = self._hosting.make_driver(self._spec, self.run_dir, self._host)
        if progress.get("surveyed"):
            self._driver.state.resume(progress)
        if self._ends_at is not None:
            self._driver.stopping.set()
        return self._driver.drive()


def name_of(spec: JobSpec) -> str:
    """Return the name of a run's flow; of one without a flow, its own."""
    flow = spec.arguments.get("flow") or {}
    return str(flow.get("name") or spec.run_id)
