"""A Kafka Streams application of one or more instances, each a JVM of its own."""

from __future__ import annotations

import http.client
import json
import signal
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from jobs.cluster.admin.topics import NewTopicSpec, create_topics
from jobs.cluster.client import ClusterClient
from jobs.cluster.connection import Connection
from jobs.lab.child import end_child, running_pid, start_child
from jobs.lab.errors import LabError, NotServing
from jobs.lab.install.jvm import KafkaJvm
from jobs.lab.install.program import with_program
from jobs.lab.plan import HOST
from jobs.lab.properties import logging_configuration, render

_SOURCE = Path(__file__).with_name("ShopTotals.java")
# The port of the instance's own door replaces 0: an endpoint that really answers.
OWN_DOOR = f"{HOST}:0"
CLASSIC, STREAMS = "classic", "streams"
RUNNING = "RUNNING"
# Measured: 6 to 15 s for two instances; the rest is for a machine that has a lot else to do.
RUNNING_S = 120.0
_STOP_S = 30.0
_ANSWER_S = 20.0
_ASK_EVERY_S = 0.1
_LAST_CHARACTERS = 600
_ENDED = ("ERROR", "NOT_RUNNING")
TOPICS = {
    "orders": NewTopicSpec(6),
    "customers": NewTopicSpec(6, configs={"cleanup.policy": "compact"}),
    "regions": NewTopicSpec(2, configs={"cleanup.policy": "compact"}),
    "orders-enriched": NewTopicSpec(6),
    "orders-per-minute-out": NewTopicSpec(4),
}


