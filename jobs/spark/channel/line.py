"""The line between a running flow's driver and its tasks, see `messages` for its messages.

JSON lines over TCP on the driver's host. A Spark task returns only once, at its end; a task that
copies for days must say how it is doing while it lives, and take on and give back partitions. Where tasks run
on other machines the line is sealed, see `sealed_line`: it tells what a flow does, and can make it do more.
"""

from __future__ import annotations

import contextlib
import hmac
import json
import secrets
import socket
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, BinaryIO

from jobs.cluster.errors import ClusterFault
from jobs.replication.copy.contract import AssignmentChanges, PartitionStart
from jobs.spark.channel import messages, sealed_line
from jobs.spark.channel.messages import Message, decode_line, encode_line
from jobs.spark.channel.sealed_line import Connection, Seal, SealedSocket

ALIVE_S = 5.0
_CONNECT_TIMEOUT_S = 10.0
_MOST_LINE_BYTES = 64 * 1024 * 1024
# A client that has not sent the token yet is a stranger: little is read of it, and not for long. A task says
# it at once, so that even a large flow never has this many of them.
MOST_HELLO_BYTES = 1024
HELLO_WITHIN_S = 10.0
MOST_STRANGERS = 64
ACCEPT_DELAY_S = 0.1


@dataclass(frozen=True, slots=True)
class ChannelAddress:
    """Where the driver listens, and the word that a task must say first.

    `certificate` (PEM) is the driver's for this run; empty where the line does not leave the machine.
    """

    host: str
    port: int
    token: str
    certificate: str = ""

    @property
    def place(self) -> tuple[str, int]:
        """Host and port."""
        return self.host, self.port


@dataclass(slots=True, eq=False)
class Line:
    """The driver's end of the line to one task: `task` is its number."""

    task: int
    connection: Connection
    _sending: threading.Lock = field(default_factory=threading.Lock)

    def send(self, message: Message) -> bool:
        """Say something; returns False when the task is gone, which is heard as an event as well."""
        with self._sending:
            return _send(self.connection, message)

    def close(self) -> None:
        """Hang up; the task takes it as a stop."""
        with contextlib.suppress(OSError):  # the task hung up first
            self.connection.shutdown(socket.SHUT_RDWR)


@dataclass(frozen=True, slots=True)
class Event:
    """Something heard on a line: a message, or None when the task is gone. An empty one: it has come."""

    line: Line
    message: Message | None


