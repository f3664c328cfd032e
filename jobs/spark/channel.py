"""The line between a running flow's driver and its tasks: progress one way, `stop` the other.

JSON lines over TCP on the driver's host. A Spark task returns only once, at its end; a task that
copies for days must say how it is doing while it lives.
"""

from __future__ import annotations

import contextlib
import hmac
import json
import secrets
import socket
import socketserver
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

_CONNECT_TIMEOUT_S = 10.0
_MOST_LINE_BYTES = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class ChannelAddress:
    """Where the driver listens, and the word that a task must say first."""

    host: str
    port: int
    token: str


class DriverChannel:
    """The driver's end: hands each task its assignment and collects what the tasks report."""

    def __init__(
        self,
        host: str,
        assignments: Mapping[int, Mapping[str, Any]],
        on_report: Callable[[int, list[dict[str, Any]]], None],
    ) -> None:
        self._assignments = assignments
        self._on_report = on_report
        self._connections: set[socket.socket] = set()
        self._lock = threading.Lock()
        self._stopping = False
        self._token = secrets.token_hex(16)
        channel = self

        class Session(socketserver.StreamRequestHandler):
            def handle(self) -> None:
                channel._serve(self)

        self._server = socketserver.ThreadingTCPServer((host, 0), Session, bind_and_activate=True)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.1,), daemon=True)
        self._thread.start()

    @property
    def address(self) -> ChannelAddress:
        """Where tasks connect to."""
        host, port = self._server.server_address[:2]
        return ChannelAddress(str(host), int(port), self._token)

    def stop_tasks(self) -> None:
        """Ask every task, also those that connect later, to flush, commit and return."""
        with self._lock:
            self._stopping = True
            for connection in self._connections:
                _send(connection, {"stop": True})

    def close(self) -> None:
        """Stop listening; tasks that are still connected take it as a stop."""
        self._server.shutdown()
        self._server.server_close()
        with self._lock:
            for connection in self._connections:
                with contextlib.suppress(OSError):  # the task hung up first
                    connection.shutdown(socket.SHUT_RDWR)

    def _serve(self, session: socketserver.StreamRequestHandler) -> None:
        hello = _read(session.rfile.readline(_MOST_LINE_BYTES))
        if hello is None or not hmac.compare_digest(str(hello.get("token", "")), self._token):
            return
        task = int(hello["task"])
        with self._lock:
            self._connections.add(session.connection)
            _send(session.connection, {"assignment": self._assignments[task]})
            if self._stopping:
                _send(session.connection, {"stop": True})
        try:
            self._collect(task, session)
        finally:
            with self._lock:
                self._connections.discard(session.connection)

    def _collect(self, task: int, session: socketserver.StreamRequestHandler) -> None:
        while True:
            report = _read(session.rfile.readline(_MOST_LINE_BYTES))
            if report is None:
                return
            self._on_report(task, report["partitions"])


class TaskChannel:
    """A task's end: gets the assignment, reports, and knows when to stop.

    A lost driver is a stop too: nobody would know what the task still does.
    """

    def __init__(self, address: ChannelAddress, task: int) -> None:
        self._socket = socket.create_connection((address.host, address.port), _CONNECT_TIMEOUT_S)
        self._socket.settimeout(None)
        self._lines = self._socket.makefile("rb")
        self._stop = threading.Event()
        # Both paths of a share report, each from its own thread.
        self._sending = threading.Lock()
        _send(self._socket, {"token": address.token, "task": task})
        first = _read(self._lines.readline(_MOST_LINE_BYTES))
        if first is None:
            raise ConnectionError("the driver closed the channel before giving an assignment")
        self.assignment: dict[str, Any] = first["assignment"]
        threading.Thread(target=self._listen, name="channel", daemon=True).start()

    def should_stop(self) -> bool:
        """Return whether the driver asked for a stop or is gone."""
        return self._stop.is_set()

    def report(self, partitions: list[dict[str, Any]]) -> None:
        """Send the state of this task's partitions."""
        with self._sending:
            is_sent = _send(self._socket, {"partitions": partitions})
        if not is_sent:
            self._stop.set()

    def close(self) -> None:
        """Hang up."""
        self._socket.close()

    def _listen(self) -> None:
        while True:
            try:
                message = _read(self._lines.readline(_MOST_LINE_BYTES))
            except (OSError, ValueError):  # ValueError: closed by our own side
                message = None
            if message is None or message.get("stop"):
                self._stop.set()
                return


def _send(connection: socket.socket, message: Mapping[str, Any]) -> bool:
    try:
        connection.sendall(json.dumps(message, separators=(",", ":")).encode() + b"\n")
    except OSError:
        return False
    return True


def _read(line: bytes) -> dict[str, Any] | None:
    if not line.endswith(b"\n"):
        return None
    value: dict[str, Any] = json.loads(line)
    return value
