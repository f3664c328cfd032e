"""The driver of the engine: takes runs from its inbox, answers some at once, and ends when it is idle."""

from __future__ import annotations

import logging
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

from pyspark.sql import SparkSession

from jobs.spark import contract, submit
from jobs.spark.contract import JobResult, JobSpec, Outcome
from jobs.spark.engine import folder, warm_up
from jobs.spark.engine.analysis_thread import AnalysisThread
from jobs.spark.engine.hosted_run import SparkState, end, stop_if_unwanted
from jobs.spark.secret import close_context, open_context
from jobs.spark.settings import master_of

if TYPE_CHECKING:
    from pyspark import SparkContext

logger = logging.getLogger(__name__)

LOOK_S = 0.1
# How often Spark itself is looked at, and how long analyses have for their end when the engine has to go.
SPARK_S = 2.0
ENDING_S = 20.0


def run(spec: JobSpec, run_dir: Path) -> JobResult:
    """Answer analyses until nothing came for a while.

    Arguments: `at_once` (analyses at a time), `idle_s` (ends after so long without one), `tasks` (cores on
    this machine). Result: `answered`.
    """
    context = open_context(master_of(spec))
    try:
        return Engine(context, spec, run_dir).serve()
    finally:
        close_context(context)


class Engine:
    """The analyses under way and those that wait."""

    def __init__(self, context: SparkContext, spec: JobSpec, run_dir: Path) -> None:
        self._state = SparkState(context)
        self._spark = SparkSession(context)
        self._run_dir = run_dir
        self._at_once = int(spec.arguments.get("at_once", 1))
        self._idle_s = float(spec.arguments["idle_s"])
        self._threads: list[AnalysisThread] = []
        self._places: dict[Path, int] = {}
        self._answered = 0
        self._busy_at = self._looked_at = time.monotonic()
        self._warm_up: threading.Thread | None = None

    def serve(self) -> JobResult:
        """Answer until idle, asked to stop, or without Spark.

        What waits comes before the warm-up.
        """
        while True:
            now = time.monotonic()
            if (self._run_dir / contract.STOP).exists():
                return self._stop(submit.stop_reason(self._run_dir))
            if now - self._looked_at > SPARK_S:
                self._looked_at = now
                why = self._state.why_over()
                if why is not None:
                    return JobResult(Outcome.CRASHED, why)
            self._look_after_threads()
            self._take_waiting()
            # While jobs begin Spark is not stopped: it would forget one, for which somebody waits for ever.
            if self._threads or self._is_warming_up():
                self._busy_at = now
            elif self._warm_up is None:
                self._warm_up = warm_up.begin(self._spark, self._run_dir)
            elif now - self._busy_at > self._idle_s and folder.close_if_empty(self._run_dir):
                return JobResult(Outcome.SUCCEEDED, summary={"answered": self._answered})
            time.sleep(LOOK_S)

    def _is_warming_up(self) -> bool:
        return self._warm_up is not None and self._warm_up.is_alive()

    def _look_after_threads(self) -> None:
        for thread in self._threads:
            thread.look()
        running = [thread for thread in self._threads if not thread.is_over]
        self._answered += len(self._threads) - len(running)
        self._threads = running

    def _take_waiting(self) -> None:
        """Begin what there is room for, and tell the others their place."""
        place = 0
        for file, run_dir in folder.waiting(self._run_dir):
            try:
                place += self._took(file, run_dir, place)
            except (OSError, ValueError):
                # Its folder was removed, or is no run: no caller waits for it.
                logger.exception("run cannot be taken folder=%s", run_dir)
                file.unlink(missing_ok=True)

    def _took(self, file: Path, run_dir: Path, place: int) -> int:
        """Begin or end a waiting run; return 1 when it still waits."""
        spec = contract.read_spec(run_dir)
        if stop_if_unwanted(run_dir, spec):
            end(run_dir, JobResult(Outcome.STOPPED, submit.stop_reason(run_dir)))
        elif len(self._threads) < self._at_once:
            self._threads.append(AnalysisThread(run_dir, self._spark, self._state))
        else:
            before = place + len(self._threads)
            if self._places.get(run_dir) != before:
                self._places[run_dir] = before
                folder.tell(run_dir, f"Waiting for the engine: {before} before it")
            return 1
        self._places.pop(run_dir, None)
        file.unlink(missing_ok=True)
        return 0

    def _stop(self, reason: str | None) -> JobResult:
        """Stop everything that was handed over, within `ENDING_S`."""
        for run_dir in folder.close(self._run_dir):
            end(run_dir, JobResult(Outcome.STOPPED, reason))
        for thread in self._threads:
            submit.request_stop(thread.run_dir, reason or "")
        until = time.monotonic() + ENDING_S
        while (self._threads or self._is_warming_up()) and time.monotonic() < until:
            warm_up.cancel(self._spark)
            self._look_after_threads()
            time.sleep(LOOK_S)
        return JobResult(Outcome.STOPPED, reason, {"answered": self._answered})
