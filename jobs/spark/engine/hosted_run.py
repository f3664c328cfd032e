"""A run in an engine: its lease, its log, its result, and the Spark that it shares with others."""

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
from jobs.spark.contract import JobResult, JobSpec
from jobs.spark.secret import why_over

if TYPE_CHECKING:
    from pyspark import SparkContext

logger = logging.getLogger(__name__)


class SparkState:
    """Whether the engine's Spark still works; `known` is what was found last."""

    def __init__(self, context: SparkContext) -> None:
        self._context = context
        self.known: str | None = None

    def why_over(self) -> str | None:
        """Return why it does not, in a sentence; None while it does."""
        try:
            self.known = why_over(self._context)
        except Exception:  # whatever the bridge to a JVM says that is not there
            logger.exception("Spark does not answer")
            self.known = "Spark's process exited unexpectedly."
        return self.known

    def is_over(self) -> bool:
        """Return whether it does not work any more."""
        return self.why_over() is not None


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
def log_of(run_dir: Path, flow: str = "") -> Iterator[None]:
    """Write into the log of the run, too, what this thread logs, and the threads of its flow.

    Their names begin with the flow's.
    """
    me, family = threading.get_ident(), f"{flow}: "

    def is_of_it(record: logging.LogRecord) -> bool:
        return record.thread == me or (bool(flow) and str(record.threadName).startswith(family))

    with open(run_dir / contract.LOG, "a", encoding="utf-8", opener=for_this_user_only) as file:
        handler = logging.StreamHandler(file)
        handler.setFormatter(LineFormatter())
        handler.addFilter(is_of_it)
        logging.getLogger().addHandler(handler)
        try:
            yield
        finally:
            logging.getLogger().removeHandler(handler)
