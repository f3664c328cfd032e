"""The door to Spark that hands runs over to engines: the same functions as `jobs.spark.submit`.

Analyses go to the engine of analyses of this machine, flows to an engine of flows; it is started where none
fits. All other kinds get processes of their own, through `submit`, and so do analyses that name secrets
(those are for them only), flows that say `engine: own`, and flows with settings of Spark. Nothing here
imports pyspark.
"""

from __future__ import annotations

import os
import shutil
import time
import uuid
from collections.abc import Mapping
from pathlib import Path

from jobs.cluster.secrets import ENV_PREFIX
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
    "roll",
    "start_engine",
    "start_run",
    "touch_lease",
]

IDLE_S = 600.0
AT_ONCE = 2
TASKS = 2
LEASE_S = 60.0
# An engine writes its progress each second: after so long without it, it does not answer.
ANSWERS_S = 30.0
# An engine that is newer than this process has its own release, whatever this one has.
_LOADED_AT = time.time()
# Folders of ended engines that stay for those who look for their logs.
KEPT_ENGINES = 3


def start_run(spec: JobSpec, run_dir: Path, environment: Mapping[str, str] | None = None) -> int:
    """Hand a run over to the engine and return the pid of its supervisor; else as `submit.start_run`.

    `environment` is for an engine that has to be started.
    """
    kind = _engine_kind(spec)
    if kind is None:
        return submit.start_run(spec, run_dir, environment)
    run_dir = run_dir.absolute()
    run_dir.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    wanted = _engine_spec(kind, spec.spark, spec.lease_s, environment)
    secrets = submit.secrets_of(spec, {**os.environ, **(environment or {})})
    # Another start may hold the lock for as long as an engine takes to come up.
    with submit.starting(run_dir), folder.locked(run_dir.parent):
        engine = _open_engine(run_dir.parent, wanted, secrets)
        message = "Waiting for the engine"
        if engine is None:
            engine, message = _start(wanted, run_dir.parent, environment), "Starting the engine"
        contract.write_spec(run_dir, spec)
        submit.touch_lease(run_dir)
        with open(run_dir / contract.LOG, "ab", opener=for_this_user_only):
            pass
        folder.tell(run_dir, message)
        return folder.hand_over(engine, run_dir)


def _engine_kind(spec: JobSpec) -> str | None:
    """Return the kind of engine that a run goes to; None for a run with processes of its own."""
    if spec.kind in ANALYSES:
        return None if submit.names_secrets(spec) else settings.ENGINE
    if spec.kind != settings.FLOW or spec.spark or spec.arguments["flow"].get("engine") == "own":
        return None
    return settings.FLOWS


def start_engine(
    runs_dir: Path,
    *,
    lease_s: float = LEASE_S,
    idle_s: float = IDLE_S,
    environment: Mapping[str, str] | None = None,
) -> Path:
    """Start the engine of analyses of a folder of runs where none lives, and return its folder.

    It ends when it had nothing to do for `idle_s`, or when its lease was not renewed for `lease_s`.
    """
    wanted = _engine_spec(settings.ENGINE, {}, lease_s, environment, idle_s)
    runs_dir = runs_dir.absolute()
    runs_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    with folder.locked(runs_dir):
        return _open_engine(runs_dir, wanted, {}) or _start(wanted, runs_dir, environment)


def keep(runs_dir: Path) -> None:
    """Say that the engines are still wanted that live, also while they have no run.

    An engine of flows of a release before this one is rolled: its flows go to one of this release.
    """
    runs_dir = runs_dir.absolute()
    if not runs_dir.is_dir():
        return
    before = []
    with folder.locked(runs_dir):
        for kind in (settings.ENGINE, settings.FLOWS):
            for engine in filter(folder.is_open, folder.list_engines(runs_dir, kind)):
                # One of another release only does what it has.
                if _release_of(engine) == VERSION:
                    submit.touch_lease(engine)
                elif kind == settings.FLOWS and _began_at(engine) < _LOADED_AT:
                    before.append(engine)
    for engine in before:
        roll(runs_dir, engine)


def roll(runs_dir: Path, engine: Path, environment: Mapping[str, str] | None = None) -> Path:
    """Start an engine that takes over the flows of another one, one after the other; return its folder.

    It has the secrets of this process, and of the old engine those that this process does not have. Where
    the old engine is rolled already, its successor is returned. Raises RuntimeError for one that has ended.
    """
    runs_dir, engine = runs_dir.absolute(), engine.absolute()
    with folder.locked(runs_dir):
        successor = folder.successor_of(engine)
        if successor is not None and submit.is_alive(successor):
            return successor
        if not _hosts_flows(engine) or not submit.is_alive(engine):
            raise RuntimeError(f"{engine.name} is no engine of flows that runs")
        known = {n: v for n, v in _environ_of(engine).items() if n.startswith(ENV_PREFIX)}
        given = {n: v for n, v in known.items() if n not in os.environ} | dict(environment or {})
        lease_s = contract.read_spec(engine).lease_s
        successor = _start(_engine_spec(settings.FLOWS, {}, lease_s, given), runs_dir, given)
        folder.name_successor(engine, successor)
        return successor


