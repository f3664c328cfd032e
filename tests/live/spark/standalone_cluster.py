"""A real Spark standalone cluster on this machine, with a secret, and what its ports tell a stranger."""

import contextlib
import json
import os
import secrets
import signal
import socket
import struct
import subprocess
import urllib.request
from pathlib import Path

from jobs.spark import processes, submit
from jobs.spark.secret import AUTHENTICATED, SETTING
from tests.waiting import eventually

STARTS_WITHIN_S = 90
_JVM = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1"
_LISTENS = "0A"
# A frame of RPC: its length, the kind "RpcRequest", a number, and as body what Java would deserialise.
_BODY = b"\x00" * 8 + bytes.fromhex("aced0005") + b"t\x00\x05hello"
_REQUEST = struct.pack(">BqI", 3, 1, len(_BODY)) + _BODY
FRAME = struct.pack(">q", len(_REQUEST) + 8) + _REQUEST


class StandaloneCluster:
    """As a context manager it ends with the block, with everything it started."""

    def __init__(self, folder: Path, workers: int = 2, cores: int = 2) -> None:
        self._folder = folder
        self._count, self._cores = workers, cores
        self._port, self._page = _free_port(), _free_port()
        self._started: list[subprocess.Popen[bytes]] = []
        self.secret = secrets.token_hex(16)

    @property
    def master(self) -> str:
        return f"spark://127.0.0.1:{self._port}"

    @property
    def workers(self) -> list[subprocess.Popen[bytes]]:
        return self._started[1:]

    def __enter__(self) -> "StandaloneCluster":
        try:
            self._start_all()
        except BaseException:
            self.__exit__()
            raise
        return self

    def settings_of_runs(self, **instead: str) -> dict[str, str]:
        """What the console is told to have its runs here."""
        return {
            "CROSSLOG_SPARK_MASTER": self.master,
            "CROSSLOG_SPARK_DRIVER_HOST": "127.0.0.1",
            "CROSSLOG_SPARK_SECRET": "env:CROSSLOG_SECRET_SPARK",
            "CROSSLOG_SECRET_SPARK": self.secret,
            **instead,
        }

    def _start_all(self) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        self._properties = self._folder / "spark-defaults.conf"
        self._properties.touch(mode=0o600)
        told = {**AUTHENTICATED, SETTING: self.secret}
        self._properties.write_text("".join(f"{name} {value}\n" for name, value in told.items()))
        ports = ["--host", "127.0.0.1", "--port", str(self._port)]
        self._start("master", "master.Master", *ports, "--webui-port", str(self._page))
        eventually(lambda: self.alive_workers() == 0, STARTS_WITHIN_S)
        for number in range(self._count):
            where = ["-d", str(self._folder / f"work-{number}"), "--host", "127.0.0.1"]
            size = ["-c", str(self._cores), "-m", "2g", "--webui-port", "0"]
            self._start(f"worker-{number}", "worker.Worker", *size, *where, self.master)
        eventually(lambda: self.alive_workers() == self._count, STARTS_WITHIN_S)

    def __exit__(self, *_: object) -> None:
        for process in reversed(self._started):
            family = [process.pid, *processes.children_of(process.pid)]
            processes.signal_all(family, signal.SIGKILL)
            process.wait()

    def alive_workers(self) -> int | None:
        """How many workers the master knows; None while it does not answer."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self._page}/json/", timeout=2) as page:
                return int(json.load(page)["aliveworkers"])
        except (OSError, ValueError):  # a master that is not up yet answers with a page for people
            return None

    def executors_on(self, number: int) -> list[int]:
        """The JVMs that a worker started for applications."""
        return [
            pid
            for pid in processes.children_of(self.workers[number].pid)
            if b"CoarseGrainedExecutorBackend" in Path(f"/proc/{pid}/cmdline").read_bytes()
        ]

    def kill_worker(self, number: int) -> None:
        """Kill -9 a worker and, as if its machine had gone, everything that it started."""
        worker = self.workers[number]
        processes.signal_all([worker.pid, *processes.children_of(worker.pid)], signal.SIGKILL)
        worker.wait()

    def pids(self) -> list[int]:
        """Everything of the cluster: master, workers and what they started."""
        return [p for one in self._started for p in (one.pid, *processes.children_of(one.pid))]

    def executor_logs(self) -> str:
        logs = self._folder.glob("work-*/app-*/*/stderr")
        return "\n".join(log.read_text(errors="replace") for log in logs)

    def _start(self, name: str, kind: str, *arguments: str) -> None:
        # Nothing of the project's: what executors need must come with the application.
        kept = {
            name: os.environ[name] for name in ("PATH", "HOME", "JAVA_HOME") if name in os.environ
        }
        environment = {
            **kept,
            "SPARK_HOME": str(submit.spark_home()),
            "SPARK_LOCAL_IP": "127.0.0.1",
            "SPARK_DAEMON_MEMORY": "256m",
            "SPARK_DAEMON_JAVA_OPTS": _JVM,
        }
        arguments = ("--properties-file", str(self._properties), *arguments)
        with (self._folder / f"{name}.log").open("wb") as log:
            process = subprocess.Popen(
                [str(submit.spark_home() / "bin" / "spark-class"), f"org.apache.spark.deploy.{kind}", *arguments],
                cwd=self._folder, env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
            )  # fmt: skip
        self._started.append(process)


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def listening(pids) -> dict[int, str]:
    """Port -> address of every TCP socket on which one of these processes listens."""
    own = {inode for pid in pids for inode in _sockets_of(pid)}
    found = {}
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == _LISTENS and fields[9] in own:
                address, _, port = fields[1].rpartition(":")
                found[int(port, 16)] = _address(address)
    return found


def _address(text: str) -> str:
    """What /proc/net writes: words of four bytes, each in the order of this machine."""
    words = [bytes.fromhex(text[at : at + 8])[::-1] for at in range(0, len(text), 8)]
    packed = b"".join(words)
    kind = socket.AF_INET if len(packed) == 4 else socket.AF_INET6
    return socket.inet_ntop(kind, packed).removeprefix("::ffff:")


def _sockets_of(pid: int) -> set[str]:
    found = set()
    with contextlib.suppress(OSError):
        for link in Path(f"/proc/{pid}/fd").iterdir():
            with contextlib.suppress(OSError):
                name = str(link.readlink())
                if name.startswith("socket:["):
                    found.add(name[8:-1])
    return found


def answer_to_a_stranger(port: int) -> bytes:
    """Send a request without any authentication; returns what comes back until the other side hangs up."""
    said = b""
    with socket.create_connection(("127.0.0.1", port), 10) as stranger:
        stranger.settimeout(10)
        stranger.sendall(FRAME)
        with contextlib.suppress(TimeoutError, ConnectionError):
            while data := stranger.recv(65536):
                said += data
    return said


def assert_closed(pids) -> None:
    """Everything listens for this machine only, and no stranger has anything deserialised."""
    found = listening(pids)
    assert set(found.values()) == {"127.0.0.1"}
    said = b""

    def is_refused() -> bool:
        nonlocal said
        said += b"".join(answer_to_a_stranger(port) for port in found)
        return b"Unknown challenge message" in said  # the driver's port and its blocks'

    eventually(is_refused, 60)  # a process that is stalled just now tells the next stranger
    assert b"ObjectInputStream" not in said


def assert_no_command_line_has(secret: str, pids) -> None:
    assert len(pids) > 1
    for pid in pids:
        with contextlib.suppress(FileNotFoundError):
            assert secret.encode() not in Path(f"/proc/{pid}/cmdline").read_bytes()
