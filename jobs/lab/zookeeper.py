"""The ZooKeeper of a cluster whose brokers need one: one server, which starts first and stops last."""

from __future__ import annotations

import signal
import subprocess
import time
from pathlib import Path

from jobs.lab.child import end_child, running_pid, start_child
from jobs.lab.errors import NotServing
from jobs.lab.install.jvm import KafkaJvm
from jobs.lab.probe import accepts
from jobs.lab.properties import TICK_MS, logging_configuration, render

_MAIN = "org.apache.zookeeper.server.quorum.QuorumPeerMain"
_LOOK_S = 0.05
_STOP_S = 15.0


class ZooKeeper:
    """A ZooKeeper with its folder; started again, it has the data of last time."""

    def __init__(self, folder: Path, jvm: KafkaJvm, address: str) -> None:
        self.folder = folder
        self.jvm = jvm
        self.address = address
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def log(self) -> Path:
        """The log of the JVM."""
        return self.folder / "zookeeper.log"

    @property
    def pid(self) -> int | None:
        """The JVM's process id, None while there is none."""
        return running_pid(self._process)

    def start(self, timeout_s: float) -> None:
        """Start the JVM and wait until it listens; raises `NotServing`."""
        if self.pid is not None:
            return
        self.folder.mkdir(parents=True, exist_ok=True)
        host, _, port = self.address.rpartition(":")
        settings = {
            "dataDir": str(self.folder / "data"),
            "clientPort": port,
            "clientPortAddress": host,
            "maxClientCnxns": "0",
            "tickTime": str(TICK_MS),
            "admin.enableServer": "false",
        }
        file, logging = self.folder / "zoo.cfg", self.folder / "log4j2.properties"
        file.write_text(render(settings), encoding="utf-8")
        logging.write_text(logging_configuration("warn"), encoding="utf-8")
        self._process = start_child(
            self.jvm.command(_MAIN, [str(file)], logging=logging, heap="128m"), self.log
        )
        end = time.monotonic() + timeout_s
        while not accepts(self.address):
            if self.pid is None or time.monotonic() > end:
                raise NotServing(f"ZooKeeper does not serve at {self.address}: see {self.log}.")
            time.sleep(_LOOK_S)

    def stop(self) -> None:
        """Stop in order; what does not end in time is killed."""
        end_child(self._process, signal.SIGTERM, _STOP_S)

    def kill(self) -> None:
        """Kill the JVM at once."""
        end_child(self._process, signal.SIGKILL, _STOP_S)
