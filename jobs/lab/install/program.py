"""A Java file of ours, compiled against Kafka's jars and kept in the cache folder."""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import tempfile
from dataclasses import replace
from pathlib import Path

from jobs.lab.errors import LabError
from jobs.lab.install import fetch
from jobs.lab.install.jvm import KafkaJvm

_COMPILER = "jdk.compiler/com.sun.tools.javac.Main"
_FAULTS = re.compile(r"error: (?!cannot find symbol)(.+)|symbol: +(.+)")
_SHOWN = 5
_NO_COMPILER = "jdk.compiler not found"  # what a JRE says


class CompilerMissing(LabError):
    """This Java is a runtime without a compiler."""

    exit_code = 1


def with_program(jvm: KafkaJvm, source: Path) -> KafkaJvm:
    """Return how the class of a Java file is run, after compiling it where that was not done yet.

    About 3 s the first time. Raises `CompilerMissing` where Java has no compiler.
    """
    key = f"{jvm.java.version}\n{jvm.class_path}\n{source.read_text('utf-8')}"
    name = f"{source.stem}-{hashlib.sha256(key.encode()).hexdigest()[:16]}"
    folder = jvm.release.folder / name
    if not folder.is_dir():
        with fetch.only_one(jvm.release.folder / "programs.lock"):
            if not folder.is_dir():
                _compile(jvm, source, folder)
    # Behind the jars: the class archive fits every class path that begins with its own.
    return replace(jvm, class_path=f"{jvm.class_path}{os.pathsep}{folder}")


def _compile(jvm: KafkaJvm, source: Path, folder: Path) -> None:
    with tempfile.TemporaryDirectory(prefix="partial-", dir=folder.parent) as partial:
        classes = Path(partial) / "classes"
        command = [str(jvm.java.command), "-XX:TieredStopAtLevel=1", "--module", _COMPILER]
        command += ["-proc:none", "-d", str(classes), "-cp", jvm.class_path, str(source)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        said = done.stdout + done.stderr
        if _NO_COMPILER in said:
            raise CompilerMissing(
                f"{jvm.java.command} has no compiler, so {source.name} cannot be run: "
                "install a JDK (Debian: apt install openjdk-17-jdk-headless)."
            )
        if done.returncode != 0:
            faults = dict.fromkeys(
                f"no {name}" if name else text for text, name in _FAULTS.findall(said)
            )
            raise LabError(
                f"{source.name} does not compile with the classes of Kafka {jvm.release.version}: "
                f"{'; '.join(list(faults)[:_SHOWN]) or said.strip()[-600:]}."
            )
        classes.rename(folder)
