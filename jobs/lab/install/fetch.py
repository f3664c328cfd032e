"""Kafka's jars in the user's cache folder: fetched once, with the Ivy that comes with PySpark."""

from __future__ import annotations

import fcntl
import hashlib
import importlib.util
import os
import shutil
import subprocess
import tempfile
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from jobs.cache import cache_folder
from jobs.lab.errors import FetchFailed
from jobs.lab.install.jars import JARS, KAFKA_VERSION, LOG4J_VERSION
from jobs.lab.install.java import Java
from jobs.lab.install.progress import Progress

_WANTED = (
    ("org.apache.kafka", "kafka_2.13", KAFKA_VERSION),
    ("org.apache.kafka", "connect-mirror", KAFKA_VERSION),
    ("org.apache.kafka", "kafka-tools", KAFKA_VERSION),
    ("org.apache.kafka", "kafka-shell", KAFKA_VERSION),
    ("org.apache.kafka", "kafka-streams", KAFKA_VERSION),
    ("org.apache.logging.log4j", "log4j-slf4j-impl", LOG4J_VERSION),
)
_NEEDED_BYTES = 600 * 1024 * 1024  # the jars twice (Ivy keeps its own copy until the end) and slack
_RETRIEVED_NAME = "[artifact]-[revision](-[classifier]).[ext]"


def kafka_folder() -> Path:
    """Return the cache folder of this Kafka version."""
    return cache_folder() / "kafka" / KAFKA_VERSION


def jars_folder() -> Path:
    """Return where the jars are, or will be."""
    return kafka_folder() / "jars"


def is_fetched() -> bool:
    """Return whether all jars are there; their content was compared when they were fetched."""
    folder = jars_folder()
    return folder.is_dir() and set(JARS) <= {path.name for path in folder.iterdir()}


def class_path() -> str:
    """Return the class path in a fixed order: a class archive fits only one order."""
    return os.pathsep.join(str(jars_folder() / name) for name in sorted(JARS))


def fetch_jars(java: Java) -> Path:
    """Return the folder of Kafka's jars, fetching them when they are not there yet.

    About one minute and 130 MB the first time. Raises `FetchFailed` with what to do.
    """
    if is_fetched():
        return jars_folder()
    kafka_folder().mkdir(parents=True, exist_ok=True)
    with only_one(kafka_folder() / "fetch.lock"):
        if not is_fetched():
            _fetch(java)
    return jars_folder()


def ivy_jar() -> Path:
    """Return the Ivy in PySpark's jars folder; PySpark itself is not imported."""
    spec = importlib.util.find_spec("pyspark")
    folders = list(spec.submodule_search_locations or ()) if spec else []
    found = [jar for folder in folders for jar in Path(folder).glob("jars/ivy-*.jar")]
    if not found:
        raise FetchFailed("There is no Ivy in PySpark's jars folder: install pyspark 4 with pip.")
    return found[0]


def ivy_file() -> str:
    """Return what Ivy shall resolve; the configuration `default` leaves test and build jars out."""
    dependencies = "".join(
        f'<dependency org="{org}" name="{name}" rev="{version}" conf="*->default"/>'
        for org, name, version in _WANTED
    )
    info = '<info organisation="crosslog" module="lab"/>'
    return (
        f'<ivy-module version="2.0">{info}<dependencies>{dependencies}</dependencies></ivy-module>'
    )


@contextmanager
def only_one(path: Path) -> Iterator[None]:
    """Let one program at a time in; the lock ends with its program, however that ends."""
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _fetch(java: Java) -> None:
    free = shutil.disk_usage(kafka_folder()).free
    if free < _NEEDED_BYTES:
        raise FetchFailed(
            f"Fetching Kafka needs {_NEEDED_BYTES >> 20} MB in {kafka_folder()}, only {free >> 20} MB "
            "are free. Make room or let CROSSLOG_CACHE point to another disk."
        )
    with tempfile.TemporaryDirectory(prefix="partial-", dir=kafka_folder()) as folder:
        partial = Path(folder)
        _run_ivy(java, partial)
        _compare(partial / "jars")
        shutil.rmtree(jars_folder(), ignore_errors=True)
        (partial / "jars").rename(jars_folder())


def _run_ivy(java: Java, folder: Path) -> None:
    """Resolve and retrieve; Ivy's own lines are the progress: each jar is found, then downloaded."""
    (folder / "ivy.xml").write_text(ivy_file(), encoding="utf-8")
    last: deque[str] = deque(maxlen=400)
    process = subprocess.Popen(
        _ivy_command(java, folder), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    with Progress(f"fetching Apache Kafka {KAFKA_VERSION}", 2 * len(JARS)) as progress, process:
        done = 0
        for line in process.stdout or ():
            last.append(line.rstrip())
            done += line.startswith("\tfound ") or "[SUCCESSFUL ]" in line
            progress.show(done, line.split()[1] if line.startswith("\tfound ") else "")
        if process.wait() != 0:
            raise FetchFailed(_reason(last))


def _ivy_command(java: Java, folder: Path) -> list[str]:
    settings = os.environ.get("CROSSLOG_IVY_SETTINGS")
    return [
        str(java.command), "-Xmx256m", "-XX:TieredStopAtLevel=1",
        "-jar", str(ivy_jar()),
        *(("-settings", settings) if settings else ()),
        "-cache", str(folder / "ivy"),
        "-ivy", str(folder / "ivy.xml"),
        "-retrieve", str(folder / "jars" / _RETRIEVED_NAME),
    ]  # fmt: skip


def _reason(lines: deque[str]) -> str:
    text = "\n".join(lines)
    if "No space left" in text:
        return f"The disk of {kafka_folder()} is full. Make room or set CROSSLOG_CACHE."
    wanted = (
        "UnknownHost",
        "Connection refused",
        "timed out",
        "UNRESOLVED",
        "SERVER ERROR",
        "ERROR",
    )
    shown = [line.strip() for line in lines if any(word in line for word in wanted)][:3]
    said = " / ".join(shown) or " / ".join(list(lines)[-3:])
    return (
        "Kafka's jars could not be fetched. They are needed once; this machine must reach a Maven "
        "repository for it (CROSSLOG_IVY_SETTINGS can name an Ivy settings file for your own mirror), or "
        f"copy {jars_folder()} from a machine that has it. Ivy said: {said}"
    )


def _compare(folder: Path) -> None:
    """Refuse jars that are missing or not byte for byte those of the listing; drop all others."""
    for path in folder.iterdir():
        if path.name not in JARS:
            path.unlink()
    wrong = [name for name, digest in JARS.items() if _digest(folder / name) != digest]
    if wrong:
        raise FetchFailed(
            f"{len(wrong)} of {len(JARS)} jars came damaged or not at all, {wrong[0]} among them. "
            "Try again; a proxy that changes downloads gives the same picture every time."
        )


def _digest(path: Path) -> str:
    if not path.exists():
        return ""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
