"""What a person is told when an analysis broke: one sentence out of Spark's pages of stack traces."""

from __future__ import annotations

import errno
import shutil
import tempfile
from collections.abc import Iterable
from pathlib import Path

from jobs.spark.contract import JobResult, Outcome
from jobs.spark.settings import task_memory_mb

_NO_ROOM = "No space left on device"
# So the names of these errors end in Python, NumPy and Arrow.
_NO_MEMORY = "MemoryError"
_FULL_BELOW_BYTES = 1 << 20
_TRACEBACK = "Traceback (most recent call last):"
_LONGEST = 500


def failure_of(error: BaseException, folders: Iterable[Path]) -> JobResult:
    """Return how an analysis ends that raised this; `folders` are those that it writes into.

    FAILED where a disk is full, or memory too small, else ERRORED.
    """
    text = f"{type(error).__name__}: {error}"
    is_full = isinstance(error, OSError) and error.errno == errno.ENOSPC
    if is_full or _NO_ROOM in text:
        return JobResult(
            Outcome.FAILED,
            f"There is no room left in {_full_folder(error, folders)}. Make room there and ask again.",
        )
    is_short = isinstance(error, OSError) and error.errno == errno.ENOMEM
    if is_short or isinstance(error, MemoryError) or _NO_MEMORY in text:
        return JobResult(
            Outcome.FAILED,
            f"It takes more than {task_memory_mb():,} MiB of memory in one process. Ask about less, or raise "
            "CROSSLOG_TASK_MEMORY_MB.",
        )
    return JobResult(Outcome.ERRORED, sentence_of(text))


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
    first = causes[-1] if causes else next(iter(lines), "It broke without a word; see the log.")
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
