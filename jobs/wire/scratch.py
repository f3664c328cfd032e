"""Memory that a thread uses again and again: touching fresh pages can cost more than the work on them.

What a function here returns holds until the same thread asks for the same use again.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from io import BytesIO

# What is larger than this is rare, and given back.
_KEPT_BYTES = 16 * 1024 * 1024


class _Scratch(threading.local):
    def __init__(self) -> None:
        self.rooms: dict[str, bytearray] = {}
        self.stream = BytesIO()


_scratch = _Scratch()


def room(use: str, size_bytes: int) -> memoryview:
    """Return memory of at least that size, with whatever was left in it."""
    if size_bytes > _KEPT_BYTES:
        return memoryview(bytearray(size_bytes))
    kept = _scratch.rooms.get(use)
    if kept is None or len(kept) < size_bytes:
        # A new one instead of a longer one: somebody may still look at the old one.
        kept = _scratch.rooms[use] = bytearray(size_bytes)
    return memoryview(kept)


def joined(parts: Iterable[bytes | memoryview]) -> memoryview:
    """Return the parts one behind the other."""
    stream = _scratch.stream
    try:
        stream.seek(0)
        stream.writelines(parts)
    except BufferError:
        # An exception that is still held keeps the views of its frames alive.
        _scratch.stream = BytesIO()
        return joined(parts)
    size_bytes = stream.tell()
    if size_bytes > _KEPT_BYTES:
        _scratch.stream = BytesIO()
    return stream.getbuffer()[:size_bytes]
