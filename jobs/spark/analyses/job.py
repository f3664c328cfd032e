"""Runs one analysis in a Spark session, to its result: in a run of its own, and in the engine."""

from __future__ import annotations

import errno
import logging
import shutil
import tempfile
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from jobs.archives import ArchiveBusy, BadArchive
from jobs.cluster.errors import ClusterFault, InvalidFields
from jobs.quorum.log.folder import BadFolder
from jobs.spark import contract, submit
from jobs.spark.analyses.analysis import Analysis
from jobs.spark.analyses.document import document_of
from jobs.spark.analyses.task import AnalysisTask, Stopped
from jobs.spark.contract import JobResult, JobSpec, Outcome
from jobs.spark.settings import master_of, task_memory_mb

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

logger = logging.getLogger(__name__)

LOOK_S = 0.2


def run(analysis: Analysis, spec: JobSpec, run_dir: Path) -> JobResult:
    """Do an analysis in a Spark application of its own."""
    from pyspark.sql import SparkSession

    from jobs.spark.secret import close_context, open_context

    context = open_context(master_of(spec))
    try:
        return answer(analysis, spec, run_dir, SparkSession(context))
    finally:
        close_context(context)


def answer(analysis: Analysis, spec: JobSpec, run_dir: Path, spark: SparkSession) -> JobResult:
    """Do an analysis; of one that does not end well no table stays. It raises nothing.

    Arguments of the spec: `arguments` (checked), `tables` (the folder of its answer, not there yet),
    `histories` and `resources` (see AnalysisTask). The result's summary is the document. A stop cancels what
    Spark does for it at once.
    """
    tables = Path(spec.arguments["tables"])
    partial = tables.with_name(f"{tables.name}.partial")
    histories = Path(spec.arguments["histories"])
    began = time.monotonic()
    shutil.rmtree(partial, ignore_errors=True)
    try:
        partial.mkdir(parents=True)
        resources = spec.arguments.get("resources", {})
        task = AnalysisTask(spark, run_dir, partial, histories, resources)
        given = spec.arguments["arguments"]
        with _cancelled_at_stop(spark.sparkContext, spec.run_id, run_dir):
            found = analysis.run(task, given)
        task.check_stop()
        seconds = time.monotonic() - began
        document = document_of(analysis, given, found, partial, seconds)
        partial.rename(tables)
    except Stopped:
        return JobResult(Outcome.STOPPED, submit.stop_reason(run_dir))
    except (BadFolder, BadArchive, ArchiveBusy, ClusterFault, InvalidFields) as refusal:
        hint = refusal.hint if isinstance(refusal, ClusterFault) else ""
        return JobResult(Outcome.FAILED, f"{refusal} {hint}".rstrip())
    except Exception as error:  # an analysis ends here and must leave its result
        if (run_dir / contract.STOP).exists():
            # What was cancelled breaks in some way of its own.
            return JobResult(Outcome.STOPPED, submit.stop_reason(run_dir))
        logger.exception("analysis broke run_id=%s kind=%s", spec.run_id, spec.kind)
        return failure_of(error, (tables.parent, histories, run_dir))
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    return JobResult(Outcome.SUCCEEDED, summary=document)


@contextmanager
def _cancelled_at_stop(context: SparkContext, group: str, run_dir: Path) -> Iterator[None]:
    """Make this thread's Spark jobs a group, and cancel it when a stop of the run is requested.

    Each group has a pool of its own: where the engine's scheduler is fair, small ones pass large ones.
    """
    from pyspark import InheritableThread

    is_over = threading.Event()

    def watch() -> None:
        while not is_over.wait(LOOK_S):
            if (run_dir / contract.STOP).exists():
                # Again and again: a job may begin after others of its group were cancelled.
                context.cancelJobGroup(group)

    # Not `interruptOnCancel`: a Java thread that waits for a Python worker spins once it is interrupted,
    # until Spark kills the worker, which takes as long either way (Spark 4.3, ReaderInputStream).
    context.setJobGroup(group, group)
    context.setLocalProperty("spark.scheduler.pool", group)
    # Its threads in the JVM end with it.
    watcher = InheritableThread(target=watch, name=f"stop-of-{group}", daemon=True)
    watcher.start()
    try:
        yield
    finally:
        is_over.set()
        watcher.join()


# The error of a failed analysis for people: one sentence out of Spark's pages of stack traces.

_NO_ROOM = "No space left on device"
_NO_MESSAGE = "Failed without an error message; see the log."
# So the names of these errors end in Python, NumPy and Arrow.
_NO_MEMORY = "MemoryError"
_FULL_BELOW_BYTES = 1 << 20
_TRACEBACK = "Traceback (most recent call last):"
_LONGEST = 500


def failure_of(error: BaseException, folders: Iterable[Path]) -> JobResult:
    """Return how an analysis ends that raised this; `folders` are those that it writes into.

    FAILED where a disk is full, or memory too small, else CRASHED.
    """
    text = f"{type(error).__name__}: {error}"
    is_full = isinstance(error, OSError) and error.errno == errno.ENOSPC
    if is_full or _NO_ROOM in text:
        return JobResult(
            Outcome.FAILED,
            f"No space left on {_full_folder(error, folders)}. Free some space and run it again.",
        )
    is_short = isinstance(error, OSError) and error.errno == errno.ENOMEM
    if is_short or isinstance(error, MemoryError) or _NO_MEMORY in text:
        return JobResult(
            Outcome.FAILED,
            f"The analysis needs more than {task_memory_mb():,} MiB of memory in one process. Choose a "
            "smaller range, or raise CROSSLOG_TASK_MEMORY_MB.",
        )
    return JobResult(Outcome.CRASHED, sentence_of(text))


def sentence_of(text: str) -> str:
    """Return the cause that a text with stack traces of Python and Java names, as one line.

    That is the last line of the innermost traceback of Python; without one, the last `Caused by` that says
    something; else the first line.
    """
    if _TRACEBACK in text:
        for line in text.rpartition(_TRACEBACK)[2].splitlines()[1:]:
            if line and not line[0].isspace():
                return line[:_LONGEST]
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    causes = [line for line in lines if line.startswith("Caused by:") and line.count(": ") > 1]
    first = causes[-1] if causes else next(iter(lines), _NO_MESSAGE)
    return first.removeprefix("Caused by:").strip()[:_LONGEST]


def _full_folder(error: BaseException, folders: Iterable[Path]) -> str:
    """Return the folder that has no room: the one of the file, else the first that is full."""
    named = getattr(error, "filename", None)
    if named:
        return str(Path(str(named)).parent)
    looked_at = [*folders, Path(tempfile.gettempdir())]
    full = [one for one in looked_at if _free_bytes(one) < _FULL_BELOW_BYTES]
    return " or ".join(dict.fromkeys(map(str, full or looked_at)))


def _free_bytes(folder: Path) -> int:
    try:
        return shutil.disk_usage(folder).free
    except OSError:
        return 1 << 62
