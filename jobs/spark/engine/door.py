"""The door to Spark that keeps an engine warm: the same functions as `jobs.spark.submit`.

Analyses are handed over to the engine of this machine, which is started where there is none. All other kinds
get processes of their own, through `submit`, and so do analyses that name secrets: those are for them only.
Nothing here imports pyspark.
"""

from __future__ import annotations

import os
import shutil
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from jobs.files import for_this_user_only
from jobs.spark import contract, settings, submit
from jobs.spark.analyses.kinds import ANALYSES
from jobs.spark.contract import JobSpec
from jobs.spark.engine import folder
from jobs.spark.submit import read_progress, request_stop
from jobs.version import VERSION

__all__ = [
    "is_alive",
    "keep",
    "kill_run",
    "read_log_tail",
    "read_progress",
    "remove_run",
    "request_stop",
    "start_engine",
    "start_run",
    "touch_lease",
]

IDLE_S = 600.0
AT_ONCE = 2
TASKS = 2
LEASE_S = 60.0
# Folders of ended engines that stay for those who look for their logs.
KEPT_ENGINES = 3


def start_run(spec: JobSpec, run_dir: Path, environment: Mapping[str, str] | None = None) -> int:
    """Hand a run over to the engine and return the pid of its supervisor; else as `submit.start_run`.

    `environment` is for an engine that has to be started.
    """
    if spec.kind not in ANALYSES or submit.names_secrets(spec):
        return submit.start_run(spec, run_dir, environment)
    run_dir = run_dir.absolute()
    run_dir.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    wanted = _engine_spec(spec.spark, spec.lease_s, environment)
    # Another start may hold the lock for as long as an engine takes to come up.
    with submit.starting(run_dir), folder.locked(run_dir.parent):
        engine = _open_engine(run_dir.parent, wanted)
        message = "Waiting for the engine"
        if engine is None:
            engine, message = _start(wanted, run_dir.parent, environment), "Starting the engine"
        contract.write_spec(run_dir, spec)
        submit.touch_lease(run_dir)
        with open(run_dir / contract.LOG, "ab", opener=for_this_user_only):
            pass
        folder.tell(run_dir, message)
        keeper = contract.read_json(engine / contract.KEEPER) or {}
        folder.hand_over(engine, run_dir)
        contract.write_json(run_dir / contract.KEEPER, {**keeper, folder.ENGINE_KEY: engine.name})
    return int(keeper["pid"])


def start_engine(
    runs_dir: Path,
    *,
    lease_s: float = LEASE_S,
    idle_s: float = IDLE_S,
    environment: Mapping[str, str] | None = None,
) -> Path:
    """Start the engine of a folder of runs where none lives, and return its folder.

    It ends when it had nothing to do for `idle_s`, or when its lease was not renewed for `lease_s`.
    """
    wanted = _engine_spec({}, lease_s, environment, idle_s)
    runs_dir = runs_dir.absolute()
    runs_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    with folder.locked(runs_dir):
        return _open_engine(runs_dir, wanted) or _start(wanted, runs_dir, environment)


def keep(runs_dir: Path) -> None:
    """Say that the engine is still wanted, if one lives, also while it has no run."""
    runs_dir = runs_dir.absolute()
    if not runs_dir.is_dir():
        return
    with folder.locked(runs_dir):
        for engine in folder.list_engines(runs_dir):
            # One of another release only does what it has.
            if _release_of(engine) == VERSION and folder.is_open(engine):
                submit.touch_lease(engine)


def touch_lease(run_dir: Path) -> None:
    """Say that a run is still wanted, and the engine that has it."""
    submit.touch_lease(run_dir)
    engine = _engine_of(run_dir)
    if engine is not None and engine.is_dir():
        submit.touch_lease(engine)


def is_alive(run_dir: Path) -> bool:
    """Return whether a run waits or runs in a living engine: not any more when it has a result."""
    is_over = _engine_of(run_dir) is not None and (run_dir / contract.RESULT).exists()
    return not is_over and submit.is_alive(run_dir)


def read_log_tail(run_dir: Path, most_bytes: int = 16_384) -> str:
    """Return the end of a run's log; of one whose engine died, the end of the engine's log behind it."""
    tail = submit.read_log_tail(run_dir, most_bytes)
    engine = _engine_of(run_dir)
    if engine is None or (run_dir / contract.RESULT).exists() or submit.is_alive(run_dir):
        return tail
    return tail + submit.read_log_tail(engine, most_bytes)


def kill_run(run_dir: Path) -> None:
    """End a run at once that does not answer to `request_stop`: with its engine and all that runs there."""
    if is_alive(run_dir):
        submit.kill_run(_engine_of(run_dir) or run_dir)


def remove_run(run_dir: Path) -> None:
    """Remove the folder of a run that has ended; raises RuntimeError while it is alive."""
    if is_alive(run_dir):
        raise RuntimeError(f"the run in {run_dir} is still alive")
    shutil.rmtree(run_dir, ignore_errors=True)


def _engine_of(run_dir: Path) -> Path | None:
    """Return the folder of the engine that a run was handed over to; None for a run of its own."""
    keeper: dict[str, Any] = contract.read_json(run_dir / contract.KEEPER) or {}
    name = keeper.get(folder.ENGINE_KEY)
    return run_dir.parent / str(name) if name else None


def _engine_spec(
    spark: Mapping[str, str],
    lease_s: float | None,
    environment: Mapping[str, str] | None,
    idle_s: float = IDLE_S,
) -> JobSpec:
    name = f"{folder.PREFIX}{uuid.uuid4().hex[:12]}"
    arguments = {"tasks": TASKS, "at_once": AT_ONCE, "idle_s": idle_s, "release": VERSION}
    spec = JobSpec(name, settings.ENGINE, arguments, lease_s or LEASE_S, dict(spark))
    master = settings.master_of(spec, {**os.environ, **(environment or {})})
    return JobSpec(name, settings.ENGINE, arguments, spec.lease_s, {**spark, "master": master})


def _open_engine(runs_dir: Path, wanted: JobSpec) -> Path | None:
    """Return the engine that takes runs, is of this release and has the wanted settings of Spark."""
    for engine in folder.list_engines(runs_dir):
        fits = _release_of(engine) == VERSION
        if fits and contract.read_spec(engine).spark == wanted.spark and folder.is_open(engine):
            return engine
    return None


def _release_of(engine: Path) -> str:
    return str(contract.read_spec(engine).arguments.get("release"))


def _start(wanted: JobSpec, runs_dir: Path, environment: Mapping[str, str] | None) -> Path:
    ended = [one for one in folder.list_engines(runs_dir) if not submit.is_alive(one)]
    for one in ended[KEPT_ENGINES:]:
        shutil.rmtree(one, ignore_errors=True)
    engine = runs_dir / wanted.run_id
    submit.start_run(wanted, engine, environment)
    return engine
