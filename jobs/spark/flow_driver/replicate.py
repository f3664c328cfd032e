"""The driver of a replication flow: one Spark application that copies until it is stopped.

It surveys both clusters and lets `FlowDriverLoop` work on what it found. Only what cannot be fixed while
tasks run comes back here: then everything restarts, from the positions on the target.
"""

from __future__ import annotations

import logging
import signal
import threading
import time
from contextlib import ExitStack
from pathlib import Path
from types import FrameType
from typing import Self

from jobs.cluster.client import ClusterClient
from jobs.cluster.errors import ClusterFault, Remedy
from jobs.cluster.protocol.transport.timing import Patience
from jobs.replication.checkpoints.thread import CheckpointThread
from jobs.replication.copy.contract import CopyState
from jobs.replication.copy.heartbeats import Heartbeats
from jobs.replication.flow.spec import FlowSpec
from jobs.spark import contract, submit
from jobs.spark.contract import FIRST_RECORD, JobResult, JobSpec, Outcome
from jobs.spark.control import ControlFile
from jobs.spark.flow_driver.balancing import Balance
from jobs.spark.flow_driver.clusters import Clusters
from jobs.spark.flow_driver.driver_loop import DriverIntervals, FlowDriverLoop
from jobs.spark.flow_driver.host import Host, OwnApplication
from jobs.spark.flow_driver.state import FlowState
from jobs.spark.flow_driver.task_pool import backoff_s
from jobs.spark.secret import close_context, open_context
from jobs.spark.settings import master_of

logger = logging.getLogger(__name__)

SURVEY_INTERVAL_S = 10.0
RECONNECT_TIMEOUT_S = 15.0
BALANCE_INTERVAL_S = 60.0
BALANCE_LASTING_S = 20.0
POLL_INTERVAL_S = 0.2
SPARK_S = 1.0
ASKED_AGAIN = "It is queried again."


def run(spec: JobSpec, run_dir: Path) -> JobResult:
    """Replicate the flow of this spec.

    Arguments: `flow` (a FlowSpec mapping), `topic_ids` (topic -> id that was copied before),
    `reset_topics` (topics to copy from their beginning), `until_caught_up` (end there),
    `refresh_s`, `home_s`, `balance_s`, `balance_lasting_s`. Result: see `FlowState.summary`.
    """
    context = open_context(master_of(spec))
    try:
        driver = FlowDriver(spec, run_dir, OwnApplication(context))
        signal.signal(signal.SIGTERM, driver.on_signal)
        return driver.drive()
    finally:
        close_context(context)


class Companions:
    """Heartbeats and checkpoints beside the tasks; as a context manager they end with the block."""

    def __init__(self, state: FlowState, source: ClusterClient, target: ClusterClient) -> None:
        self._state = state
        self._clients = (source, target)
        self._lives = ExitStack()
        self._checkpoints: CheckpointThread | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._lives.close()

    def begin(self) -> None:
        """Begin, or end and begin again with the flow's settings of now."""
        self._lives.close()
        flow = self._state.flow
        self._lives.enter_context(Heartbeats(flow, *self._clients))
        self._checkpoints = CheckpointThread(flow, after=self._checkpoints)
        self._lives.enter_context(self._checkpoints)
        self._state.checkpoints = self._checkpoints.to_mapping


