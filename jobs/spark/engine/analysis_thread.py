"""One analysis in the engine: a thread with a session, a group of Spark jobs and a log of its own."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import TYPE_CHECKING

from jobs.spark import contract
from jobs.spark.analyses.job import answer
from jobs.spark.analyses.kinds import ANALYSES
from jobs.spark.contract import JobResult, Outcome
from jobs.spark.engine.hosted_run import SparkState, end, log_of, stop_if_unwanted

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

logger = logging.getLogger(__name__)


class AnalysisThread:
    """A run that the engine has taken."""

    def __init__(self, run_dir: Path, spark: SparkSession, state: SparkState) -> None:
        from pyspark import InheritableThread

        self.run_dir = run_dir
        self._spec = contract.read_spec(run_dir)
        self._spark = spark
        self._state = state
        self._thread = InheritableThread(target=self._run, name=self._spec.run_id, daemon=True)
        self._thread.start()

    @property
    def is_over(self) -> bool:
        """Whether its thread has ended."""
        return not self._thread.is_alive()

    def look(self) -> None:
        """Request a stop when the lease is over."""
        stop_if_unwanted(self.run_dir, self._spec)

    def _run(self) -> None:
        spec = self._spec
        with log_of(self.run_dir):
            logger.info("analysis begins run_id=%s kind=%s", spec.run_id, spec.kind)
            if spec.kind in ANALYSES:
                session = self._spark.newSession()
                result = answer(ANALYSES[spec.kind], spec, self.run_dir, session)
            else:
                result = JobResult(
                    Outcome.FAILED, f"There is no analysis of the kind {spec.kind!r}."
                )
            logger.info("analysis ended run_id=%s outcome=%s", spec.run_id, result.outcome)
        if result.outcome is Outcome.CRASHED and self._state.is_over():
            # The engine ends with its Spark: a caller that finds the run without a result may start it again.
            return
        end(self.run_dir, result)
