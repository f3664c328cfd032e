"""The driver of a replication flow: one Spark application that copies until it is told to stop.

The driver surveys both clusters, hands partitions to long-running tasks, follows topology changes,
restarts lost tasks from the positions in the target cluster, and writes `progress.json`.
"""

from __future__ import annotations

import logging
import os
import signal
import threading
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from types import FrameType
from typing import Any

from pyspark import SparkContext

from jobs.cluster.client import ClusterClient
from jobs.cluster.errors import ClusterFault
from jobs.replication.copier import PartitionProgress, PartitionStart, PartitionState
from jobs.replication.fencing import fence_flow
from jobs.replication.flow import FlowSpec
from jobs.replication.heartbeats import Heartbeats
from jobs.replication.plan import FlowPlan, Known
from jobs.replication.survey import Survey, survey_flow
from jobs.spark import contract, copy_task, processes, submit
from jobs.spark.board import Board
from jobs.spark.channel import DriverChannel
from jobs.spark.contract import JobResult, JobSpec, Outcome

logger = logging.getLogger(__name__)

REFRESH_S = 10.0
PROGRESS_S = 1.0
LOOK_S = 0.2
LONGEST_BACKOFF_S = 30.0


def run(spec: JobSpec, run_dir: Path) -> JobResult:
    """Replicate the flow of this spec.

    Arguments: `flow` (a FlowSpec mapping), `topic_ids` (topic -> id that was copied before),
    `reset_topics` (topics to copy from their beginning), `until_caught_up` (end there),
    `refresh_s`. Result: `partitions_failed`, `records`, `restarts`.
    """
    context = SparkContext.getOrCreate()
    context.setLogLevel("WARN")
    try:
        return FlowDriver(spec, run_dir, context).drive()
    finally:
        context.stop()


