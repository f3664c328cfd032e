"""The contract between the caller of a job and the Spark application that does it.

A run is a folder: `spec.json` goes in; `progress.json` (replaced whole), `result.json` (once) and
`log.txt` come out. `lease` is touched by the owner as long as the run is wanted; `stop` asks it to end;
`control.json` (replaced whole, by a program that may) changes a flow while it runs.
"""

from __future__ import annotations

import json
import logging
import uuid
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

from jobs.cluster.errors import ClusterFault, Remedy
from jobs.files import for_this_user_only

logger = logging.getLogger(__name__)

SPEC = "spec.json"
PROGRESS = "progress.json"
RESULT = "result.json"
LOG = "log.txt"
LEASE = "lease"
STOP = "stop"
CONTROL = "control.json"
KEEPER = "keeper.json"
# Who starts the run, until there is a keeper.
STARTER = "starter.json"


class Outcome(StrEnum):
    """How a job ended: FAILED means that the job refused, CRASHED that an unexpected error ended it.

    ERRORED and CANCELLED, the words of releases up to 0.5, are read as CRASHED and STOPPED.
    """

    SUCCEEDED = "SUCCEEDED"
    FAILED = "FAILED"
    CRASHED = "CRASHED"
    STOPPED = "STOPPED"

    @classmethod
    def _missing_(cls, value: object) -> Outcome | None:
        return OUTCOMES_BEFORE.get(str(value))


OUTCOMES_BEFORE = {"ERRORED": Outcome.CRASHED, "CANCELLED": Outcome.STOPPED}


@dataclass(frozen=True, slots=True)
class JobSpec:
    """What to do: `kind` names the job, `arguments` are JSON values that the job reads itself.

    `lease_s` is how many seconds the run continues after its owner stopped touching the lease; None
    means that the run belongs to the process that started it and ends with it.
    """

    run_id: str
    kind: str
    arguments: Mapping[str, Any]
    lease_s: float | None = None
    spark: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class JobResult:
    """How it ended; `summary` are JSON values of the job, `error` one sentence for a person."""

    outcome: Outcome
    error: str | None = None
    summary: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def refused(
        cls,
        fault: ClusterFault,
        summary: Mapping[str, Any] | None = None,
        *,
        has_worked: bool = False,
    ) -> JobResult:
        """Return the end by a fault; `is_final` in the summary: the same arguments end in the same way.

        `has_worked`: a run before this one did, so that a doubtful fault may pass.
        """
        is_final = fault.is_final or (fault.remedy is Remedy.DOUBTFUL and not has_worked)
        told = {**(summary or {}), "code": fault.code, "is_final": is_final}
        return cls(Outcome.FAILED, f"{fault} {fault.hint}".strip(), told)


def write_json(path: Path, value: Mapping[str, Any]) -> None:
    """Replace a file whole, so that a reader never sees half of it; only its user may read it."""
    # Threads of a process, and processes of containers with the same number, may write at once.
    partial = path.with_suffix(f".{uuid.uuid4().hex[:12]}.partial")
    try:
        with open(partial, "w", encoding="utf-8", opener=for_this_user_only) as file:
            file.write(json.dumps(value, separators=(",", ":")))
        partial.replace(path)
    finally:
        # On a full disk, what could not be written whole takes no room from what follows.
        partial.unlink(missing_ok=True)


def write_progress(run_dir: Path, value: Mapping[str, Any]) -> None:
    """Replace the progress of a run; where that cannot be done the last one stays, and the run continues.

    A full disk beside the driver is no reason to end what works between two clusters: it shows in the age
    of the progress.
    """
    try:
        write_json(run_dir / PROGRESS, value)
    except OSError as error:
        logger.warning("progress not written folder=%s error=%s", run_dir, error.strerror)


def read_json(path: Path) -> dict[str, Any] | None:
    """Read a file of a run; None when it is not there (yet)."""
    try:
        value: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    return value


def write_control(run_dir: Path, values: Mapping[str, Any]) -> None:
    """Say how a running flow is to continue; see `control.Control.from_mapping` for the values."""
    write_json(run_dir / CONTROL, values)


def write_spec(run_dir: Path, spec: JobSpec) -> None:
    """Put the spec into its run folder."""
    write_json(run_dir / SPEC, asdict(spec))


def read_spec(run_dir: Path) -> JobSpec:
    """Read the spec of a run folder; raises FileNotFoundError where there is none."""
    return JobSpec(**json.loads((run_dir / SPEC).read_text(encoding="utf-8")))


def write_result(run_dir: Path, result: JobResult) -> None:
    """Put the result into the run folder; the first one stays."""
    if not (run_dir / RESULT).exists():
        write_json(run_dir / RESULT, asdict(result))


def read_result(run_dir: Path) -> JobResult | None:
    """Read how a run ended; None while it runs."""
    value = read_json(run_dir / RESULT)
    if value is None:
        return None
    return JobResult(Outcome(value["outcome"]), value.get("error"), value.get("summary") or {})


# Spark is up; both clusters were read; a task reported a partition; a record was replicated.
DRIVER_STARTED = "driver_started"
SURVEYED = "surveyed"
TASKS_STARTED = "tasks_started"
FIRST_RECORD = "first_record"
