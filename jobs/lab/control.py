"""Protocol between a shell and the daemon of a lab: one JSON line each way over a Unix socket."""

from __future__ import annotations

import fcntl
import json
import os
import socket
from pathlib import Path
from typing import Any

from jobs.lab.errors import LabError

DAEMON_LOG = "keeper.log"
_SOCKET = "keeper.sock"
_LOCK = "keeper.lock"
_LONGEST_ANSWER = 1 << 20
# The longest steps are a node that does not come up and a cluster that does not stop.
ANSWER_S = 180.0


class DaemonNotRunning(LabError):
    """This lab is not running."""

    exit_code = 1


def ask(root: Path, order: str, *arguments: str, timeout_s: float = ANSWER_S) -> dict[str, Any]:
    """Give the daemon an order and return its answer.

    Raises `DaemonNotRunning` when none is there and `LabError` with the daemon's words when it refuses.
    """
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(timeout_s)
        try:
            connect(connection, root)
            connection.sendall(json.dumps([order, *arguments]).encode() + b"\n")
            with connection.makefile("rb") as file:
                line = file.readline(_LONGEST_ANSWER)
        except (FileNotFoundError, NotADirectoryError, ConnectionRefusedError):
            raise DaemonNotRunning(f"No lab is running in {root}.") from None
        except OSError as error:
            raise LabError(f"The keeper of {root} did not answer {order!r}: {error}.") from error
    if not line:
        raise LabError(f"The keeper of {root} ended during {order!r}: see {root / DAEMON_LOG}.")
    answer: dict[str, Any] = json.loads(line)
    if "error" in answer:
        refusal = LabError(answer["error"])
        refusal.exit_code = answer.get("exit_code", refusal.exit_code)
        raise refusal
    return answer


def is_daemon_running(root: Path) -> bool:
    """Return whether a daemon listens for this lab."""
    with socket.socket(socket.AF_UNIX) as connection:
        try:
            connect(connection, root)
        except OSError:
            return False
        return True


def listen(root: Path) -> socket.socket:
    """Return the listening socket of a daemon; a socket that a dead daemon left is replaced."""
    (root / _SOCKET).unlink(missing_ok=True)
    listener = socket.socket(socket.AF_UNIX)
    with _ShortPath(root) as folder:
        listener.bind(f"{folder}/{_SOCKET}")
    (root / _SOCKET).chmod(0o600)
    listener.listen(8)
    return listener


def connect(connection: socket.socket, root: Path) -> None:
    """Connect to the daemon of a lab."""
    with _ShortPath(root) as folder:
        connection.connect(f"{folder}/{_SOCKET}")


class DaemonLock:
    """One daemon per lab: holds a lock that ends with its process."""

    def __init__(self, root: Path) -> None:
        root.mkdir(parents=True, exist_ok=True)
        self.root = root
        self.file = (root / _LOCK).open("w")

    def __enter__(self) -> None:
        try:
            fcntl.flock(self.file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise LabError(f"The lab in {self.root} is running already.") from None

    def __exit__(self, *details: object) -> None:
        self.file.close()


def is_locked(root: Path) -> bool:
    """Return whether a daemon has this lab, also while that daemon starts or stops it."""
    try:
        with DaemonLock(root):
            return False
    except LabError:
        return True


class _ShortPath:
    """A short name of a folder, because the path of a Unix socket may have only 107 characters."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.descriptor = -1

    def __enter__(self) -> str:
        self.descriptor = os.open(self.root, os.O_RDONLY | os.O_DIRECTORY)
        short = f"/proc/self/fd/{self.descriptor}"
        return short if Path(short).exists() else str(self.root)

    def __exit__(self, *details: object) -> None:
        os.close(self.descriptor)
