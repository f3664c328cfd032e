"""Log format of crosslog's processes, and rotation of their files.

Of a URL in a line only scheme, host and port are logged.
"""

from __future__ import annotations

import json
import logging
import os
import shutil
import sys
from datetime import UTC, datetime
from pathlib import Path

from jobs.visible import visible, without_paths

LINE = "%(asctime)s %(levelname)s %(name)s %(message)s"
LARGEST_BYTES, KEPT_FILES = 20_000_000, 5
_JSON = "json"


class LineFormatter(logging.Formatter):
    """Time, level, logger and message; more lines of an entry are set in, so that none looks like one."""

    def __init__(self) -> None:
        super().__init__(LINE)

    def format(self, record: logging.LogRecord) -> str:
        return visible(without_paths(super().format(record))).replace("\n", "\n  ")


class JsonFormatter(logging.Formatter):
    """One JSON object per line: time (UTC), level, logger, message, and exception where there is one."""

    def format(self, record: logging.LogRecord) -> str:
        line = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            "message": without_paths(record.getMessage()),
        }
        if record.exc_info:
            line["exception"] = without_paths(self.formatException(record.exc_info))
        return visible(json.dumps(line, ensure_ascii=False))


def log_to_stderr() -> None:
    """Log from here on to stderr; for the processes of a run, which have no settings of Django."""
    handler = logging.StreamHandler(sys.stderr)
    is_json = os.environ.get("LOG_FORMAT", "").strip().lower() == _JSON
    handler.setFormatter(JsonFormatter() if is_json else LineFormatter())
    level = os.environ.get("LOG_LEVEL", "").strip().upper()
    is_known = level in logging.getLevelNamesMapping()
    logging.basicConfig(level=level if is_known else logging.INFO, handlers=[handler])


def rotate(log: Path, largest_bytes: int = LARGEST_BYTES, kept: int = KEPT_FILES) -> bool:
    """Keep a log file below a size; returns whether it was rotated to `.1`, older ones to `.2`, ...

    Several processes may have the file open, and none of them has to open another one: the file is
    copied and then emptied. So they must have opened it for appending. A line that is written in the
    moment between the two is lost.
    """
    try:
        if log.stat().st_size <= largest_bytes:
            return False
    except FileNotFoundError:
        return False
    for number in range(kept - 1, 0, -1):
        older = _numbered(log, number)
        if older.exists():
            older.replace(_numbered(log, number + 1))
    if kept:
        shutil.copy(log, _numbered(log, 1))
    os.truncate(log, 0)
    return True


def _numbered(log: Path, number: int) -> Path:
    return log.with_name(f"{log.name}.{number}")


def own_fault(doing: str) -> str:
    """Return what people read where crosslog itself failed; the caller logs the traceback."""
    return f"crosslog failed while {doing}: a fault of the program. The log has its traceback at this time."
