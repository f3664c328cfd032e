"""Requests to chunks of bytes, and received bytes to the frames of answers. No I/O.

A frame is an INT32 size and as many bytes (the protocol guide, "Protocol Primitive Types").
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeAlias, TypeVar

import numpy as np

Chunk: TypeAlias = bytes | memoryview
_Answer = TypeVar("_Answer")
_Answer_co = TypeVar("_Answer_co", covariant=True)

_SIZE = struct.Struct(">i")
_HEADER = struct.Struct(">ihhih")
CORRELATION_ID_BYTES = 4
_SCRATCH_BYTES = 64 << 10
# Below this, copying a body costs less than one more piece for the system call that sends it.
_JOINED_BELOW = 1024


class Payload(Protocol):
    """A record batch on its way out: a header that is joined to its neighbours, a body that is not."""

    @property
    def header(self) -> bytes:
        """The first bytes."""

    @property
    def body(self) -> memoryview:
        """The bytes after the header."""

    def __len__(self) -> int: ...


class Decode(Protocol[_Answer_co]):
    """Reads an answer, header included, from a position; returns it and where it ended.

    Raises ValueError, `struct.error`, IndexError or an error of kio for bytes that are no such answer.
    """

    def __call__(self, frame: memoryview, at: int, /) -> tuple[_Answer_co, int]: ...


@dataclass(frozen=True, slots=True)
class Call(Generic[_Answer]):
    """A request ready to be sent: its body as chunks, and how its answer is read.

    `key` is Kafka's number of the request; a flexible version has tagged fields (KIP-482).
    """

    name: str
    key: int
    version: int
    is_flexible: bool
    body: Sequence[Chunk]
    decode: Decode[_Answer]


class Chunks:
    """What a message is written into: small pieces are joined, bodies of batches stay what they are."""

    __slots__ = ("_chunks", "_small")

    def __init__(self) -> None:
        self._small: list[Chunk] = []
        self._chunks: list[Chunk] = []

    def write(self, piece: bytes | Payload) -> None:
        """Append the bytes of a field, or a record batch."""
        if isinstance(piece, bytes):
            self._small.append(piece)
            return
        self._small.append(piece.header)
        if len(piece.body) < _JOINED_BELOW:
            self._small.append(piece.body)
        else:
            self._chunks += (b"".join(self._small), piece.body)
            self._small.clear()

    def taken(self) -> list[Chunk]:
        """Return the chunks in order; the first is bytes, none is empty."""
        rest = b"".join(self._small)
        return [*self._chunks, rest] if rest else self._chunks


def frame(call: Call[Any], correlation_id: int, client_id: bytes) -> list[Chunk]:
    """Return a request as chunks: size, header, body. `client_id` is UTF-8."""
    # Request header version 2 has (empty) tagged fields after version 1's, KIP-482.
    tags = b"\0" if call.is_flexible else b""
    rest = len(client_id) + len(tags) + sum(map(len, call.body))
    size = _HEADER.size - _SIZE.size + rest
    head = _HEADER.pack(size, call.key, call.version, correlation_id, len(client_id))
    first, *others = call.body or (b"",)
    return [head + client_id + tags + first, *others]


def correlation_id_of(answer: memoryview) -> int:
    """Return the correlation id with which an answer begins."""
    number: int = _SIZE.unpack_from(answer)[0]
    return number


class FrameRefused(ValueError):
    """What is received cannot be the frame of an answer."""


class FrameReader:
    """Cuts what is received into frames; a large frame is received into its own memory at once.

    Small frames are copied out of a scratch buffer. A frame larger than `largest_bytes` is refused
    (`FrameRefused`) before any memory is taken for it: a port that speaks something else announces
    hundreds of megabytes.
    """

    def __init__(self, largest_bytes: int, take: Callable[[memoryview], None]) -> None:
        self._largest_bytes = largest_bytes
        self._take = take
        self._scratch = memoryview(bytearray(_SCRATCH_BYTES))
        self._filled = 0
        self._frame: memoryview | None = None

    def space(self) -> memoryview:
        """Return where the next bytes go."""
        if self._frame is not None:
            return self._frame[self._filled :]
        return self._scratch[self._filled :]

    def received(self, count: int) -> None:
        """Take note of bytes that were put into `space()`; raises `FrameRefused`."""
        self._filled += count
        if self._frame is None:
            self._cut()
        elif self._filled == len(self._frame):
            whole, self._frame, self._filled = self._frame, None, 0
            self._take(whole.toreadonly())

    def _cut(self) -> None:
        """Take the whole frames in the scratch buffer, and begin the one that is not whole yet."""
        at, end = 0, self._filled
        self._filled = 0
        while end - at >= _SIZE.size:
            size, at = self._size(at), at + _SIZE.size
            if size > end - at:
                self._begin(size, self._scratch[at:end])
                return
            self._take(memoryview(bytes(self._scratch[at : at + size])))
            at += size
        self._filled = end - at
        self._scratch[: self._filled] = self._scratch[at:end]

    def _size(self, at: int) -> int:
        size: int = _SIZE.unpack_from(self._scratch, at)[0]
        if not CORRELATION_ID_BYTES <= size <= self._largest_bytes:
            raise FrameRefused(f"an answer of {size} bytes was announced")
        return size

    def _begin(self, size: int, received: memoryview) -> None:
        # Not zeroed first, as a bytearray would be: that alone is a tenth of a whole copy's CPU.
        self._frame = np.empty(size, np.uint8).data
        self._filled = len(received)
        self._frame[: self._filled] = received
