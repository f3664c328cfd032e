"""What broke an analysis, in one sentence."""

import errno
from pathlib import Path

import pytest

from jobs.spark.analyses.job import failure_of, sentence_of
from jobs.spark.contract import Outcome

IN_PYTHON = """PythonException: [PYTHON_EXCEPTION] An exception was thrown from a Python worker:
Traceback (most recent call last):
  File "/spark/worker.py", line 1, in main
    process()
jobs.wire.errors.RecordFormatError: batch at 17: it is cut off

\tat org.apache.spark.api.python.BasePythonRunner$ReaderIterator.handle(PythonRunner.scala:581)
"""
IN_JAVA = """Py4JJavaError: An error occurred while calling o1.collect.
: org.apache.spark.SparkException: Job aborted due to stage failure
\tat org.apache.spark.scheduler.DAGScheduler.abortStage(DAGScheduler.scala:1)
Caused by: java.io.FileNotFoundException: File file:/history/part-0.parquet does not exist
\t... 12 more
"""


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        pytest.param(
            IN_PYTHON,
            "jobs.wire.errors.RecordFormatError: batch at 17: it is cut off",
            id="a task in Python",
        ),
        pytest.param(
            IN_JAVA,
            "java.io.FileNotFoundException: File file:/history/part-0.parquet does not exist",
            id="a task in Java",
        ),
        pytest.param("KeyError: 'log'", "KeyError: 'log'", id="the driver"),
        pytest.param("", "Failed without an error message; see the log.", id="nothing"),
    ],
)
def test_the_cause_is_taken_out_of_the_stack_traces(text, sentence):
    assert sentence_of(text) == sentence


@pytest.mark.parametrize(
    "error",
    [
        pytest.param(OSError(errno.ENOSPC, "No space left on device", "/full/t"), id="driver"),
        pytest.param(
            RuntimeError("...\nOSError: [Errno 28] No space left on device"), id="a worker"
        ),
    ],
)
def test_a_full_disk_is_no_fault_of_the_analysis_and_a_folder_is_named(error):
    result = failure_of(error, [Path("/full")])
    assert result.outcome is Outcome.FAILED
    assert "No space left on /full" in result.error


@pytest.mark.parametrize(
    "error",
    [
        pytest.param(MemoryError(), id="the driver"),
        pytest.param(OSError(errno.ENOMEM, "Cannot allocate memory"), id="a file that is mapped"),
        pytest.param(RuntimeError(IN_PYTHON + "pyarrow.lib.ArrowMemoryError: malloc"), id="a task"),
    ],
)
def test_what_takes_too_much_memory_is_refused_with_the_bound(error):
    result = failure_of(error, [])
    assert result.outcome is Outcome.FAILED
    assert "more than 2,048 MiB of memory" in result.error
    assert "CROSSLOG_TASK_MEMORY_MB" in result.error
