"""The only door for calls to other programs over HTTP (sign-in provider, webhooks, Connect).

A host is allowed by name, resolved once, every address that it resolves to is checked, and the call
goes to exactly the checked address: a name that resolves differently the next moment changes
nothing. Redirects are not followed, and size and time are bounded.
"""

from __future__ import annotations

import http.client
import ipaddress
import re
import socket
import ssl
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from urllib.parse import SplitResult, urlsplit

from django.conf import settings

from console.frame.errors import ActionRefused
from jobs.cluster.network_addresses import Network, closed_part, parse_address, tells_credentials

Resolve = Callable[[str, int], Sequence[str]]

LARGEST_ANSWER_BYTES = 1024 * 1024
_CHUNK_BYTES = 64 * 1024
_PORTS = {"http": 80, "https": 443}
_HOST, _TARGET = re.compile(r"[\w.:-]+"), re.compile(r"[!-~]*")


class OutboundRefused(ActionRefused):
    """A call that is not allowed, or whose answer is not accepted; nothing secret is in the message."""

    def __init__(self, message: str) -> None:
        super().__init__("outbound_refused", message)


class OutboundFailed(ActionRefused):
    """A call that was allowed and got no answer."""

    def __init__(self, message: str) -> None:
        super().__init__("outbound_failed", message)


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back; header names are in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


