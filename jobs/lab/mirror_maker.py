"""Real MirrorMaker 2 beside a lab: the dedicated one, from the same jars as the brokers."""

from __future__ import annotations

import re
import signal
import subprocess
from collections.abc import Mapping
from pathlib import Path

from jobs.lab.child import end_child, running_pid, start_child
from jobs.lab.errors import NotServing
from jobs.lab.install.jvm import KafkaJvm
from jobs.lab.properties import logging_configuration, render

_MAIN = "org.apache.kafka.connect.mirror.MirrorMaker"
_STOP_S = 30.0
# One broker is enough for every topic that MirrorMaker 2 makes.
_SINGLE_BROKER = {
    "replication.factor": "1",
    "offset-syncs.topic.replication.factor": "1",
    "heartbeats.topic.replication.factor": "1",
    "checkpoints.topic.replication.factor": "1",
    "offset.storage.replication.factor": "1",
    "config.storage.replication.factor": "1",
    "status.storage.replication.factor": "1",
}


def mirror_properties(
    source: tuple[str, str], target: tuple[str, str], extra: Mapping[str, str] | None = None
) -> dict[str, str]:
    """Return settings for one flow between two clusters, each given as (alias, bootstrap servers)."""
    flow = f"{source[0]}->{target[0]}"
    return {
        "clusters": f"{source[0]},{target[0]}",
        f"{source[0]}.bootstrap.servers": source[1],
        f"{target[0]}.bootstrap.servers": target[1],
        f"{flow}.enabled": "true",
        **_SINGLE_BROKER,
        **(extra or {}),
    }


def beside_properties(
    source: tuple[str, str], target: tuple[str, str], prefix: str
) -> dict[str, str]:
    """Return settings for topics and groups of one prefix, beside a flow of crosslog that has the others.

    The source has three brokers and the target one. Everything that comes once a minute by default comes
    every ten seconds, so that somebody who watches need not wait.
    """
    pattern, flow = f"{re.escape(prefix)}.*", f"{source[0]}->{target[0]}"
    stored = ("offset.storage", "config.storage", "status.storage")
    return mirror_properties(
        source,
        target,
        {
            f"{flow}.topics": pattern,
            f"{flow}.groups": pattern,
            f"{flow}.sync.group.offsets.enabled": "true",
            f"{flow}.sync.group.offsets.interval.seconds": "10",
            f"{flow}.emit.checkpoints.interval.seconds": "10",
            f"{flow}.offset-syncs.topic.replication.factor": "3",
            f"{target[0]}->{source[0]}.enabled": "false",
            f"{target[0]}->{source[0]}.heartbeats.topic.replication.factor": "3",
            **{f"{source[0]}.{name}.replication.factor": "3" for name in stored},
            f"{source[0]}.consumer.isolation.level": "read_committed",
            "refresh.topics.interval.seconds": "10",
            "refresh.groups.interval.seconds": "10",
            # Looking through all classes for plugins takes seconds, twice.
            f"{source[0]}.plugin.discovery": "service_load",
            f"{target[0]}.plugin.discovery": "service_load",
            # Connect's worker takes this one only from the cluster where it keeps its topics.
            f"{target[0]}.offset.flush.interval.ms": "10000",
        },
    )


class MirrorMaker:
    """A MirrorMaker 2 with its folder; started again, it resumes where its positions are."""

    def __init__(
        self, folder: Path, jvm: KafkaJvm, properties: Mapping[str, str], *, heap: str = "512m"
    ) -> None:
        self.folder = folder
        self.jvm = jvm
        self.properties = dict(properties)
        self.heap = heap
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def log(self) -> Path:
        """The log of the JVM."""
        return self.folder / "mirror-maker.log"

    @property
    def pid(self) -> int | None:
        """The JVM's process id, None while there is none."""
        return running_pid(self._process)

    def start(self, *, quick_start: bool = True) -> None:
        """Start the JVM; its first record comes some 12 s later."""
        self.folder.mkdir(parents=True, exist_ok=True)
        settings = self.folder / "mm2.properties"
        settings.write_text(render(self.properties), encoding="utf-8")
        logging = self.folder / "log4j2.properties"
        logging.write_text(logging_configuration("warn"), encoding="utf-8")
        command = self.jvm.command(
            _MAIN, [str(settings)], logging=logging, heap=self.heap, quick_start=quick_start
        )
        self._process = start_child(command, self.log)

    def stop(self) -> None:
        """Stop in order: positions are committed; what does not end in time is killed."""
        end_child(self._process, signal.SIGTERM, _STOP_S)

    def kill(self) -> None:
        """Kill the JVM at once."""
        end_child(self._process, signal.SIGKILL, _STOP_S)

    def check(self) -> None:
        """Raise `NotServing` when the JVM has ended by itself."""
        if self.pid is None:
            words = self.log.read_text(encoding="utf-8", errors="replace")[-600:]
            raise NotServing(f"MirrorMaker 2 ended by itself. Its log {self.log} says: {words}")
