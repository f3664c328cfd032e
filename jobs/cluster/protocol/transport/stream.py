"""A non-blocking socket in the event loop, which copies nothing that it sends or receives.

asyncio's own transports join all chunks of a write (Python 3.11) and copy what the socket does not take
at once; for batches of hundreds of kilobytes that is a large part of the whole work.
"""

from __future__ import annotations

import asyncio
import itertools
import socket
import ssl
from collections import deque
from collections.abc import Callable, Iterable
from typing import Protocol

from jobs.cluster.protocol.transport.frames import Chunk

# Other connections get their turn after so many reads or writes of one.
_AT_ONCE = 32
_PIECES_AT_ONCE = 256  # below the IOV_MAX of every system
_TLS_PIECE_BYTES = 128 << 10
_TLS_JOINED_BELOW = 8 << 10


class Receiver(Protocol):
    """Takes what a stream receives."""

    def space(self) -> memoryview:
        """Return where the next bytes go; never empty."""

    def received(self, count: int) -> None:
        """Take note of bytes in `space()`."""

    def lost(self, error: OSError | None) -> None:
        """Take note that nothing comes any more; `error` is None when the other side closed in order."""


class Stream:
    """A connected socket: writes whole chunks in order, reads into the receiver's memory."""

    def __init__(self, connected: socket.socket, receiver: Receiver) -> None:
        self._socket = connected
        self._receiver = receiver
        self._loop = asyncio.get_running_loop()
        self._unsent: deque[Chunk] = deque()
        self._waits_to_write = False
        # TLS may have to receive before it can continue to send, and the other way round.
        self._sends_after_read = False
        self._reads_after_send = False
        self._is_closed = False
        self._loop.add_reader(connected, self._read)

    def write(self, chunks: Iterable[Chunk]) -> None:
        """Send chunks after everything that was written before; they must not change until sent."""
        self._unsent.extend(filter(len, chunks))  # an empty one would never count as sent
        if not self._waits_to_write:
            self._send_unsent()

    def close(self) -> None:
        """Close the socket at once; a second time does nothing."""
        if self._is_closed:
            return
        self._is_closed = True
        self._unsent.clear()
        self._loop.remove_reader(self._socket)
        self._loop.remove_writer(self._socket)
        self._socket.close()

    def _read(self) -> None:
        """Receive until there is nothing more for now."""
        if self._sends_after_read:
            self._sends_after_read = False
            self._loop.call_soon(self._send_unsent)
        try:
            for _ in range(_AT_ONCE):
                space = self._receiver.space()
                count = self._receive(space)
                if not count:
                    self._receiver.lost(None)
                    return
                self._receiver.received(count)
                if self._is_closed or self._is_drained(count, space):
                    return
        except (BlockingIOError, InterruptedError, ssl.SSLWantReadError):
            return
        except ssl.SSLWantWriteError:
            self._reads_after_send = True
            self._wait_to_write(wanted=True)
            return
        except OSError as error:
            self._receiver.lost(error)
            return
        self._read_again()

    def _send_unsent(self) -> None:
        """Send until the system takes no more for now."""
        if self._is_closed:
            return
        try:
            for _ in range(_AT_ONCE):
                if not self._unsent:
                    break
                self._drop_sent(self._send())
        except (BlockingIOError, InterruptedError, ssl.SSLWantWriteError):
            pass
        except ssl.SSLWantReadError:
            self._sends_after_read = True
        except OSError as error:
            self._receiver.lost(error)
            return
        self._wait_to_write(wanted=bool(self._unsent) and not self._sends_after_read)
        if self._reads_after_send:
            self._reads_after_send = False
            self._read_again()

    def _wait_to_write(self, *, wanted: bool) -> None:
        if wanted and not self._waits_to_write:
            self._loop.add_writer(self._socket, self._send_unsent)
        elif not wanted and self._waits_to_write:
            self._loop.remove_writer(self._socket)
        self._waits_to_write = wanted

    def _drop_sent(self, count: int) -> None:
        """Forget what was sent; of a chunk that was sent in part, the rest stays, uncopied."""
        while count:
            first = self._unsent.popleft()
            if count < len(first):
                self._unsent.appendleft(memoryview(first)[count:])
                return
            count -= len(first)

    def _send(self) -> int:
        """Send what the system takes; returns how many bytes."""
        return self._socket.sendmsg(itertools.islice(self._unsent, _PIECES_AT_ONCE))

    def _receive(self, space: memoryview) -> int:
        return self._socket.recv_into(space)

    def _is_drained(self, count: int, space: memoryview) -> bool:
        """Return whether a read took everything there is, so that asking again would be in vain."""
        return count < len(space)

    def _read_again(self) -> None:
        """Continue to read after others had their turn; a plain socket says by itself that it has more."""