def resolve(host: str, port: int) -> list[str]:
    """Return the addresses of a host as the system knows them; raises `OSError`."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


@dataclass(frozen=True, slots=True)
class Outbound:
    """A guard: what may be called, and how long and how much it may answer.

    `hosts` are exact names, `name:port`, or `*.name` for everything below a name. Addresses that are
    not public are refused unless a network of `networks` holds them.
    """

    hosts: Collection[str]
    schemes: Collection[str] = ("https",)
    networks: Collection[Network] = ()
    timeout_s: float = 10.0
    largest_bytes: int = LARGEST_ANSWER_BYTES
    resolve: Resolve = resolve
    tls: ssl.SSLContext = field(default_factory=ssl.create_default_context)

    @classmethod
    def from_settings(cls, *more_hosts: str) -> Outbound:
        """Return the guard of OUTBOUND_*; `more_hosts` are named by another setting."""
        return cls(
            hosts=[*settings.OUTBOUND_HOSTS, *more_hosts],
            schemes=settings.OUTBOUND_SCHEMES,
            networks=[ipaddress.ip_network(text) for text in settings.OUTBOUND_NETWORKS],
            timeout_s=settings.OUTBOUND_TIMEOUT_S,
        )

    def check_name(self, url: str) -> tuple[SplitResult, str, int]:
        """Return the parsed address, host and port without resolving them; raises `OutboundRefused`."""
        parts, host, port = self._parsed(url)
        if not any(_fits(host, port, allowed) for allowed in self.hosts):
            raise OutboundRefused(
                f"OUTBOUND_HOSTS does not name {host}:{port}: crosslog may not call it."
            )
        return parts, host, port

    def check(self, url: str) -> tuple[SplitResult, str]:
        """Return the parsed address and the network address to call; raises `OutboundRefused`."""
        parts, host, port = self.check_name(url)
        try:
            addresses = self.resolve(host, port)
        except OSError as error:
            raise OutboundFailed(f"{host} cannot be resolved: {error.strerror or error}.") from None
        if not addresses:
            raise OutboundFailed(f"{host} has no address.")
        for address in addresses:
            self._check_address(host, address)
        return parts, addresses[0]

    def call(
        self,
        method: str,
        url: str,
        *,
        headers: Mapping[str, str] | None = None,
        body: bytes | None = None,
    ) -> Answer:
        """Send one request and return its answer, whatever its status.

        Raises `OutboundRefused` for what is not allowed, `OutboundFailed` when nothing answers.
        """
        parts, address = self.check(url)
        target = f"{parts.path or '/'}{'?' + parts.query if parts.query else ''}"
        deadline = time.monotonic() + self.timeout_s
        sent = {"Connection": "close", "Accept-Encoding": "identity", **(headers or {})}
        with self._connected(parts, address) as connection:
            connection.request(method, target, body, sent)
            response = connection.getresponse()
            received = self._read(response, parts, deadline)
            if connection.is_over:
                # A body without a length ends where the connection does: this one did not end by itself.
                raise TimeoutError
        return Answer(response.status, {k.lower(): v for k, v in response.getheaders()}, received)

    def _parsed(self, url: str) -> tuple[SplitResult, str, int]:
        try:
            parts = urlsplit(url)
            port = parts.port or _PORTS.get(parts.scheme, 0)
        except ValueError:
            raise OutboundRefused("This is not an address that can be called.") from None
        if parts.scheme not in self.schemes or parts.scheme not in _PORTS:
            allowed = ", ".join(self.schemes)
            raise OutboundRefused(f"{parts.scheme or 'No scheme'}: only {allowed} may be called.")
        if parts.username is not None or parts.password is not None or not parts.hostname:
            raise OutboundRefused("An address to call is a host without user and password.")
        if any(ord(letter) <= 32 or ord(letter) == 127 for letter in url):  # noqa: PLR2004  control characters and blanks
            raise OutboundRefused("An address to call holds no blanks or control characters.")
        if not _HOST.fullmatch(parts.hostname):
            raise OutboundRefused("The host of an address to call is a name or a network address.")
        if not _TARGET.fullmatch(parts.path + parts.query):
            raise OutboundRefused(
                "Path and query of an address to call are ASCII: write %C3%BC for ü."
            )
        return parts, parts.hostname.rstrip(".").lower(), port

    def _check_address(self, host: str, text: str) -> None:
        address = parse_address(text)
        if tells_credentials(address):
            raise OutboundRefused(f"{host} is {address}, an address that is never called.")
        closed = closed_part(address, self.networks)
        if closed is not None:
            shown = f"{address}" if closed == address else f"{address} with {closed} in it"
            raise OutboundRefused(
                f"{host} is {shown}, which is not public. OUTBOUND_NETWORKS can allow it."
            )

    @contextmanager
    def _connected(self, parts: SplitResult, address: str) -> Iterator[_Pinned]:
        host, port = str(parts.hostname), parts.port or _PORTS[parts.scheme]
        connection = _Pinned(host, port, address, self.timeout_s)
        connection.tls = self.tls if parts.scheme == "https" else None
        # A timeout for each read would never end a server that sends single bytes.
        watch = threading.Timer(self.timeout_s, connection.end)
        watch.daemon = True
        watch.start()
        try:
            yield connection
        except (OSError, http.client.HTTPException) as error:
            why = TimeoutError() if connection.is_over else error
            raise OutboundFailed(f"{host}:{port} did not answer: {_told(why)}.") from None
        finally:
            watch.cancel()
            connection.close()

    def _read(
        self,
        response: http.client.HTTPResponse,
        parts: SplitResult,
        deadline: float,
    ) -> bytes:
        """Read the body, bounded in size and in time."""
        received = bytearray()
        while True:
            if time.monotonic() >= deadline:
                raise OutboundFailed(f"{parts.hostname} took longer than {self.timeout_s:.0f} s.")
            chunk = response.read1(_CHUNK_BYTES)
            if not chunk:
                return bytes(received)
            received += chunk
            if len(received) > self.largest_bytes:
                raise OutboundRefused(
                    f"{parts.hostname} answered more than {self.largest_bytes} bytes."
                )


class _Pinned(http.client.HTTPConnection):
    """A connection to one network address, with the host's name in the request and in TLS."""

    tls: ssl.SSLContext | None = None

    def __init__(self, host: str, port: int, address: str, timeout_s: float) -> None:
        super().__init__(host, port, timeout=timeout_s)
        self._address = address
        self.is_over = False
        # The client library forgets the socket as soon as it knows that the answer is the last one.
        self._held: socket.socket | None = None

    def connect(self) -> None:
        """Connect to the checked address; the certificate must be the host's."""
        self.sock = self._held = socket.create_connection((self._address, self.port), self.timeout)
        if self.tls is not None:
            self.sock = self._held = self.tls.wrap_socket(
                self.sock, server_hostname=self.host, do_handshake_on_connect=False
            )
            self.sock.do_handshake()
        if self.is_over:
            raise TimeoutError

    def end(self) -> None:
        """End what is under way, from another thread: its next read finds the end."""
        self.is_over = True
        if self._held is not None:
            with suppress(OSError):
                # Not the method of TLS, which forgets its state first, under the hands of the reader.
                socket.socket.shutdown(self._held, socket.SHUT_RDWR)


def _fits(host: str, port: int, allowed: str) -> bool:
    name, colon, wanted = allowed.lower().rpartition(":")
    if not colon or not wanted.isdecimal():
        name, wanted = allowed.lower(), ""
    if wanted and int(wanted) != port:
        return False
    return host.endswith(name[1:]) if name.startswith("*.") else host == name.strip("[]")


def _told(error: Exception) -> str:
    if isinstance(error, TimeoutError):
        return "no answer in time"
    if isinstance(error, ssl.SSLError):
        return f"TLS failed ({error.reason or error})"
    return str(getattr(error, "strerror", None) or type(error).__name__)
