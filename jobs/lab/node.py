"""One node of a lab cluster: a JVM with its folder."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from pathlib import Path

from jobs.lab.child import end_child, running_pid, start_child
from jobs.lab.errors import NotServing
from jobs.lab.install.jvm import KafkaJvm
from jobs.lab.probe import accepts, live_brokers
from jobs.lab.properties import (
    SESSION_OVER_S,
    TICK_MS,
    NodePlan,
    logging_configuration,
    render,
    server_properties,
)

_LAST_LINES = 5
# Where much else runs and a process has much memory to give back, its end takes its time.
_KILLED_S = 60.0


class Node:
    """A node that can be started, stopped, killed, paused and resumed."""

    def __init__(self, plan: NodePlan, jvm: KafkaJvm) -> None:
        self.plan = plan
        self.jvm = jvm
        self.is_paused = False
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def name(self) -> str:
        """The name of the node in the lab, e.g. `east-1`."""
        return f"{self.plan.cluster.alias}-{self.plan.node_id}"

    @property
    def log(self) -> Path:
        """The log of the JVM."""
        return self.plan.folder / "server.log"

    @property
    def properties(self) -> Path:
        """The node's settings."""
        return self.plan.folder / "server.properties"

    @property
    def logging(self) -> Path:
        """The Log4j 2 configuration of the node."""
        return self.plan.folder / "log4j2.properties"

    @property
    def is_formatted(self) -> bool:
        """Whether the log directory belongs to a cluster."""
        return (self.plan.data / "meta.properties").exists()

    @property
    def cluster_id(self) -> str | None:
        """The cluster that the log directory belongs to; None before the first start with ZooKeeper."""
        if not self.is_formatted:
            return None
        meta = (self.plan.data / "meta.properties").read_text(encoding="utf-8")
        return next(
            (line[11:] for line in meta.splitlines() if line.startswith("cluster.id=")), None
        )

    @property
    def _ended_in_order(self) -> bool:
        return (self.plan.data / ".kafka_cleanshutdown").exists()

    @property
    def is_running(self) -> bool:
        """Whether the JVM is there (it may be paused, and it may not serve yet)."""
        return self._process is not None and self._process.poll() is None

    @property
    def pid(self) -> int | None:
        """The JVM's process id, None while there is none."""
        return self._process.pid if self._process and self.is_running else None

    def write_files(self) -> None:
        """Write the node's settings and its logging configuration."""
        self.plan.folder.mkdir(parents=True, exist_ok=True)
        self.properties.write_text(render(server_properties(self.plan)), encoding="utf-8")
        self.logging.write_text(logging_configuration("info"), encoding="utf-8")

    def start(self) -> None:
        """Start the JVM; does not wait until it serves (`Cluster.wait_until_serving` does)."""
        if self.is_running:
            return
        if self.plan.cluster.has_zookeeper and self.is_formatted and not self._ended_in_order:
            # ZooKeeper has the broker as live until its session is over, and refuses a second one.
            time.sleep(SESSION_OVER_S)
        self.write_files()
        command = self.jvm.command("kafka.Kafka", [str(self.properties)], logging=self.logging)
        self._process = start_child(command, self.log)
        self.is_paused = False

    def ask_to_stop(self) -> None:
        """Send SIGTERM: the node hands its leaderships over and ends."""
        self.resume()
        self._signal(signal.SIGTERM)

    def stop(self, timeout_s: float = 20.0) -> None:
        """Stop in order; what does not end in time is killed."""
        self.ask_to_stop()
        if not self.has_ended_within(timeout_s):
            self.kill()

    def has_ended_within(self, timeout_s: float) -> bool:
        """Wait for the JVM's end; returns whether it came in time."""
        if self._process is None:
            return True
        try:
            self._process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            return False
        return True

    def kill(self) -> None:
        """Kill the JVM at once, as a power cut of the process would."""
        self._signal(signal.SIGKILL)
        if self._process is not None:
            self._process.wait(_KILLED_S)
        self.is_paused = False

    def pause(self) -> None:
        """Freeze the JVM: it keeps its connections and answers nothing (a hung node).

        Returns when every thread has stopped: on a busy machine some would answer for a while yet.
        """
        if self._process is not None and self._signal(signal.SIGSTOP):
            with contextlib.suppress(ChildProcessError):  # it ended meanwhile
                os.waitid(os.P_PID, self._process.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
            self.is_paused = True

    def resume(self) -> None:
        """Resume a paused JVM."""
        if self.is_paused:
            self._signal(signal.SIGCONT)
            self.is_paused = False

    def serves(self, brokers: frozenset[int]) -> bool:
        """Return whether the node answers and knows at least these brokers as live.

        Raises `NotServing` when the JVM has ended by itself.
        """
        if not self.is_running:
            raise NotServing(
                f"{self.name} ended by itself. Its log {self.log} says: {self._last_words()}"
            )
        return self._answers(brokers)

    def state(self) -> str:
        """Return `serving`, `starting` (runs, but does not answer), `paused` or `stopped`."""
        if not self.is_running:
            return "stopped"
        if self.is_paused:
            return "paused"
        return "serving" if self._answers(frozenset()) else "starting"

    def _answers(self, brokers: frozenset[int]) -> bool:
        if not self.plan.is_broker:
            return accepts(self.plan.address)
        cluster_id = self.cluster_id
        known = live_brokers(self.plan.address, cluster_id) if cluster_id else None
        return known is not None and known >= brokers

    def _signal(self, number: signal.Signals) -> bool:
        if self._process is None or self._process.poll() is not None:
            return False
        self._process.send_signal(number)
        return True

    def _last_words(self) -> str:
        lines = self.log.read_text(encoding="utf-8", errors="replace").splitlines()
        telling = [line for line in lines if " ERROR " in line or "Exception" in line]
        return " / ".join((telling or lines)[-_LAST_LINES:])


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
