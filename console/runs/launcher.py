"""The door to the processes of a run, as the console needs it."""

from __future__ import annotations

import socket
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

from jobs.spark.contract import JobSpec
from jobs.spark.engine import door


class Launcher(Protocol):
    """Starts runs and looks after their folders; the door of the engines is the real one."""

    def start_run(
        self, spec: JobSpec, run_dir: Path, environment: Mapping[str, str] | None = None
    ) -> int: ...

    def request_stop(self, run_dir: Path) -> None: ...

    def touch_lease(self, run_dir: Path) -> None: ...

    def is_alive(self, run_dir: Path) -> bool: ...

    def read_progress(self, run_dir: Path) -> dict[str, Any] | None: ...

    def read_log_tail(self, run_dir: Path, most_bytes: int = ...) -> str: ...

    def kill_run(self, run_dir: Path) -> None: ...

    def remove_run(self, run_dir: Path) -> None: ...

    def roll(self, runs_dir: Path, engine: Path) -> object: ...


SPARK: Launcher = door


def this_host() -> str:
    """Return the name under which this machine's runs are found again."""
    return socket.gethostname()
