"""The Spark of a job and its settings.

Later ones win: defaults, the properties file of the installation, the run's own settings, and what must hold
whatever anybody says. The driver always runs beside the supervisor (deploy mode `client`): the run's folder,
its lease and its log are there.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path

from jobs.spark import class_archive, secret
from jobs.spark.contract import JobSpec

# Executors of a cluster have the code at a relative path.
_ENTRY = Path(__file__).absolute().parent.parent / "entry"
# C1 and the serial collector halve start-up and memory; the heap shrinks again after start-up.
JVM_OPTIONS = (
    "-XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Xms64m"
    " -XX:MinHeapFreeRatio=10 -XX:MaxHeapFreeRatio=30"
)
DRIVER_OPTIONS = (
    f"{JVM_OPTIONS} -Dlog4j2.configurationFile={(_ENTRY / 'log4j2.properties').as_uri()}"
)
# A flow's JVM hardly allocates anything: a large young generation would only be memory that is never used.
_FLOW_JVM_OPTIONS = " -Xmn8m"
# Spark refuses to start with less than 450 MB; the flow's JVM uses far less of it.
DRIVER_MEMORY = "512m"
EXECUTOR_MEMORY = "512m"
# What a Python process of an analysis may have of memory, the driver and each task, in MiB.
TASK_MEMORY_MB, LEAST_TASK_MEMORY_MB = 2_048, 512
# What an analysis of records reads of a cluster, all its tasks together.
RECORD_READ_MB_PER_S = 50
ENGINE_FLOWS = 100
MOST_SLOTS_BY_DEFAULT, MOST_SLOTS = 8, 64
SECRET = "CROSSLOG_SECRET_"  # noqa: S105  what their names begin with
# Answers of brokers and the batches made of them come and go a megabyte at a time: giving each back to the
# system and asking for it again costs a third of the time of re-batching. Other jobs gain nothing by it.
_KEEP_MEMORY = {
    "spark.executorEnv.MALLOC_TRIM_THRESHOLD_": str(256 << 20),
    "spark.executorEnv.MALLOC_MMAP_THRESHOLD_": str(128 << 20),
}
FLOW, ENGINE, FLOWS = "replicate", "engine", "flows"
# Tasks of an engine of flows come and go: on this machine a core of Spark is only a number.
_FLOWS_CORES = 64
# See `packed_cache`, which is not imported here: numba takes half a second.
_PACKED_LOCATORS = (
    "jobs.spark.packed_cache.PackedCodeLocator,UserProvidedCacheLocator,InTreeCacheLocator"
)
# What answers questions: tables small enough for four tasks, times in UTC, and a stop that does not wait.
_FOR_ANALYSES = {
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.sql.shuffle.partitions": "4",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.catalogImplementation": "in-memory",
    "spark.python.task.killTimeout": "200ms",
    # Several analyses share one application, each in a pool of its own.
    "spark.scheduler.mode": "FAIR",
}
_ALWAYS = {
    # Two copies of a task would write the same records twice.
    "spark.speculation": "false",
    # The driver decides what to do about a lost task, because it first reads the positions again.
    "spark.task.maxFailures": "1",
    # Tasks hold their cores for as long as the flow runs.
    "spark.dynamicAllocation.enabled": "false",
    **secret.AUTHENTICATED,
}


def master_of(spec: JobSpec, environ: Mapping[str, str] = os.environ) -> str:
    """Return the master of a run: its own, the installation's, or this machine with a core per task."""
    own = spec.spark.get("master") or environ.get("CROSSLOG_SPARK_MASTER")
    return own or f"local[{_FLOWS_CORES if spec.kind == FLOWS else _tasks(spec)}]"


def is_local(master: str) -> bool:
    """Return whether everything runs in one process tree on this machine."""
    return secret.is_one_process(master)


def spark_settings(spec: JobSpec, python: str) -> dict[str, str]:
    """Return all settings of a run; `python` is the interpreter of the driver.

    Raises ValueError for a properties file that cannot be used, for a cluster without its secret (see
    `secret`), and for a secret in a setting: settings stand on a command line, and in Spark's pages and logs.
    """
    master = master_of(spec)
    secret.secret_of(master)
    settings = {
        **_defaults(spec),
        **({} if is_for_analyses(spec) else _KEEP_MEMORY),
        **(_FOR_ANALYSES if is_for_analyses(spec) else {}),
        **(_for_one_machine(spec) if is_local(master) else _for_a_cluster(spec, master, python)),
        **_properties(),
        **{name: value for name, value in spec.spark.items() if name != "master"},
        **_ALWAYS,
        # A task of a flow begins with a process that knows nothing of the one before.
        "spark.python.worker.reuse": str(is_for_analyses(spec)).lower(),
    }
    for name, value in settings.items():
        if name == secret.SETTING:
            raise ValueError(
                f"{name} would be visible to every user of this machine: set CROSSLOG_SPARK_SECRET instead."
            )
        if SECRET in name or SECRET in value:
            raise ValueError(
                f"{name} holds or names a secret. Give executors their secrets in their own environment, "
                "or as files below CROSSLOG_SECRETS_DIR."
            )
    return settings


