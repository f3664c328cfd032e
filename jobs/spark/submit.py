"""The door to Spark: start a run in its own processes, watch it through its folder, end it.

Nothing here imports pyspark, so a web or Celery process can use it without a JVM.
"""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from jobs.cluster.secrets import ENV_PREFIX
from jobs.files import cache_folder, for_this_user_only
from jobs.spark import class_archive, contract, launcher, processes, settings
from jobs.spark.contract import JobSpec

_ADVICE = (
    "Spark needs it: install a JDK (17 or newer), or let JAVA_HOME of the worker point to one."
)
_SECRET = re.compile(rf"env:({ENV_PREFIX}[A-Z0-9_]+)")
VARIABLES = frozenset(
    {
        "HOME",
        "JAVA_HOME",
        "JAVA_TOOL_OPTIONS",
        "JDK_JAVA_OPTIONS",
        "KRB5CCNAME",
        "KRB5_CONFIG",
        "LANG",
        "LD_LIBRARY_PATH",
        "LOGNAME",
        "PATH",
        "SHELL",
        "SSL_CERT_DIR",
        "SSL_CERT_FILE",
        "TEMP",
        "TERM",
        "TMP",
        "TMPDIR",
        "TZ",
        "USER",
        "VIRTUAL_ENV",
        "XDG_CACHE_HOME",
    }
)
_FAMILIES = (
    "ARROW_",
    "CROSSLOG_",
    "HADOOP_",
    "KUBERNETES_",
    "LC_",
    "MALLOC_",
    "MKL_",
    "NUMBA_",
    "OMP_",
    "OPENBLAS_",
    "PYSPARK_",
    "PYTHON",
    "SPARK_",
    "YARN_",
)
_ENTRY = Path(__file__).parent.parent / "entry"


def start_run(spec: JobSpec, run_dir: Path, environment: Mapping[str, str] | None = None) -> int:
    """Start a run and return the pid of its supervisor, without waiting for Spark to come up.

    The folder is made when it is missing. Raises FileExistsError when it already holds a run, and
    FileNotFoundError before anything is written where there is no Java.
    """
    java = class_archive.java_command()
    if shutil.which(java) is None:
        raise FileNotFoundError(f"There is no {java}. {_ADVICE}")
    with starting(run_dir):
        return _start(spec, run_dir, environment)


@contextmanager
def starting(run_dir: Path) -> Iterator[None]:
    """Make the folder of a run, which counts as alive while it is started: no watch removes it.

    Raises FileExistsError when it already holds a run.
    """
    # The job names topics and references to secrets, the log may name more.
    run_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    if (run_dir / contract.SPEC).exists():
        raise FileExistsError(f"{run_dir} already holds a run")
    _write_process(run_dir / contract.STARTER, os.getpid())
    try:
        yield
    finally:
        (run_dir / contract.STARTER).unlink(missing_ok=True)
        if not any(run_dir.iterdir()):
            run_dir.rmdir()


def _start(spec: JobSpec, run_dir: Path, environment: Mapping[str, str] | None) -> int:
    contract.write_spec(run_dir, spec)
    touch_lease(run_dir)
    master = settings.master_of(spec, {**os.environ, **(environment or {})})
    with open(run_dir / contract.LOG, "ab", opener=for_this_user_only) as log:
        keeper = subprocess.Popen(
            [sys.executable, "-m", "jobs.spark.run_supervisor", os.path.realpath(run_dir)],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            cwd=run_dir,
            env=run_environment(environment, is_local=settings.is_local(master), spec=spec),
            start_new_session=True,
        )
    _write_process(run_dir / contract.KEEPER, keeper.pid)
    return keeper.pid


def request_stop(run_dir: Path, reason: str = "") -> None:
    """Ask a run to end cleanly: it flushes, commits its positions and writes its result.

    `reason` goes into the result; the first request decides.
    """
    if not (run_dir / contract.STOP).exists():
        (run_dir / contract.STOP).write_text(reason, encoding="utf-8")


def stop_reason(run_dir: Path) -> str | None:
    """Return why a stop was requested; None when it was not, or without a reason."""
    stop = run_dir / contract.STOP
    return (stop.read_text(encoding="utf-8") or None) if stop.exists() else None


def touch_lease(run_dir: Path) -> None:
    """Say that the run is still wanted."""
    (run_dir / contract.LEASE).touch(mode=0o600)


def is_alive(run_dir: Path) -> bool:
    """Return whether the supervisor of this run, or who starts it, is still running on this machine."""
    keeper = contract.read_json(run_dir / contract.KEEPER)
    keeper = keeper or contract.read_json(run_dir / contract.STARTER)
    if keeper is None:
        return False
    _reap(int(keeper["pid"]))
    return processes.is_same_process(int(keeper["pid"]), int(keeper["start_ticks"]))


def read_progress(run_dir: Path) -> dict[str, Any] | None:
    """Return the newest progress of a run, None before the first."""
    return contract.read_json(run_dir / contract.PROGRESS)


def read_log_tail(run_dir: Path, most_bytes: int = 16_384) -> str:
    """Return the end of a run's log, beginning with a whole line; empty when there is none."""
    path = run_dir / contract.LOG
    if not path.exists():
        return ""
    with path.open("rb") as log:
        size = log.seek(0, os.SEEK_END)
        log.seek(max(0, size - most_bytes))
        text = log.read().decode("utf-8", errors="replace")
    return text if size <= most_bytes else text.partition("\n")[2]