class DriverChannel:
    """The driver's end: tells who comes and goes, and what they say.

    `on_event` is called from one thread per task. Threads are named after what comes before a colon in the
    name of the thread that opens the channel: its flow. `host` is what tasks connect to, `bind_host` where
    the driver listens when that differs. `hello_within_s` is how long a caller may take for its token.
    `is_sealed` makes a certificate for this run, and clients have to speak TLS.
    """

    def __init__(
        self,
        host: str,
        on_event: Callable[[Event], None],
        *,
        bind_host: str | None = None,
        hello_within_s: float = HELLO_WITHIN_S,
        is_sealed: bool = False,
    ) -> None:
        self._host = host
        seal = Seal.of_a_run() if is_sealed else None
        self._certificate = seal.certificate if seal else ""
        self._tls = seal.server_context() if seal else None
        self._on_event = on_event
        self._lines: set[Line] = set()
        self._lock = threading.Lock()
        self._stopping = False
        self._hello_within_s = hello_within_s
        self._strangers = threading.BoundedSemaphore(MOST_STRANGERS)
        self._token = secrets.token_hex(16)
        self._closed = threading.Event()
        # All tasks of a flow come at the same moment.
        self._listener = socket.create_server((bind_host or host, 0), backlog=2 * MOST_STRANGERS)
        self._port = int(self._listener.getsockname()[1])
        self._flow = threading.current_thread().name.partition(":")[0]
        self._start_thread("channel", self._accept)

    @property
    def address(self) -> ChannelAddress:
        """Where tasks connect to."""
        return ChannelAddress(self._host, self._port, self._token, self._certificate)

    def stop_tasks(self) -> None:
        """Ask every task, also those that connect later, to flush, commit and return."""
        with self._lock:
            self._stopping = True
            lines = list(self._lines)
        for line in lines:
            line.send({"stop": True})

    def close(self) -> None:
        """Stop listening; tasks that are still connected take it as a stop."""
        self._closed.set()
        with contextlib.suppress(OSError):  # closed before
            self._listener.shutdown(socket.SHUT_RDWR)  # which ends `accept`
        self._listener.close()
        with self._lock:
            lines = list(self._lines)
        for line in lines:
            line.close()

    def _start_thread(self, name: str, work: Callable[[], None]) -> None:
        threading.Thread(target=work, name=f"{self._flow}: {name}", daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                caller, _ = self._listener.accept()
            except OSError:  # closed, or too many open files
                if self._closed.wait(ACCEPT_DELAY_S):
                    return
                continue
            self._start_thread("line", partial(self._serve, caller))

    def _serve(self, caller: socket.socket) -> None:
        try:
            self._talk(caller)
        finally:
            with contextlib.suppress(OSError):  # it hung up first
                caller.shutdown(socket.SHUT_WR)
            caller.close()

    def _talk(self, caller: socket.socket) -> None:
        greeted = self._greet(caller)
        if greeted is None:
            return
        line, lines = greeted
        with self._lock:
            self._lines.add(line)
            is_stopping = self._stopping
        if is_stopping:
            line.send({"stop": True})
        self._on_event(Event(line, {}))
        try:
            while (message := _read(lines)) is not None:
                self._on_event(Event(line, message))
        finally:
            with self._lock:
                self._lines.discard(line)
            self._on_event(Event(line, None))

    def _greet(self, caller: socket.socket) -> tuple[Line, BinaryIO] | None:
        """Return the line to a task that says the token, and what it says; None for a stranger."""
        if not self._strangers.acquire(blocking=False):
            return None
        ends_at = time.monotonic() + self._hello_within_s
        try:
            connection: Connection = caller
            if self._tls is not None:
                connection = SealedSocket(caller, self._tls, server_side=True)
                connection.shake_hands(self._hello_within_s)
            lines = connection.makefile("rb")
            hello = json.loads(_first_line(connection, lines, ends_at))
            if hmac.compare_digest(str(hello["token"]).encode(), self._token.encode()):
                return Line(int(hello["task"]), connection), lines
        except (OSError, ValueError, TypeError, KeyError, RecursionError):
            return None
        finally:
            self._strangers.release()
        return None


def _first_line(connection: Connection, lines: BinaryIO, ends_at: float) -> bytes:
    """Read a short line in time, whatever the pace at which it comes; raises OSError or ValueError."""
    said = b""
    while not said.endswith(b"\n"):
        left_s = ends_at - time.monotonic()
        if left_s <= 0 or len(said) == MOST_HELLO_BYTES:
            raise ValueError("no token came")
        connection.settimeout(left_s)
        letter = lines.read(1)
        if not letter:
            raise ValueError("it hung up")
        said += letter
    connection.settimeout(None)
    return said


class ChannelClient:
    """The other end of a line: says the token and its number, and hears what the driver says.

    A lost driver is a stop too: what a task still does would not be known.
    """

    def __init__(self, address: ChannelAddress, number: int) -> None:
        self._socket = _connect(address)
        self._lines = self._socket.makefile("rb")
        self._over = threading.Event()
        # Several threads of a task have something to say.
        self._sending = threading.Lock()
        self._said_s = 0.0
        self.say({"token": address.token, "task": number})

    def should_stop(self) -> bool:
        """Return whether the driver asked for a stop or is gone."""
        return self._over.is_set()

    def request_stop(self) -> None:
        """Stop as if the driver had asked for it."""
        self._over.set()

    def say(self, message: Message) -> None:
        """Send a message; a driver that is gone is a stop."""
        with self._sending:
            is_sent = _send(self._socket, message)
        self._said_s = time.monotonic()
        if not is_sent:
            self.request_stop()

    def close(self) -> None:
        """Hang up."""
        self.request_stop()
        with contextlib.suppress(OSError):  # the driver hung up first
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()

    def hear(self) -> None:
        """Take the next message; waits for it."""
        message = _read(self._lines)
        if message is None or "stop" in message:
            self.request_stop()
        else:
            self.take(message)

    def take(self, message: Message) -> None:
        """Do what the driver asks for."""
        raise NotImplementedError

    def stay_alive(self) -> None:
        """Say so after `ALIVE_S` of silence: a process that was stopped looks like a quiet one."""
        while not self._over.wait(self._said_s + ALIVE_S - time.monotonic()):
            if time.monotonic() - self._said_s >= ALIVE_S:
                self.say({"alive": True})

    def listen(self) -> None:
        """Hear until a stop."""
        while not self.should_stop():
            self.hear()


class TaskChannel(ChannelClient):
    """A task's end: takes what the driver asks for, reports, and knows when to stop.

    `assignment` is None when the driver asked for a stop before it gave one.
    """

    def __init__(self, address: ChannelAddress, task: int) -> None:
        self.changes = AssignmentChanges(self._tell_released)
        super().__init__(address, task)
        self.assignment: dict[str, Any] | None = None
        while self.assignment is None and not self.should_stop():
            self.hear()
        threading.Thread(target=self.listen, name="channel", daemon=True).start()
        threading.Thread(target=self.stay_alive, name="alive", daemon=True).start()

    def request_stop(self) -> None:
        """Stop, and wake the copier for it."""
        super().request_stop()
        self.changes.wake()

    def report(self, partitions: list[dict[str, Any]]) -> None:
        """Send the state of this task's partitions."""
        self.say({"partitions": partitions})

    def report_fault(self, fault: ClusterFault) -> None:
        """Say why this task ends."""
        self.say(messages.fault(fault))

    def _tell_released(self, released: Sequence[PartitionStart]) -> None:
        self.say(messages.released(released))

    def take(self, message: Message) -> None:
        """Take an assignment, or a change of it."""
        match message:
            case {"assignment": values}:
                self.assignment = values
            case {"add": _}:
                self.changes.add(messages.starts_in(message["add"]))
            case {"remove": _}:
                self.changes.remove(messages.removed_in(message))
            case {"tuning": _}:
                self.changes.tuning = messages.tuning_in(message)


def _connect(address: ChannelAddress) -> Connection:
    plain = socket.create_connection(address.place, _CONNECT_TIMEOUT_S)
    if not address.certificate:
        plain.settimeout(None)
        return plain
    context = sealed_line.client_context(address.certificate)
    sealed = SealedSocket(plain, context, server_side=False)
    sealed.shake_hands(_CONNECT_TIMEOUT_S)
    return sealed


def _send(connection: Connection, message: Message) -> bool:
    try:
        connection.sendall(encode_line(message))
    except OSError:
        return False
    return True


def _read(lines: Any) -> dict[str, Any] | None:
    """Read the next message; None when the other side is gone or this one hung up."""
    try:
        return decode_line(lines.readline(_MOST_LINE_BYTES))
    except (OSError, ValueError):  # ValueError: closed by our own side
        return None