class FlowDriver:
    """Drives one flow; everything it knows is in the clusters, so it can be killed at any moment."""

    def __init__(self, spec: JobSpec, run_dir: Path, host: Host) -> None:
        arguments = spec.arguments
        self.until_caught_up = bool(arguments.get("until_caught_up"))
        self.rhythm = DriverIntervals(
            refresh_s=float(arguments.get("refresh_s", SURVEY_INTERVAL_S)),
            reconnect_timeout_s=float(arguments.get("home_s", RECONNECT_TIMEOUT_S)),
            balance=Balance(
                every_s=float(arguments.get("balance_s", BALANCE_INTERVAL_S)),
                lasting_s=float(arguments.get("balance_lasting_s", BALANCE_LASTING_S)),
            ),
        )
        self.run_dir = run_dir
        self.host = host
        self.state = FlowState(
            flow=FlowSpec.from_mapping(arguments["flow"]),
            run_dir=run_dir,
            control=ControlFile(run_dir),
            topic_ids=dict(arguments.get("topic_ids") or {}),
            reset_topics=frozenset(arguments.get("reset_topics") or ()),
            usage=host.usage,
        )
        self.state.control.look()
        self.state.take_settings()
        self.has_copied_before = bool(self.state.topic_ids)
        self.is_living = False
        self.is_shrunk = False
        self.over: str | None = None
        self.spark_at = 0.0
        self.patience = Patience(waits_for_people=not self.until_caught_up)
        self.stopping = threading.Event()

    def drive(self) -> JobResult:
        """Copy until stopped (or caught up, when asked for) and return the result."""
        failures = 0
        flow = self.state.flow
        self.state.show()  # Spark is up: the clusters come next
        with (
            ClusterClient(flow.source) as source,
            ClusterClient(flow.target) as target,
            Companions(self.state, source, target) as companions,
        ):
            self.state.on_settings = companions.begin
            clusters = Clusters(flow, source, target, self.state.topic_sync)
            while not self._should_stop() and not self.state.is_done:
                try:
                    self._begin(clusters)
                except ClusterFault as fault:
                    failures += 1
                    if self.patience.is_over(fault):
                        return self._refused(fault)
                    self._wait_for(fault, failures)
                    continue
                self.patience.succeeded()
                if not self.is_living:  # the topics of both are there since the survey
                    companions.begin()
                    self.is_living = True
                copying = self._copying(clusters)
                problem = copying.run(self._should_stop)
                if copying.patience.refused is not None:
                    return self._refused(copying.patience.refused)
                failures = failures + 1 if problem else 0
                if problem:
                    self._restart_after(problem, failures)
        return self._result()

    def _begin(self, clusters: Clusters) -> None:
        survey = clusters.begin(self.state.topic_ids, self.state.reset_topics)
        self.state.begin(survey)
        if self.until_caught_up:
            self.state.end_here(survey)
        self.state.show()

    def _copying(self, clusters: Clusters) -> FlowDriverLoop:
        return FlowDriverLoop(
            self.state, clusters, self.host.start_job, self.host.open_channel, self.rhythm
        )

    def _wait_for(self, fault: ClusterFault, failures: int) -> None:
        logger.warning("survey failed flow=%s error=%s", self.state.flow.name, fault)
        waits = f" {ASKED_AGAIN}" if fault.remedy is Remedy.OPERATOR else ""
        self.state.message = self.state.fault = f"{fault} {fault.hint}{waits}"
        self.state.progress.fail_all_open(CopyState.RETRYING, str(fault))
        self.state.show()
        self._pause(backoff_s(failures))

    def _refused(self, fault: ClusterFault) -> JobResult:
        self.state.message = self.state.fault = f"{fault} {fault.hint}"
        self.state.progress.fail_all_open(CopyState.FAILED, self.state.fault)
        self.state.show()
        summary = self.state.summary()
        return JobResult.refused(fault, summary, has_worked=self.has_copied_before)

    def _restart_after(self, problem: str, failures: int) -> None:
        logger.warning("all tasks restart flow=%s: %s", self.state.flow.name, problem)
        self.state.restart(f"All tasks are restarted: {problem}")
        self.state.progress.fail_all_open(CopyState.RETRYING, self.state.message)
        self.state.show()
        self._pause(backoff_s(failures))

    def _pause(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        while time.monotonic() < end and not self._should_stop():
            time.sleep(POLL_INTERVAL_S)

    def _should_stop(self) -> bool:
        if time.monotonic() >= self.spark_at:
            self.spark_at = time.monotonic() + SPARK_S
            self.over = self.host.why_over()
            if not self.is_shrunk and FIRST_RECORD in self.state.stages:
                self.is_shrunk = True
                self.host.settle()
        return self.over is not None or self._is_asked_to_stop()

    def _is_asked_to_stop(self) -> bool:
        return self.stopping.is_set() or (self.run_dir / contract.STOP).exists()

    def on_signal(self, _number: int, _frame: FrameType | None) -> None:
        """Stop as if it had been requested."""
        self.stopping.set()

    def _result(self) -> JobResult:
        state = self.state
        state.show()
        summary = state.summary()
        if self.over is not None and not self._is_asked_to_stop():
            return JobResult(Outcome.FAILED, self.over, summary)
        if state.is_done and state.ends is not None:
            if short := state.progress.why_short(state.ends):
                return JobResult(Outcome.FAILED, short, summary)
            return JobResult(Outcome.SUCCEEDED, None, summary)
        return JobResult(Outcome.STOPPED, submit.stop_reason(self.run_dir), summary)
