"""TLS for the line between driver and tasks, where it leaves the machine.

The driver makes a key and a certificate for each run; tasks get the certificate with their function, over
Spark's encrypted channel, and trust no other. `ssl.SSLSocket` must not be read in one thread while another
writes, and both ends of a line do just that. So encrypted bytes go through memory here: the state of the
connection is held for moments, never while the network is waited for.
"""

from __future__ import annotations

import io
import socket
import ssl
import tempfile
import threading
import time
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, BinaryIO, cast

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

_CHUNK = 65_536
# Clocks of two machines differ; a flow may run for years.
_BEFORE, _AFTER = timedelta(days=2), timedelta(days=3650)


@dataclass(frozen=True, slots=True)
class Seal:
    """The driver's certificate for one run, and its key; both PEM. The key never leaves the driver."""

    certificate: str
    _key: str

    @classmethod
    def of_a_run(cls) -> Seal:
        """Make a new one."""
        from cryptography import x509
        from cryptography.hazmat.primitives import hashes, serialization
        from cryptography.hazmat.primitives.asymmetric import ec

        key = ec.generate_private_key(ec.SECP256R1())
        name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "crosslog run")])
        now = datetime.now(UTC)
        certificate = (
            x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
            .not_valid_before(now - _BEFORE)
            .not_valid_after(now + _AFTER)
            .sign(key, hashes.SHA256())
        )
        pem = serialization.Encoding.PEM
        private = key.private_bytes(
            pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        return cls(certificate.public_bytes(pem).decode(), private.decode())

    def server_context(self) -> ssl.SSLContext:
        """Return what the driver answers with."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_3
        # Python reads keys from files only: this one is readable for us alone, and gone at once.
        with tempfile.NamedTemporaryFile("w", suffix=".pem", encoding="ascii") as file:
            file.write(self._key + self.certificate)
            file.flush()
            context.load_cert_chain(file.name)
        return context


def client_context(certificate: str) -> ssl.SSLContext:
    """Return what a task trusts: this certificate, whatever the address."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.check_hostname = False
    context.load_verify_locations(cadata=certificate)
    return context


class SealedSocket:
    """What a line needs of a socket, over TLS; one thread may read while others write.

    Raises OSError (`ssl.SSLError` is one) when the other side does not speak TLS, is another one, or is gone.
    """

    def __init__(
        self, connection: socket.socket, context: ssl.SSLContext, *, server_side: bool
    ) -> None:
        self._connection = connection
        self._received, self._to_send = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._received, self._to_send, server_side=server_side)
        self._state, self._sending = threading.Lock(), threading.Lock()

    def shake_hands(self, within_s: float) -> None:
        """Agree on keys in time, whatever the pace of the other side; raises OSError."""
        ends_at = time.monotonic() + within_s
        while True:
            try:
                self._tls.do_handshake()
                break
            except ssl.SSLWantReadError:
                self._flush()
                self.settimeout(max(ends_at - time.monotonic(), 0.001))
                if not self._receive():
                    raise ConnectionResetError("it hung up") from None
        self._flush()
        self.settimeout(None)

    def recv_into(self, buffer: WriteableBuffer) -> int:
        """Read at least a byte; 0 at the end."""
        into = memoryview(buffer)
        while True:
            with self._state:
                try:
                    return cast(int, self._tls.read(len(into), cast(bytearray, into)))
                except ssl.SSLWantReadError:
                    pass
                except (ssl.SSLZeroReturnError, ssl.SSLEOFError):
                    return 0
            if not self._receive():
                return 0

    def sendall(self, data: bytes) -> None:
        with self._sending:
            with self._state:
                self._tls.write(data)
            self._send_what_is_ready()

    def settimeout(self, seconds: float | None) -> None:
        """Say how long the network may be waited for at a time."""
        self._connection.settimeout(seconds)

    def shutdown(self, how: int) -> None:
        """Hang up; readers on both ends notice."""
        self._connection.shutdown(how)

    def close(self) -> None:
        """Give the socket back."""
        self._connection.close()

    def makefile(self, _mode: str) -> BinaryIO:
        """Return what reads whole lines from it."""
        return cast(BinaryIO, io.BufferedReader(_Reader(self)))

    def _receive(self) -> int:
        raw = self._connection.recv(_CHUNK)
        with self._state:
            self._received.write(raw)
        return len(raw)

    def _flush(self) -> None:
        with self._sending:
            self._send_what_is_ready()

    def _send_what_is_ready(self) -> None:
        with self._state:
            ready = self._to_send.read()
        if ready:
            self._connection.sendall(ready)


class _Reader(io.RawIOBase):
    """The reading half of a connection; to close it closes nothing else, as with the file of a socket."""

    def __init__(self, connection: SealedSocket) -> None:
        self._connection = connection

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        return self._connection.recv_into(buffer)


Connection = socket.socket | SealedSocket