def kill_run(run_dir: Path) -> None:
    """End a run at once with everything it started; for one that does not answer to `request_stop`."""
    keeper = contract.read_json(run_dir / contract.KEEPER)
    if keeper is None or not is_alive(run_dir):
        return
    pid = int(keeper["pid"])
    processes.signal_all([*processes.children_of(pid), pid], signal.SIGKILL)


def spark_home() -> Path:
    """Return the folder of the installed pyspark; raises FileNotFoundError when there is none."""
    found = importlib.util.find_spec("pyspark")
    if found is None or not found.submodule_search_locations:
        raise FileNotFoundError("pyspark is not installed in this Python")
    return Path(found.submodule_search_locations[0])


def submit_command(spec: JobSpec, run_dir: Path) -> list[str]:
    """Return the command of a run's Spark; it holds no secret. Raises ValueError, see `settings`."""
    master = settings.master_of(spec)
    # On this machine the code is on the path already: packed, it would be another one for numba's cache
    # in every run, and its loops would be compiled again.
    packed = None if settings.is_local(master) else pack_code(run_dir)
    given = settings.spark_settings(spec, sys.executable)
    application = [str(_ENTRY / "run.py"), str(run_dir)]
    return launcher.spark_command(spark_home(), master, spec.run_id, given, packed, application)


def pack_code(run_dir: Path) -> Path:
    """Zip the `jobs` package for the executors, so that they need no installed crosslog."""
    package = Path(__file__).parent.parent
    archive = run_dir / "jobs.zip"
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as code:
        kinds = ("*.py", "*.properties", "*.toml")
        for source in sorted(one for kind in kinds for one in package.rglob(kind)):
            code.write(source, Path("jobs") / source.relative_to(package))
    return archive


def run_environment(
    extra: Mapping[str, str] | None = None, *, is_local: bool = True, spec: JobSpec | None = None
) -> dict[str, str]:
    """Return the environment of Spark processes: this Python everywhere, this package, loopback if local.

    Of the variables of the process that starts them they get what a run may need, and of the secrets those
    that its job refers to: not the console's key, its database or other clusters' passwords.
    """
    environment = {**_passed_on(os.environ, spec), **(extra or {})}
    if not is_local:
        environment.update(_named(os.environ, environment.get("CROSSLOG_SPARK_SECRET", "")))
    environment["PYSPARK_PYTHON"] = sys.executable
    environment["PYSPARK_DRIVER_PYTHON"] = sys.executable
    environment["SPARK_HOME"] = str(spark_home())
    if is_local:
        environment.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    # The supervisor runs in the run's folder: it must find this package without an installation too.
    root = str(Path(__file__).parent.parent.parent)
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, [root, environment.get("PYTHONPATH")]))
    environment["PYTHONUNBUFFERED"] = "1"
    # As `spark-submit` sets it: a key has the same hash in all processes of a run.
    environment["PYTHONHASHSEED"] = "0"
    # By default glibc keeps memory of its own for each thread.
    environment.setdefault("MALLOC_ARENA_MAX", "2")
    # Arrow's allocator takes 1 GiB ahead by default, which would count as used (`CROSSLOG_TASK_MEMORY_MB`).
    environment.setdefault("MIMALLOC_ARENA_RESERVE", "64MiB")
    # A crash in a library leaves in the run's log what each thread was doing.
    environment["PYTHONFAULTHANDLER"] = "1"
    # Where Hypothesis is installed, kio loads it, and it would keep its cache in the folder of every run.
    environment["HYPOTHESIS_STORAGE_DIRECTORY"] = str(cache_folder() / "hypothesis")
    return environment


def names_secrets(spec: JobSpec) -> bool:
    """Return whether a job refers to variables with secrets."""
    return bool(_SECRET.search(json.dumps(dict(spec.arguments))))


def secrets_of(spec: JobSpec, environ: Mapping[str, str]) -> dict[str, str]:
    """Return the variables with secrets that a job refers to, as far as an environment has them."""
    return _named(environ, json.dumps(dict(spec.arguments)))


def _passed_on(environ: Mapping[str, str], spec: JobSpec | None) -> dict[str, str]:
    wanted = set(environ.get("CROSSLOG_RUN_VARIABLES", "").replace(",", " ").split())
    if spec is not None:
        wanted.update(secrets_of(spec, environ))
    if spec is not None and spec.kind == settings.FLOWS:
        # Flows come to an engine while it runs, and name what they need only then.
        wanted.update(name for name in environ if name.startswith(ENV_PREFIX))
    return {
        name: value
        for name, value in environ.items()
        if name in wanted or name in VARIABLES or _is_of_a_family(name)
    }


def _named(environ: Mapping[str, str], text: str) -> dict[str, str]:
    return {name: environ[name] for name in _SECRET.findall(text) if name in environ}


def _is_of_a_family(name: str) -> bool:
    return name.startswith(_FAMILIES) and not name.startswith(ENV_PREFIX)


def _write_process(path: Path, pid: int) -> None:
    ticks = processes.start_ticks(pid)
    contract.write_json(path, {"pid": pid, "start_ticks": ticks or 0})


def _reap(pid: int) -> None:
    """Collect the exit state when the supervisor is our own child, so that it does not stay a zombie."""
    try:
        os.waitpid(pid, os.WNOHANG)
    except ChildProcessError:
        return


def remove_run(run_dir: Path) -> None:
    """Remove the folder of a run that has ended; raises RuntimeError while it is alive."""
    if is_alive(run_dir):
        raise RuntimeError(f"the run in {run_dir} is still alive")
    shutil.rmtree(run_dir, ignore_errors=True)
