"""One analysis in the engine: a thread with a session, a group of Spark jobs and a log of its own."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from jobs.files import for_this_user_only
from jobs.logs import LineFormatter
from jobs.spark import contract, submit
from jobs.spark.analyses.job import answer
from jobs.spark.analyses.kinds import ANALYSES
from jobs.spark.contract import JobResult, JobSpec, Outcome

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from jobs.spark.engine.driver import SparkState

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
        with _log_of(self.run_dir):
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


def stop_if_unwanted(run_dir: Path, spec: JobSpec) -> bool:
    """Return whether a stop was requested; requests it when its lease is over."""
    if spec.lease_s is not None and _lease_age_s(run_dir) > spec.lease_s:
        reason = f"The lease of this run was not renewed for {spec.lease_s:.0f} s."
        submit.request_stop(run_dir, reason)
    return (run_dir / contract.STOP).exists()


def end(run_dir: Path, result: JobResult) -> None:
    """Write the result of a run; where there is no room for it, the run is found without one, not alive."""
    try:
        contract.write_result(run_dir, result)
    except OSError:
        logger.exception("result not written folder=%s", run_dir)
        (run_dir / contract.KEEPER).unlink(missing_ok=True)


def _lease_age_s(run_dir: Path) -> float:
    try:
        return time.time() - (run_dir / contract.LEASE).stat().st_mtime
    except FileNotFoundError:
        return float("inf")


@contextmanager
def _log_of(run_dir: Path) -> Iterator[None]:
    """Write what this thread logs into the log of the run, too."""
    me = threading.get_ident()
    with open(run_dir / contract.LOG, "a", encoding="utf-8", opener=for_this_user_only) as file:
        handler = logging.StreamHandler(file)
        handler.setFormatter(LineFormatter())
        handler.addFilter(lambda record: record.thread == me)
        logging.getLogger().addHandler(handler)
        try:
            yield
        finally:
            logging.getLogger().removeHandler(handler)
