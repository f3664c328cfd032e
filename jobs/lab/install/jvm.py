"""How a Kafka class is run: which Java, which class path, which options."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from jobs.lab.install.java import Java
from jobs.lab.install.releases import KafkaRelease

_QUICK_START = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")


@dataclass(frozen=True, slots=True)
class KafkaJvm:
    """Runs Kafka's classes; `options` are extra JVM options such as those of a class archive."""

    java: Java
    class_path: str
    options: Sequence[str] = field(default=())
    release: KafkaRelease = field(default_factory=KafkaRelease)

    def command(
        self,
        main: str,
        arguments: Sequence[str] = (),
        *,
        logging: Path,
        heap: str = "512m",
        quick_start: bool = True,
    ) -> list[str]:
        """Return the command line of a Kafka class; `logging` is a Log4j 2 configuration file.

        `quick_start` gives up peak speed (no optimizing compiler, the simplest collector) for a
        start in half the time; what is measured runs without it.
        """
        return [
            str(self.java.command),
            f"-Xmx{heap}",
            *(_QUICK_START if quick_start else ()),
            *self.options,
            f"-XX:ErrorFile={logging.parent}/jvm-crash-%p.log",
            "-Djava.awt.headless=true",
            f"-Dlog4j2.configurationFile={logging}",
            "-cp",
            self.class_path,
            main,
            *arguments,
        ]

    def start_tool(
        self, main: str, arguments: Sequence[str], *, logging: Path
    ) -> subprocess.Popen[str]:
        """Start one of Kafka's command line tools; its output and errors come on stdout."""
        return subprocess.Popen(
            self.command(main, arguments, logging=logging, heap="128m"),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