@dataclass(frozen=True, slots=True)
class StreamsSettings:
    """What all instances of an application have in common.

    `prefix` is before the names of the topics that are not its own. `protocol` is `classic` or
    `streams`; then the number of standbys becomes a setting of the group. `session_ms` None: Kafka's own.
    `merged` are topics, and patterns behind a `~`: the application then only counts their records by key.
    """

    application_id: str
    bootstrap_servers: str
    threads: int = 1
    standbys: int = 1
    protocol: str = CLASSIC
    prefix: str = ""
    products: int = 4
    with_regions: bool = False
    merged: tuple[str, ...] = ()
    session_ms: int | None = None
    heap: str = "128m"

    def properties(self, folder: Path, endpoint: str | None) -> dict[str, str]:
        """Return the settings of one instance, whose folder also keeps its state. Pure."""
        settings = {
            "application.id": self.application_id,
            "bootstrap.servers": self.bootstrap_servers,
            "group.protocol": self.protocol,
            "num.stream.threads": str(self.threads),
            "state.dir": str(folder / "state"),
            "commit.interval.ms": "1000",
            "statestore.cache.max.bytes": str(1 << 20),
            "consumer.auto.offset.reset": "earliest",
            "num.standby.replicas": str(self.standbys),
            "shop.door": str(folder / "door"),
            "shop.prefix": self.prefix,
            "shop.products": str(self.products),
            "shop.regions": str(self.with_regions).lower(),
            "shop.merged": " ".join(self.merged),
        }
        if endpoint is not None:
            settings["application.server"] = endpoint
        if self.session_ms is not None and self.protocol == CLASSIC:
            settings["consumer.session.timeout.ms"] = str(self.session_ms)
            settings["consumer.heartbeat.interval.ms"] = str(self.session_ms // 3)
        return settings


class StreamsInstance:
    """One instance in its folder; started again, it has its state and its process id of Kafka Streams."""

    def __init__(
        self, folder: Path, jvm: KafkaJvm, settings: StreamsSettings, endpoint: str | None
    ) -> None:
        self.folder = folder
        self.jvm = jvm
        self.settings = settings
        self.endpoint = endpoint
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def log(self) -> Path:
        """The log of the JVM."""
        return self.folder / "streams.log"

    @property
    def pid(self) -> int | None:
        """The JVM's process id, None while there is none."""
        return running_pid(self._process)

    @property
    def port(self) -> int | None:
        """The port of its door, None while it has not opened it yet."""
        try:
            return int((self.folder / "door").read_text("ascii"))
        except FileNotFoundError:
            return None

    def start(self) -> None:
        """Start the JVM without waiting."""
        self.folder.mkdir(parents=True, exist_ok=True)
        (self.folder / "door").unlink(missing_ok=True)
        file = self.folder / "streams.properties"
        file.write_text(render(self.settings.properties(self.folder, self.endpoint)), "utf-8")
        logging = self.folder / "log4j2.properties"
        logging.write_text(logging_configuration("error"), "utf-8")
        heap = self.settings.heap
        command = self.jvm.command(_SOURCE.stem, [str(file)], logging=logging, heap=heap)
        self._process = start_child(command, self.log)

    def state(self) -> str | None:
        """Return the state in Kafka Streams' words, None before its door opens.

        Raises `NotServing` when the instance has ended by itself or is in a state that it never leaves.
        """
        if self.pid is None:
            raise NotServing(f"{self.folder.name} ended by itself. {self._last_words()}")
        found = self._ask("GET", "/state") if self.port else None
        if found in _ENDED:
            raise NotServing(f"{self.folder.name} is {found}. {self._last_words()}")
        return found

    def inside(self, keys: Sequence[str] = ()) -> dict[str, Any]:
        """Return what the JVM itself says: metadata, tasks, lags, and of these keys where they are.

        `localGet` has only keys that active stores of this instance serve. Answers are None, or have
        fewer keys, while Kafka Streams refuses them. Raises `LabError` when the door does not answer.
        """
        answer: dict[str, Any] = json.loads(self._ask("POST", "/inside", json.dumps(list(keys))))
        return answer

    def topology(self) -> str:
        """Return `Topology#describe()`."""
        return self._ask("GET", "/topology")

    def ask_to_close(self) -> None:
        """Send SIGTERM without waiting."""
        if self._process is not None and self.pid is not None:
            self._process.terminate()

    def close(self) -> None:
        """Close in order: it commits and leaves its group."""
        end_child(self._process, signal.SIGTERM, _STOP_S)

    def kill(self) -> None:
        """Kill the JVM at once: its group waits for it until its session is over."""
        end_child(self._process, signal.SIGKILL, _STOP_S)

    def _ask(self, method: str, path: str, body: str | None = None) -> str:
        connection = http.client.HTTPConnection(HOST, self.port or 0, timeout=_ANSWER_S)
        try:
            connection.request(method, path, body)
            return connection.getresponse().read().decode()
        except (OSError, http.client.HTTPException) as error:
            raise LabError(f"The door of {self.folder.name} does not answer: {error}.") from error
        finally:
            connection.close()

    def _last_words(self) -> str:
        words = self.log.read_text("utf-8", errors="replace").strip()[-_LAST_CHARACTERS:]
        return f"Its log {self.log} says: {words}"


class StreamsApplication:
    """Instances below one folder; all end with this process, and as a context manager with its block.

    Raises `CompilerMissing` where Java has no compiler.
    """

    def __init__(self, folder: Path, jvm: KafkaJvm, settings: StreamsSettings) -> None:
        self.folder = folder
        self.jvm = with_program(jvm, _SOURCE)
        self.settings = settings
        self.instances: dict[str, StreamsInstance] = {}

    def start(self, name: str, endpoint: str | None = OWN_DOOR) -> StreamsInstance:
        """Start an instance without waiting; `endpoint` is its `application.server`, None: none."""
        instance = StreamsInstance(self.folder / name, self.jvm, self.settings, endpoint)
        self.instances[name] = instance
        instance.start()
        return instance

    def wait_until_running(self, timeout_s: float = RUNNING_S) -> None:
        """Wait until every instance with a process is RUNNING; raises `NotServing`."""
        end = time.monotonic() + timeout_s
        waiting = [one for one in self.instances.values() if one.pid is not None]
        while waiting := [one for one in waiting if one.state() != RUNNING]:
            if time.monotonic() > end:
                late = ", ".join(f"{one.folder.name} (log {one.log})" for one in waiting)
                raise NotServing(f"Not RUNNING within {timeout_s:.0f} s: {late}.")
            time.sleep(_ASK_EVERY_S)

    def inside(self, keys: Sequence[str] = ()) -> dict[str, dict[str, Any]]:
        """Return what each instance with a process says of itself, by its name."""
        alive = {name: one for name, one in self.instances.items() if one.pid is not None}
        return {name: one.inside(keys) for name, one in alive.items()}

    def close(self) -> None:
        """Close all instances in order, all at once."""
        for instance in self.instances.values():
            instance.ask_to_close()
        for instance in self.instances.values():
            instance.close()

    def kill(self) -> None:
        """Kill all instances at once."""
        for instance in self.instances.values():
            instance.kill()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self.close()


def make_topics(connection: Connection, prefix: str = "") -> None:
    """Create the topics that an application reads and writes, except those that are there.

    Raises `LabError` naming the topic that cannot be created.
    """
    wanted = {f"{prefix}{name}": spec for name, spec in TOPICS.items()}
    with ClusterClient(connection) as client:
        for topic, fault in create_topics(client, wanted).items():
            if fault is not None:
                raise LabError(f"{topic} cannot be created: {fault}")
