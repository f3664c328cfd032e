"""The driver of an engine of flows: takes runs from its inbox, hosts them, and hands them to a successor."""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jobs.memory import give_back_memory
from jobs.spark import contract, processes, submit
from jobs.spark.channel.line import ChannelAddress
from jobs.spark.contract import JobResult, JobSpec, Outcome
from jobs.spark.engine import folder
from jobs.spark.engine.hosted_run import SparkState, end, stop_if_unwanted
from jobs.spark.flow_driver.host import open_channel
from jobs.spark.flow_driver.replicate import FlowDriver
from jobs.spark.flow_driver.task_pool import SparkJob
from jobs.spark.secret import close_context, open_context, shrink_heap
from jobs.spark.settings import master_of
from jobs.spark.slots.hosted_flow import HostedFlow, Hosting, name_of
from jobs.spark.slots.slot_task import run_slot
from jobs.spark.slots.slots import SlotPool

if TYPE_CHECKING:
    from pyspark import SparkContext

logger = logging.getLogger(__name__)

STEP_S = 0.1
LOOK_S = 1.0
# The processes of an engine are found and counted this often: there are many threads to look at.
MEASURE_S = 5.0
SETTLES_AFTER_S = 5.0
ENDING_S = 27.0
# How long a flow that was handed over may take to copy again before the next one is.
NEXT_AFTER_S = 30.0


def run(spec: JobSpec, run_dir: Path) -> JobResult:
    """Host flows until none came for a while.

    Arguments: `tasks` (slots), `idle_s` (ends after so long without a flow), `release` (of crosslog). Result:
    `hosted` (how many flows). Progress: `slots` (`slot`, `state`, `pid`, `host`, `rss_bytes`, `cpu_percent`,
    `flows`, `own_flow`, `restarts`, `lost_at_ms`, `why_lost`), `flows` (`run_id`, `flow`, `slots`, `state`,
    `cpu_percent`, `memory_bytes`), and `restarts`, `rss_bytes`, `cpu_percent`, `in_flight_bytes`,
    `release`, `is_starting` and `successor` of the engine.
    """
    context = open_context(master_of(spec))
    channel = partial(open_channel, context)

    def start_slot(address: ChannelAddress, number: int) -> SparkJob:
        return SparkJob(context, run_slot, address, number)

    def start_daemon() -> None:
        context.parallelize([0], 1).mapPartitions(list).collect()

    # What forks slots needs seconds to come up: flows are surveyed meanwhile.
    starting = threading.Thread(target=start_daemon, name="start-daemon", daemon=True)
    starting.start()
    pool = SlotPool(channel, start_slot, int(spec.arguments["tasks"]))
    try:
        hosting = Hosting(run_dir, pool, SparkState(context), channel, FlowDriver)
        return FlowsEngine(spec, hosting, partial(_settle, context), starting.is_alive).serve()
    finally:
        pool.close()
        close_context(context)


def _settle(context: SparkContext) -> None:
    shrink_heap(context)
    give_back_memory()


