"""The driver of a run: reads the spec, does the job it names, and always leaves a result."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

from jobs.cluster.errors import ClusterFault, InvalidFields
from jobs.logs import log_to_stderr
from jobs.memory import limit_memory
from jobs.spark import contract, processes, settings
from jobs.spark.contract import JobResult, JobSpec, Outcome

logger = logging.getLogger(__name__)

PARENT_LOST_WITHIN_S = 2.0
# Modules with a `run(spec, run_dir) -> JobResult`; what they need is imported by their own runs only.
_JOBS = {
    "replicate": "jobs.spark.flow_driver.replicate",
    "engine": "jobs.spark.engine.driver",
    "flows": "jobs.spark.slots.driver",
}


def main(folder: str) -> int:
    """Run the job of this run folder; the exit code agrees with the result: 0 only for success."""
    parent = processes.end_with_parent()
    log_to_stderr()
    run_dir = Path(folder)
    spec = contract.read_spec(run_dir)
    if settings.is_for_analyses(spec):
        limit_memory(settings.task_memory_mb() << 20)
        master = settings.master_of(spec)
        if settings.is_local(master):
            # A cluster that refuses takes a minute to do so: it is tried once only, where the job begins.
            _start_spark(master)
    result = result_of(spec, lambda: _run(spec, run_dir))
    if result.outcome is Outcome.CRASHED:
        # What broke may be Spark's JVM, killed: then the supervisor says so, if there still is one.
        processes.end_if_orphaned(parent, PARENT_LOST_WITHIN_S)
    contract.write_result(run_dir, result)
    return 0 if result.outcome in {Outcome.SUCCEEDED, Outcome.STOPPED} else 1


def _start_spark(master: str) -> None:
    """Start Spark in the JVM, and the processes of tasks, while this process imports what its job needs.

    The job gets the same context; where none can be opened, it finds out itself.
    """
    # Its modules import each other: two threads that do so get half of one.
    import pyspark  # noqa: F401

    from jobs.spark.secret import open_context

    def start() -> None:
        open_context(master).parallelize([0], 1).mapPartitions(list).collect()

    threading.Thread(target=start, name="start-spark", daemon=True).start()


def _run(spec: JobSpec, run_dir: Path) -> JobResult:
    if spec.kind in _JOBS:
        result: JobResult = import_module(_JOBS[spec.kind]).run(spec, run_dir)
        return result
    from jobs.spark.analyses import job
    from jobs.spark.analyses.kinds import ANALYSES

    if spec.kind in ANALYSES:
        return job.run(ANALYSES[spec.kind], spec, run_dir)
    return JobResult(Outcome.FAILED, f"There is no job of kind {spec.kind!r}.")


def result_of(spec: JobSpec, job: Callable[[], JobResult]) -> JobResult:
    """Do a job and return its result, whatever it raises."""
    try:
        return job()
    except ClusterFault as fault:
        return JobResult.refused(fault)
    except InvalidFields as refusal:
        return JobResult(Outcome.FAILED, str(refusal))
    except Exception as error:  # a job ends here and must leave its result
        logger.exception("job broke run_id=%s kind=%s", spec.run_id, spec.kind)
        return JobResult(Outcome.CRASHED, f"{type(error).__name__}: {error}")