class TlsStream(Stream):
    """The same over TLS. What OpenSSL has decrypted already is invisible to the event loop."""

    def __init__(self, connected: socket.socket, receiver: Receiver) -> None:
        super().__init__(connected, receiver)
        self._is_piece_fixed = False

    def _send(self) -> int:
        # OpenSSL wants a send that is tried again to have the same bytes.
        if not self._is_piece_fixed:
            self._unsent.appendleft(self._next_piece())
            self._is_piece_fixed = True
        count = self._socket.send(self._unsent[0])
        self._is_piece_fixed = False
        return count

    def _next_piece(self) -> Chunk:
        """Take the next piece: small chunks joined into one TLS record, large ones cut."""
        first = self._unsent.popleft()
        if len(first) > _TLS_PIECE_BYTES:
            self._unsent.appendleft(memoryview(first)[_TLS_PIECE_BYTES:])
            return memoryview(first)[:_TLS_PIECE_BYTES]
        small = [first]
        size = len(first)
        while self._unsent and size + len(self._unsent[0]) <= _TLS_JOINED_BELOW:
            small.append(self._unsent.popleft())
            size += len(small[-1])
        return first if len(small) == 1 else b"".join(small)

    def _is_drained(self, count: int, space: memoryview) -> bool:
        return False

    def _read_again(self) -> None:
        self._loop.call_soon(self._read_unless_closed)

    def _read_unless_closed(self) -> None:
        if not self._is_closed:
            self._read()


async def connect(host: str, port: int) -> socket.socket:
    """Return a socket connected to the first address of a host that takes it; raises OSError."""
    loop = asyncio.get_running_loop()
    addresses = await _addresses(loop, host, port)
    failed: OSError | None = None
    for family, kind, protocol, _, address in addresses:
        plain = socket.socket(family, kind, protocol)
        try:
            plain.settimeout(0)
            plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            plain.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            await loop.sock_connect(plain, address)
        except OSError as error:
            plain.close()
            failed = error
        except BaseException:
            plain.close()
            raise
        else:
            return plain
    raise failed or OSError(f"{host} has no address")


async def wrap(plain: socket.socket, context: ssl.SSLContext, host: str) -> ssl.SSLSocket:
    """Return the socket with TLS after the handshake; raises OSError, the socket is closed then."""
    loop = asyncio.get_running_loop()
    try:
        tls = context.wrap_socket(plain, server_hostname=host, do_handshake_on_connect=False)
    except BaseException:
        plain.close()
        raise
    try:
        while not _shakes_hands(tls):
            await _ready(tls, loop.add_reader, loop.remove_reader)
    except BaseException:
        tls.close()
        raise
    return tls


def _shakes_hands(tls: ssl.SSLSocket) -> bool:
    """Continue the handshake; returns whether it is done. Its few bytes always fit to be sent."""
    try:
        tls.do_handshake()
    except (ssl.SSLWantReadError, ssl.SSLWantWriteError):
        return False
    return True


async def _ready(
    waiting: socket.socket,
    add: Callable[[socket.socket, Callable[[], None]], object],
    remove: Callable[[socket.socket], object],
) -> None:
    turn = asyncio.Event()
    add(waiting, turn.set)
    try:
        await turn.wait()
    finally:
        remove(waiting)


async def _addresses(
    loop: asyncio.AbstractEventLoop, host: str, port: int
) -> list[tuple[int, int, int, str, tuple[object, ...]]]:
    """Look a name up; a numeric address needs no look-up, which asyncio does in a thread."""
    try:
        return _numeric(host, port)
    except socket.gaierror:
        return await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)  # type: ignore[return-value]


def _numeric(host: str, port: int) -> list[tuple[int, int, int, str, tuple[object, ...]]]:
    flags = socket.AI_NUMERICHOST | socket.AI_NUMERICSERV
    return socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=flags)  # type: ignore[return-value]
