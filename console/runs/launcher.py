"""The door to the processes of a run, as the console needs it."""

from __future__ import annotations

import socket
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

from jobs.spark import submit
from jobs.spark.analyses.kinds import ANALYSES
from jobs.spark.contract import JobSpec
from jobs.spark.engine import door


class Launcher(Protocol):
    """Starts runs and looks after their folders; `jobs.spark.submit` and the engine's door are real."""

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


SPARK: Launcher = submit
# Who answers analyses.
ENGINE: Launcher = door


def launcher_of(kind: str) -> Launcher:
    """Return who starts runs of a kind and looks after them."""
    return ENGINE if kind in ANALYSES else SPARK


def this_host() -> str:
    """Return the name under which this machine's runs are found again."""
    return socket.gethostname()
