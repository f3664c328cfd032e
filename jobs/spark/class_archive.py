"""Class-data archives of Spark's driver: made once per installation, they halve the start-up time.

`python -m jobs.spark.class_archive` makes them.

There is one for flows and one for analyses, which know Spark SQL: its classes take 100 MB that a flow's
driver does not need.
"""

from __future__ import annotations

import hashlib
import os
import shlex
import subprocess
from pathlib import Path

from jobs.files import cache_folder

_ENTRY = Path(__file__).parent.parent / "entry"
# What is run to know the classes.
FLOWS, ANALYSES = "warm.py", "warm_queries.py"
# Installations on one machine whose archives stay: both of one take 250 MB.
KEPT = 4


def archive_path(spark_home: Path, java: str, entry: str = FLOWS) -> Path:
    """Return where the archive of this Spark and this Java is; both are part of its name."""
    key = hashlib.sha256(f"{spark_home}\n{java}\n{_java_release(java)}".encode()).hexdigest()[:16]
    name = "spark" if entry == FLOWS else "spark-sql"
    return cache_folder() / "class-archive" / f"{name}-{key}.jsa"


def path_if_made(entry: str = FLOWS) -> Path | None:
    """Return the archive that fits the Spark and Java in use, None when it was not made yet."""
    from jobs.spark import submit

    path = archive_path(submit.spark_home(), java_command(), entry)
    return path if path.exists() else None


def java_command() -> str:
    """Return the java command that spark-submit takes: JAVA_HOME first, then the PATH."""
    home = os.environ.get("JAVA_HOME")
    return str(Path(home) / "bin" / "java") if home else "java"


def make(timeout_s: float = 180.0) -> None:
    """Make the archives that are not there, each by one short job that loads what such a driver loads.

    Takes 20 to 60 s; those of older installations are removed. Raises RuntimeError when Spark could not run.
    """
    for entry in (FLOWS, ANALYSES):
        if path_if_made(entry) is None:
            _make(entry, timeout_s)


def _make(entry: str, timeout_s: float) -> None:
    from jobs.spark import launcher, secret, settings, submit

    path = archive_path(submit.spark_home(), java_command(), entry)
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_suffix(f".{os.getpid()}.partial")
    options = f"-XX:ArchiveClassesAtExit={shlex.quote(str(partial))} {settings.DRIVER_OPTIONS}"
    given = {
        **{f"spark.driver.{name}": "127.0.0.1" for name in ("host", "bindAddress")},
        "spark.ui.enabled": "false",
        "spark.driver.memory": settings.DRIVER_MEMORY,
        "spark.driver.extraJavaOptions": options,
        **secret.AUTHENTICATED,
    }
    home, application = submit.spark_home(), [str(_ENTRY / entry)]
    command = launcher.spark_command(home, "local[1]", entry, given, None, application)
    run = subprocess.run(
        command, env=submit.run_environment(), capture_output=True, text=True,
        timeout=timeout_s, check=False,
    )  # fmt: skip
    if run.returncode != 0 or not partial.exists():
        partial.unlink(missing_ok=True)
        raise RuntimeError(f"no class archive was made: {run.stderr[-2000:]}")
    partial.replace(path)
    kind, digits = path.stem.rpartition("-")[0], "[0-9a-f]" * 16
    made = sorted(path.parent.glob(f"{kind}-{digits}.jsa"), key=lambda one: one.stat().st_mtime_ns)
    for old in made[:-KEPT]:
        old.unlink(missing_ok=True)


def _java_release(java: str) -> str:
    """Return what the Java says of itself in its `release` file; empty when there is none."""
    resolved = Path(os.path.realpath(java if "/" in java else _which(java)))
    release = resolved.parent.parent / "release"
    return release.read_text(encoding="utf-8") if release.exists() else ""


def _which(name: str) -> str:
    import shutil

    return shutil.which(name) or name


if __name__ == "__main__":
    make()
