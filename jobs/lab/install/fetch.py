"""Kafka's jars in the user's cache folder: fetched once, with the Ivy that comes with PySpark."""

from __future__ import annotations

import fcntl
import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Self, TextIO

from jobs.lab.errors import FetchFailed
from jobs.lab.install.java import Java
from jobs.lab.install.releases import KafkaRelease

_NEEDED_BYTES = 600 * 1024 * 1024  # the jars twice (Ivy keeps its own copy until the end) and slack
_RETRIEVED_NAME = "[artifact]-[revision](-[classifier]).[ext]"


def fetch_jars(java: Java, release: KafkaRelease) -> None:
    """Fetch the jars of a version when they are not there yet.

    About one minute and 130 MB the first time. Raises `FetchFailed` with what to do.
    """
    if release.is_fetched:
        return
    release.folder.mkdir(parents=True, exist_ok=True)
    with only_one(release.folder / "fetch.lock"):
        if not release.is_fetched:
            _fetch(java, release)


def ivy_jar() -> Path:
    """Return the Ivy in PySpark's jars folder; PySpark itself is not imported."""
    spec = importlib.util.find_spec("pyspark")
    folders = list(spec.submodule_search_locations or ()) if spec else []
    found = [jar for folder in folders for jar in Path(folder).glob("jars/ivy-*.jar")]
    if not found:
        raise FetchFailed("There is no Ivy in PySpark's jars folder: install pyspark 4 with pip.")
    return found[0]


def ivy_file(release: KafkaRelease) -> str:
    """Return what Ivy shall resolve; the configuration `default` leaves test and build jars out."""
    dependencies = "".join(
        f'<dependency org="{org}" name="{name}" rev="{version}" {_jar(name, release.classifier)}'
        for org, name, version in release.artifacts
    )
    info = '<info organisation="crosslog" module="lab"/>'
    return (
        f'<ivy-module version="2.0">{info}<dependencies>{dependencies}</dependencies></ivy-module>'
    )


def _jar(name: str, classifier: str) -> str:
    """Return the end of a dependency: the main jar with all it needs, or the one of a classifier alone."""
    if not classifier:
        return 'conf="*->default"/>'
    names = 'xmlns:m="http://ant.apache.org/ivy/maven"'
    artifact = f'<artifact {names} name="{name}" type="jar" ext="jar" m:classifier="{classifier}"/>'
    return f'conf="*->master" transitive="false">{artifact}</dependency>'


@contextmanager
def only_one(path: Path) -> Iterator[None]:
    """Let one program at a time in; the lock ends with its program, however that ends."""
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _fetch(java: Java, release: KafkaRelease) -> None:
    free = shutil.disk_usage(release.folder).free
    if free < _NEEDED_BYTES:
        raise FetchFailed(
            f"Fetching Kafka needs {_NEEDED_BYTES >> 20} MB in {release.folder}, only {free >> 20} MB "
            "are free. Make room or let CROSSLOG_CACHE point to another disk."
        )
    with tempfile.TemporaryDirectory(prefix="partial-", dir=release.folder) as folder:
        partial = Path(folder)
        _run_ivy(java, release, partial)
        _compare(partial / "jars", release.jars)
        shutil.rmtree(release.jars_folder, ignore_errors=True)
        (partial / "jars").rename(release.jars_folder)


def _run_ivy(java: Java, release: KafkaRelease, folder: Path) -> None:
    """Resolve and retrieve; Ivy's own lines are the progress: each jar is found, then downloaded."""
    (folder / "ivy.xml").write_text(ivy_file(release), encoding="utf-8")
    last: deque[str] = deque(maxlen=400)
    process = subprocess.Popen(
        _ivy_command(java, folder), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    doing = f"fetching Apache Kafka {release.version}"
    with Progress(doing, 2 * len(release.jars)) as progress, process:
        done = 0
        for line in process.stdout or ():
            last.append(line.rstrip())
            done += line.startswith("\tfound ") or "[SUCCESSFUL ]" in line
            progress.show(done, line.split()[1] if line.startswith("\tfound ") else "")
        if process.wait() != 0:
            raise FetchFailed(_reason(last, release))


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


def _reason(lines: deque[str], release: KafkaRelease) -> str:
    text = "\n".join(lines)
    if "No space left" in text:
        return f"The disk of {release.folder} is full. Make room or set CROSSLOG_CACHE."
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
        f"copy {release.jars_folder} from a machine that has it. Ivy said: {said}"
    )


def _compare(folder: Path, jars: Mapping[str, str]) -> None:
    """Refuse jars that are missing or not byte for byte those of the listing; drop all others."""
    for path in folder.iterdir():
        if path.name not in jars:
            path.unlink()
    wrong = [name for name, digest in jars.items() if _digest(folder / name) != digest]
    if wrong:
        raise FetchFailed(
            f"{len(wrong)} of {len(jars)} jars came damaged or not at all, {wrong[0]} among them. "
            "Try again; a proxy that changes downloads gives the same picture every time."
        )


def _digest(path: Path) -> str:
    if not path.exists():
        return ""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


# Progress of long steps: a bar on a terminal, now and then a line in a log.

_BAR_WIDTH = 30
_LINE_EVERY_S = 5.0


class Progress:
    """Shows how far a step is; writes to stderr so that stdout stays for the answer."""

    def __init__(self, title: str, total: int, stream: TextIO | None = None) -> None:
        self.title = title
        self.total = total
        self.stream = stream or sys.stderr
        self.is_terminal = self.stream.isatty()
        self._shown_at = 0.0
        self._started_at = time.monotonic()

    def show(self, done: int, note: str = "") -> None:
        """Show `done` of `total`; a log gets at most one line in five seconds."""
        now = time.monotonic()
        if self.is_terminal:
            filled = _BAR_WIDTH * min(done, self.total) // max(self.total, 1)
            bar = "#" * filled + "." * (_BAR_WIDTH - filled)
            self._write(f"\r{self.title} [{bar}] {done}/{self.total} {note[:40]:40}")
        elif now - self._shown_at >= _LINE_EVERY_S:
            self._shown_at = now
            self._write(f"{self.title}: {done}/{self.total} {note}\n")

    def finish(self) -> None:
        """Say that the step is done and how long it took."""
        took = time.monotonic() - self._started_at
        start = "\r" if self.is_terminal else ""
        self._write(f"{start}{self.title}: done in {took:.1f} s{' ' * 50 if start else ''}\n")

    def _write(self, text: str) -> None:
        self.stream.write(text)
        self.stream.flush()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        if error is None:
            self.finish()
        elif self.is_terminal:
            self._write("\n")
