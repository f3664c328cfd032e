"""Finding a Java that Kafka runs on."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from jobs.lab.errors import JavaMissing

OLDEST = 17
_VERSION = re.compile(r'version "(\d+)(?:\.(\d+))?')
_ADVICE = (
    f"Kafka needs Java {OLDEST} or newer. Install a JDK (Debian: apt install openjdk-17-jdk-headless) "
    "or let JAVA_HOME point to one."
)


@dataclass(frozen=True, slots=True)
class Java:
    """A Java that can run Kafka; `version` is everything that it says of itself."""

    command: Path
    major: int
    version: str

    @property
    def keytool(self) -> Path:
        """The certificate tool that comes with every Java."""
        return self.command.resolve().parent / "keytool"


def find_java() -> Java:
    """Return the Java of JAVA_HOME or else of the PATH; raises `JavaMissing` with what to do."""
    home = os.environ.get("JAVA_HOME")
    if home:
        command = Path(home) / "bin" / "java"
        if not command.exists():
            raise JavaMissing(f"JAVA_HOME is {home}, but there is no bin/java in it. {_ADVICE}")
        return _ask(command)
    found = shutil.which("java")
    if found is None:
        raise JavaMissing(f"There is no java on the PATH and JAVA_HOME is not set. {_ADVICE}")
    return _ask(Path(found))


def read_major(text: str) -> int | None:
    """Return the major version out of what `java -version` says (1.8 is 8), None when unclear."""
    match = _VERSION.search(text)
    if match is None:
        return None
    first, second = int(match[1]), int(match[2] or 0)
    return second if first == 1 else first


def _ask(command: Path) -> Java:
    try:
        answer = subprocess.run(
            [command, "-version"], capture_output=True, text=True, timeout=60, check=True
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise JavaMissing(f"{command} -version does not run: {error}. {_ADVICE}") from error
    version = answer.stderr.strip()
    major = read_major(version)
    if major is None or major < OLDEST:
        says = version.splitlines()[0] if version else "nothing"
        raise JavaMissing(f"{command} is too old: it says {says}. {_ADVICE}")
    return Java(command, major, version)