class FlowDriver:
    """Drives one flow; everything it knows is in the clusters, so it can be killed at any moment."""

    def __init__(self, spec: JobSpec, run_dir: Path, context: SparkContext) -> None:
        arguments = spec.arguments
        self.flow = FlowSpec.from_mapping(arguments["flow"])
        self.until_caught_up = bool(arguments.get("until_caught_up"))
        self.refresh_s = float(arguments.get("refresh_s", REFRESH_S))
        self.topic_ids: dict[str, str] = dict(arguments.get("topic_ids") or {})
        self.reset_topics = frozenset(arguments.get("reset_topics") or ())
        self.run_dir = run_dir
        self.context = context
        self.board = Board()
        self.survey: Survey | None = None
        self.starts: list[PartitionStart] = []
        self.ends: dict[tuple[str, int], int] | None = None
        self.restarts = 0
        self.has_heartbeats = False
        self.message = "Starting."
        self.fault = ""
        self.stopping = threading.Event()
        signal.signal(signal.SIGTERM, self._on_signal)

    def drive(self) -> JobResult:
        """Copy until stopped (or caught up, when asked for) and return the result."""
        failures = 0
        with (
            ClusterClient(self.flow.source) as source,
            ClusterClient(self.flow.target) as target,
            ExitStack() as lives,
        ):
            while not self._should_stop():
                try:
                    self._take_survey(source, target)
                except ClusterFault as fault:
                    failures += 1
                    self._wait_for(fault, failures)
                    continue
                if not self.has_heartbeats:  # their topic is there since the survey
                    lives.enter_context(Heartbeats(self.flow, source, target))
                    self.has_heartbeats = True
                problem = self._copy(source, target)
                failures = failures + 1 if problem else 0
                if problem:
                    self._restart_after(problem, failures)
                elif self._is_done():
                    break
        return self._result()

    def _take_survey(self, source: ClusterClient, target: ClusterClient) -> None:
        # Before positions are read, so that nobody can move them afterwards.
        fence_flow(self.flow)
        self.survey = self._ask(source, target)
        self.topic_ids = dict(self.survey.plan.topic_ids)
        self.reset_topics = frozenset()
        if self.ends is None:
            self.ends = self.survey.ends()
        self.fault = ""
        plan = self.survey.plan
        given_up = self._given_up(plan)
        self.starts = [s for s in plan.starts if (s.topic, s.partition) not in given_up]
        starts = [PartitionProgress(s.topic, s.partition, s.position) for s in self.starts]
        rows = [asdict(row) for row in [*starts, *plan.refused]]
        self.board.start([*rows, *given_up.values()])
        self.message = f"Copying {len(starts)} partitions of {len(self.survey.topics)} topics."
        self._write_progress()

    def _given_up(self, plan: FlowPlan) -> dict[tuple[str, int], dict[str, Any]]:
        """Return the rows of partitions that failed in this run and whose plan says nothing new.

        They stay as they are until the flow is restarted: trying again at once would only fail again.
        """
        planned = {(start.topic, start.partition) for start in plan.starts}
        failed = {(row["topic"], row["partition"]): row for row in self.board.failed()}
        return {key: row for key, row in failed.items() if key in planned}

    def _ask(self, source: ClusterClient, target: ClusterClient) -> Survey:
        known = Known(
            topic_ids=self.topic_ids,
            reset_topics=self.reset_topics,
            on_recreated=self.flow.on_recreated,
        )
        return survey_flow(self.flow, source, target, known)

    def _copy(self, source: ClusterClient, target: ClusterClient) -> str | None:
        """Run one Spark job of long tasks; returns why it broke, None when it ended as wanted."""
        shares = share_out(self.starts, self.flow.tasks)
        if not shares:
            self._idle(source, target)
            return None
        assignments = {
            task: {
                "flow": self.flow.to_mapping(),
                "shares": len(shares),
                "partitions": [asdict(s) for s in share],
            }
            for task, share in enumerate(shares)
        }
        channel = DriverChannel(self._host(), assignments, self._on_report)
        job = _SparkJob(self.context, channel, len(shares))
        try:
            self._watch(job, channel, source, target)
        finally:
            channel.close()
        return job.problem

    def _watch(
        self, job: _SparkJob, channel: DriverChannel, source: ClusterClient, target: ClusterClient
    ) -> None:
        refresh_at = time.monotonic() + self.refresh_s
        progress_at = 0.0
        told = False
        while job.is_running():
            now = time.monotonic()
            if now >= progress_at:
                self._write_progress()
                progress_at = now + PROGRESS_S
            wants_stop = self._should_stop() or self._is_done()
            if not wants_stop and not told and now >= refresh_at:
                wants_stop = self._has_changed(source, target)
                refresh_at = time.monotonic() + self.refresh_s
            if wants_stop and not told:
                channel.stop_tasks()
                told = True
            time.sleep(LOOK_S)
        self._write_progress()

    def _idle(self, source: ClusterClient, target: ClusterClient) -> None:
        """Nothing can be copied now: look again after a while."""
        self.message = "No partition can be copied now: see the reasons, or the flow's filters."
        self._write_progress()
        self._pause(self.refresh_s)

    def _has_changed(self, source: ClusterClient, target: ClusterClient) -> bool:
        assert self.survey is not None  # noqa: S101  _take_survey comes first
        try:
            survey = self._ask(source, target)
        except ClusterFault as fault:
            # The tasks retry by themselves; only what a person sees changes here.
            logger.warning("survey failed flow=%s error=%s", self.flow.name, fault)
            self.message = f"{fault} {fault.hint}"
            return False
        self.message = (
            f"Copying {len(survey.plan.starts)} partitions of {len(survey.topics)} topics."
        )
        return survey.plan.shape() != self.survey.plan.shape()

    def _wait_for(self, fault: ClusterFault, failures: int) -> None:
        logger.warning("survey failed flow=%s error=%s", self.flow.name, fault)
        self.message = self.fault = f"{fault} {fault.hint}"
        self.board.fail_all_open(PartitionState.RETRYING, str(fault))
        self._write_progress()
        self._pause(backoff_s(failures))

    def _restart_after(self, problem: str, failures: int) -> None:
        self.restarts += 1
        logger.warning("tasks lost flow=%s restarts=%d: %s", self.flow.name, self.restarts, problem)
        self.message = f"The tasks ended unexpectedly and are started again: {problem}"
        self.board.fail_all_open(PartitionState.RETRYING, self.message)
        self._write_progress()
        self._pause(backoff_s(failures))

    def _pause(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        while time.monotonic() < end and not self._should_stop():
            time.sleep(LOOK_S)

    def _should_stop(self) -> bool:
        return self.stopping.is_set() or (self.run_dir / contract.STOP).exists()

    def _is_done(self) -> bool:
        return self.until_caught_up and self.ends is not None and self.board.is_finished(self.ends)

    def _on_report(self, _task: int, rows: list[dict[str, Any]]) -> None:
        self.board.update(rows, time.monotonic())

    def _on_signal(self, _number: int, _frame: FrameType | None) -> None:
        self.stopping.set()

    def _host(self) -> str:
        return str(self.context.getConf().get("spark.driver.host", "127.0.0.1"))

    def _write_progress(self) -> None:
        jvm = os.getppid()
        family = [jvm, *processes.children_of(jvm)]
        topics = self.survey.topics if self.survey else ()
        places = self.survey.places if self.survey else {}
        progress = {
            "at_ms": time.time_ns() // 1_000_000,
            "message": self.message,
            "surveyed": self.survey is not None,
            "fault": self.fault,
            "restarts": self.restarts,
            "rss_bytes": processes.resident_bytes(family),
            "topics": {
                topic.name: {
                    "topic_id": self.topic_ids.get(topic.name),
                    "remote_topic": place.remote_topic if place else None,
                    "partitions": len(topic.partitions),
                    "problem": place.problem if place else None,
                }
                for topic in topics
                for place in [places.get(topic.name)]
            },
            "partitions": self.board.rows(time.monotonic()),
        }
        contract.write_json(self.run_dir / contract.PROGRESS, progress)

    def _result(self) -> JobResult:
        self._write_progress()
        rows = self.board.rows(time.monotonic())
        failed = self.board.failed()
        summary = {
            "records": sum(row["records"] for row in rows),
            "partitions_failed": len(failed),
            "restarts": self.restarts,
        }
        if failed and self.until_caught_up:
            return JobResult(Outcome.FAILED, failed[0]["reason"], summary)
        if self._is_done():
            return JobResult(Outcome.SUCCEEDED, None, summary)
        return JobResult(Outcome.CANCELLED, submit.stop_reason(self.run_dir), summary)


class _SparkJob:
    """One Spark job of long tasks, run from a thread so that the driver can watch it."""

    def __init__(self, context: SparkContext, channel: DriverChannel, count: int) -> None:
        self.problem: str | None = None
        self._context = context
        self._task = copy_task.TaskFunction(channel.address)
        self._count = count
        self._thread = threading.Thread(target=self._run, name="spark-job", daemon=True)
        self._thread.start()

    def is_running(self) -> bool:
        """Return whether a task is still at work."""
        return self._thread.is_alive()

    def _run(self) -> None:
        slots = self._context.parallelize(range(self._count), self._count)
        try:
            slots.mapPartitionsWithIndex(self._task).collect()
        except Exception as error:  # noqa: BLE001  Py4J wraps whatever ended the job
            self.problem = _last_line(str(error))


def share_out(starts: Sequence[PartitionStart], tasks: int) -> list[list[PartitionStart]]:
    """Deal partitions to at most `tasks` shares of nearly the same number; no share is empty."""
    ordered = sorted(starts, key=lambda start: (start.topic, start.partition))
    shares = [ordered[task::tasks] for task in range(tasks)]
    return [share for share in shares if share]


def backoff_s(failures: int) -> float:
    """Return how long to wait after this many failures in a row: 1, 2, 4 ... 30 s."""
    return min(2.0 ** (failures - 1), LONGEST_BACKOFF_S)


def _last_line(text: str) -> str:
    """Return the line of a Spark error that says what happened in the Python task."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    told = [line for line in lines if "Error:" in line and not line.startswith("at ")]
    return (told or lines or ["unknown"])[-1][:500]