def _defaults(spec: JobSpec) -> dict[str, str]:
    return {
        "spark.driver.memory": DRIVER_MEMORY,
        "spark.driver.extraJavaOptions": f"{DRIVER_OPTIONS}{_own_options(spec)}",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }


def is_for_analyses(spec: JobSpec) -> bool:
    """Return whether a run answers questions: all do, their engine too, that replicate nothing."""
    return spec.kind not in {FLOW, FLOWS}


def task_memory_mb(environ: Mapping[str, str] = os.environ) -> int:
    """Return what a Python process of an analysis may have of memory, in MiB; raises ValueError."""
    return _env_whole("CROSSLOG_TASK_MEMORY_MB", environ, TASK_MEMORY_MB, LEAST_TASK_MEMORY_MB)


def record_read_bytes_per_s(environ: Mapping[str, str] = os.environ) -> float:
    """Return what analyses of records may read of a cluster; raises ValueError."""
    return 1e6 * _env_whole("CROSSLOG_RECORD_READ_MB_PER_S", environ, RECORD_READ_MB_PER_S)


def engine_slots(environ: Mapping[str, str] = os.environ) -> int:
    """Return how many processes copy in an engine of flows; raises ValueError."""
    cores = min(len(os.sched_getaffinity(0)), MOST_SLOTS_BY_DEFAULT)
    return _env_whole("CROSSLOG_ENGINE_SLOTS", environ, cores, most=MOST_SLOTS)


def engine_flows(environ: Mapping[str, str] = os.environ) -> int:
    """Return how many flows an engine has at most; raises ValueError."""
    return _env_whole("CROSSLOG_ENGINE_FLOWS", environ, ENGINE_FLOWS)


def _env_whole(
    name: str, environ: Mapping[str, str], default: int, least: int = 1, most: int | None = None
) -> int:
    given = environ.get(name) or str(default)
    is_number = given.isascii() and given.isdecimal()
    if not is_number or int(given) < least or (most is not None and int(given) > most):
        bounds = f"from {least} on" if most is None else f"from {least} to {most}"
        raise ValueError(f"{name}: {given!r} is no whole number {bounds}.")
    return int(given)


def _for_one_machine(spec: JobSpec) -> dict[str, str]:
    found = {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
    if is_for_analyses(spec):
        # On a cluster the executors' own bounds hold.
        task_memory_mb()
        found["spark.python.daemon.module"] = "jobs.spark.task_daemon"
    elif spec.kind == FLOWS:
        found["spark.python.daemon.module"] = "jobs.spark.slots.slot_daemon"
    return found


def _for_a_cluster(spec: JobSpec, master: str, python: str) -> dict[str, str]:
    found = {
        "spark.executor.memory": EXECUTOR_MEMORY,
        # Where the archive is not, Java starts without it.
        "spark.executor.extraJavaOptions": f"{JVM_OPTIONS}{_own_options(spec)}",
        "spark.pyspark.driver.python": python,
        "spark.executorEnv.NUMBA_CACHE_LOCATOR_CLASSES": _PACKED_LOCATORS,
    }
    # A slot that is lost begins again while Spark still holds the core of the one before.
    cores = _tasks(spec) * (2 if spec.kind == FLOWS else 1)
    is_standalone = master.startswith("spark://")
    found["spark.cores.max" if is_standalone else "spark.executor.instances"] = str(cores)
    host = os.environ.get("CROSSLOG_SPARK_DRIVER_HOST")
    if host:
        found["spark.driver.host"] = host
        # Where executors come through a translated address, the properties file says which one to bind.
        found["spark.driver.bindAddress"] = host
    return found


def _own_options(spec: JobSpec) -> str:
    return f"{'' if is_for_analyses(spec) else _FLOW_JVM_OPTIONS}{_archive_option(spec)}"


def _archive_option(spec: JobSpec) -> str:
    entry = class_archive.ANALYSES if is_for_analyses(spec) else class_archive.FLOWS
    archive = class_archive.path_if_made(entry)
    if archive is None:
        return ""
    return f" -XX:SharedArchiveFile={shlex.quote(str(archive))} -Xlog:cds=off -Xlog:cds+dynamic=off"


def _tasks(spec: JobSpec) -> int:
    flow = spec.arguments.get("flow")
    tasks = (flow if isinstance(flow, Mapping) else spec.arguments).get("tasks")
    return tasks if isinstance(tasks, int) and tasks > 0 else 1


def _properties() -> dict[str, str]:
    path = os.environ.get("CROSSLOG_SPARK_PROPERTIES")
    if not path:
        return {}
    try:
        text = Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise ValueError(f"CROSSLOG_SPARK_PROPERTIES: {error}") from None
    return dict(_lines(text, path))


def _lines(text: str, path: str) -> Iterator[tuple[str, str]]:
    """Read `name value` or `name=value` lines, as in Spark's own spark-defaults.conf."""
    for number, written in enumerate(text.splitlines(), 1):
        line = written.strip()
        if not line or line.startswith("#"):
            continue
        cut = min((line.index(mark) for mark in "= \t" if mark in line), default=-1)
        name, value = line[:cut].strip(), line[cut + 1 :].strip().removeprefix("=").strip()
        if cut <= 0 or not name.startswith("spark.") or not value:
            raise ValueError(f"{path}, line {number}: 'spark.<name> <value>' is required.")
        yield name, value