class FlowsEngine:
    """The flows that an engine has.

    `settle` gives back memory that starts have taken; `is_starting` says whether slots are not quick yet.
    """

    def __init__(
        self,
        spec: JobSpec,
        hosting: Hosting,
        settle: Callable[[], None],
        is_starting: Callable[[], bool],
    ) -> None:
        self._run_dir = hosting.engine
        self._hosting = hosting
        self._pool = hosting.pool
        self._state = hosting.state
        self._settle = settle
        self._is_starting = is_starting
        self._release = spec.arguments.get("release")
        self._idle_s = float(spec.arguments["idle_s"])
        self._flows: dict[str, HostedFlow] = {}
        self._waiting: set[Path] = set()
        self._hosted = 0
        self._busy_at = self._taken_at = time.monotonic()
        self._look_at = self._next_at = 0.0
        self._moved = ""
        self._usage = Usage()

    def serve(self) -> JobResult:
        """Host until idle, rolled, asked to stop, or without Spark."""
        while True:
            now = time.monotonic()
            if (self._run_dir / contract.STOP).exists():
                return self._stop(submit.stop_reason(self._run_dir))
            if now >= self._look_at:
                self._look_at = now + LOOK_S
                why = self._state.why_over()
                if why is not None:
                    return JobResult(Outcome.CRASHED, why)
                self._look(now)
            self._step()
            self._take_waiting(now)
            if self._flows:
                self._busy_at = now
            elif self._is_done(now) and folder.close_if_empty(self._run_dir):
                return JobResult(Outcome.SUCCEEDED, summary={"hosted": self._hosted})
            time.sleep(STEP_S)

    def _is_done(self, now: float) -> bool:
        is_idle = now - self._busy_at > self._idle_s
        return is_idle or folder.successor_of(self._run_dir) is not None

    def _step(self) -> None:
        self._pool.step()
        for name in self._pool.take_suspects():
            if name in self._flows:
                self._flows[name].set_apart()
        for flow in [flow for flow in self._flows.values() if flow.is_over]:
            flow.finish()
            del self._flows[flow.flow]

    def _take_waiting(self, now: float) -> None:
        for file, run_dir in folder.waiting(self._run_dir):
            try:
                self._take(file, run_dir, now)
            except (OSError, ValueError, TypeError):
                # Its folder was removed, or is no run: no caller waits for it.
                logger.exception("run cannot be taken folder=%s", run_dir)
                file.unlink(missing_ok=True)

    def _take(self, file: Path, run_dir: Path, now: float) -> None:
        spec = contract.read_spec(run_dir)
        flow = name_of(spec)
        if stop_if_unwanted(run_dir, spec):
            end(run_dir, JobResult(Outcome.STOPPED, submit.stop_reason(run_dir)))
            file.unlink(missing_ok=True)
        elif flow not in self._flows:
            self._waiting.discard(run_dir)
            self._hosted += 1
            self._taken_at = now
            self._flows[flow] = HostedFlow(folder.take(file), run_dir, spec, self._hosting)
        elif run_dir not in self._waiting:
            self._waiting.add(run_dir)
            folder.tell(run_dir, "Waiting for the end of another run of this flow")

    def _look(self, now: float) -> None:
        for flow in self._flows.values():
            flow.look()
        self._roll(now)
        if self._hosting.settling.is_set() and now - self._taken_at > SETTLES_AFTER_S:
            self._hosting.settling.clear()
            self._settle()
        self._show(now)

    def _roll(self, now: float) -> None:
        """Hand the flows over to a successor, each when the one before copies again."""
        successor = folder.successor_of(self._run_dir)
        if successor is None:
            return
        if not submit.is_alive(successor):
            with folder.locked(self._run_dir.parent):
                if folder.successor_of(self._run_dir) == successor:
                    folder.name_successor(self._run_dir, None)
            return
        progress = contract.read_json(successor / contract.PROGRESS)
        if (
            progress is None
            or progress["is_starting"]
            or any(flow.is_moving for flow in self._flows.values())
        ):
            return
        running = {row["flow"] for row in progress["flows"] if row["state"] == "running"}
        if self._moved not in running and now < self._next_at:
            return
        for flow in self._flows.values():
            if not flow.is_ending:
                flow.move()
                self._moved, self._next_at = flow.flow, now + NEXT_AFTER_S
                return

    def _show(self, now: float) -> None:
        rows = [flow.row() for flow in self._flows.values()]
        successor = folder.successor_of(self._run_dir)
        progress = {
            "at_ms": time.time_ns() // 1_000_000,
            "message": f"Flows: {len(rows)}.",
            "release": self._release,
            "is_starting": self._is_starting(),
            "restarts": self._pool.restarts,
            **self._usage.measured(now),
            "in_flight_bytes": self._pool.in_flight_bytes,
            "successor": successor.name if successor else None,
            "slots": self._pool.rows(),
            "flows": rows,
        }
        contract.write_progress(self._run_dir, progress)
        with suppress(OSError):
            # A full disk is no silence, see `door.kill_run`.
            os.utime(self._run_dir / contract.PROGRESS)

    def _stop(self, reason: str | None) -> JobResult:
        """Stop everything that was handed over, within `ENDING_S`."""
        for run_dir in folder.close(self._run_dir):
            end(run_dir, JobResult(Outcome.STOPPED, reason))
        for flow in self._flows.values():
            with suppress(OSError):  # its folder was removed
                submit.request_stop(flow.run_dir, reason or "")
        until = time.monotonic() + ENDING_S
        while self._flows and time.monotonic() < until:
            self._step()
            time.sleep(STEP_S)
        for flow in self._flows.values():  # a cluster that hangs holds up their ends
            end(flow.run_dir, JobResult(Outcome.STOPPED, reason))
        return JobResult(Outcome.STOPPED, reason, {"hosted": self._hosted})


class Usage:
    """What all processes of an engine take, measured every `MEASURE_S`."""

    def __init__(self) -> None:
        self._at = 0.0
        self._cpu_s: float | None = None
        self._told: dict[str, Any] = {"rss_bytes": None, "cpu_percent": None}

    def measured(self, now: float) -> dict[str, Any]:
        """Return `rss_bytes`, and `cpu_percent` of one core since the last time; None before the second."""
        if now - self._at < MEASURE_S:
            return self._told
        jvm = os.getppid()
        pids = [jvm, *processes.children_of(jvm)]
        cpu_s = processes.cpu_seconds(pids)
        # The time of a process that ended counts no more.
        used = None if self._cpu_s is None else max(0.0, cpu_s - self._cpu_s) / (now - self._at)
        percent = None if used is None else round(100 * used, 1)
        self._told = {"rss_bytes": processes.resident_bytes(pids), "cpu_percent": percent}
        self._at, self._cpu_s = now, cpu_s
        return self._told