def touch_lease(run_dir: Path) -> None:
    """Say that a run is still wanted, and the engine that has it."""
    submit.touch_lease(run_dir)
    engine = folder.engine_of(run_dir)
    if engine is not None and engine.is_dir():
        submit.touch_lease(engine)


def is_alive(run_dir: Path) -> bool:
    """Return whether a run waits or runs in a living engine: not any more when it has a result."""
    is_over = folder.engine_of(run_dir) is not None and (run_dir / contract.RESULT).exists()
    return not is_over and submit.is_alive(run_dir)


def read_log_tail(run_dir: Path, most_bytes: int = 16_384) -> str:
    """Return the end of a run's log; of one whose engine died, the end of the engine's log behind it."""
    tail = submit.read_log_tail(run_dir, most_bytes)
    engine = folder.engine_of(run_dir)
    if engine is None or (run_dir / contract.RESULT).exists() or submit.is_alive(run_dir):
        return tail
    return tail + submit.read_log_tail(engine, most_bytes)


def kill_run(run_dir: Path) -> None:
    """End a run at once that does not answer to `request_stop`.

    An analysis ends with its engine and all that runs there, and so does a flow whose engine does not
    answer; one that answers ends the flow within ten seconds.
    """
    if not is_alive(run_dir):
        return
    engine = folder.engine_of(run_dir)
    if engine is not None and _hosts_flows(engine) and _answers(engine):
        request_stop(run_dir)
        (run_dir / folder.DROP).touch()
    else:
        submit.kill_run(engine or run_dir)


def _hosts_flows(engine: Path) -> bool:
    return engine.name.startswith(f"{settings.FLOWS}-")


def _answers(engine: Path) -> bool:
    told = engine / contract.PROGRESS
    seen = told if told.exists() else engine / contract.KEEPER
    return time.time() - seen.stat().st_mtime < ANSWERS_S


def remove_run(run_dir: Path) -> None:
    """Remove the folder of a run that has ended; raises RuntimeError while it is alive."""
    if is_alive(run_dir):
        raise RuntimeError(f"the run in {run_dir} is still alive")
    shutil.rmtree(run_dir, ignore_errors=True)


def _engine_spec(
    kind: str,
    spark: Mapping[str, str],
    lease_s: float | None,
    environment: Mapping[str, str] | None,
    idle_s: float = IDLE_S,
) -> JobSpec:
    environ = {**os.environ, **(environment or {})}
    name = f"{kind}-{uuid.uuid4().hex[:12]}"
    arguments = {"tasks": TASKS, "at_once": AT_ONCE, "idle_s": idle_s, "release": VERSION}
    if kind == settings.FLOWS:
        arguments = {**arguments, "tasks": settings.engine_slots(environ)}
    spec = JobSpec(name, kind, arguments, lease_s or LEASE_S, dict(spark))
    master = settings.master_of(spec, environ)
    return JobSpec(name, kind, arguments, spec.lease_s, {**spark, "master": master})


def _open_engine(runs_dir: Path, wanted: JobSpec, secrets: Mapping[str, str]) -> Path | None:
    """Return the engine that takes runs, is of this release and has the wanted settings of Spark.

    An engine of flows also has room, and the same `secrets`.
    """
    for engine in folder.list_engines(runs_dir, wanted.kind):
        fits = _release_of(engine) == VERSION and contract.read_spec(engine).spark == wanted.spark
        if fits and wanted.kind == settings.FLOWS:
            has_room = folder.count(engine) < settings.engine_flows()
            fits = has_room and secrets.items() <= _environ_of(engine).items()
        if fits and folder.is_open(engine):
            return engine
    return None


def _environ_of(engine: Path) -> dict[str, str]:
    """Return the environment that an engine was started with; empty where it cannot be read."""
    keeper = contract.read_json(engine / contract.KEEPER) or {}
    file = Path(f"/proc/{keeper.get('pid')}/environ")
    try:
        # A process whose program has just been loaded has none for a moment.
        while not (told := file.read_bytes()) and submit.is_alive(engine):
            time.sleep(0.01)
    except OSError:
        return {}
    pairs = (os.fsdecode(one).partition("=") for one in told.split(b"\0") if one)
    return {name: value for name, _, value in pairs}


def _release_of(engine: Path) -> str:
    return str(contract.read_spec(engine).arguments.get("release"))


def _began_at(engine: Path) -> float:
    return (engine / contract.SPEC).stat().st_mtime


def _start(wanted: JobSpec, runs_dir: Path, environment: Mapping[str, str] | None) -> Path:
    engines = folder.list_engines(runs_dir, wanted.kind)
    ended = [one for one in engines if not submit.is_alive(one)]
    for one in ended[KEPT_ENGINES:]:
        shutil.rmtree(one, ignore_errors=True)
    engine = runs_dir / wanted.run_id
    submit.start_run(wanted, engine, environment)
    return engine
