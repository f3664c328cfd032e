"""Find the next sound batch behind bytes that are none, with an effort that has a bound.

Hostile files can hold any number of headers with a wrong CRC; so the bytes that are looked at and summed up
are counted for a whole scan, and when they are used up the search gives up.
"""

from __future__ import annotations

from typing import Protocol

from jobs.wire.batches.record_batch import (
    HEADER_BYTES,
    MAGIC,
    BatchHeader,
    has_possible_offsets,
    has_valid_crc,
)

_MAGIC = bytes((MAGIC,))
_MAGIC_AT = 16
_WINDOW_BYTES = 1 << 20
_MOST_CANDIDATES = 500_000
_MOST_SUMMED_BYTES = 1 << 30
_KNOWN_ATTRIBUTES = 0x7F
_LAST_CODEC = 4


class ByteSource(Protocol):
    """A file whose size does not change while it is read."""

    @property
    def size_bytes(self) -> int:
        """Bytes in all."""

    def read(self, position: int, size: int) -> memoryview:
        """Return bytes from a position on, fewer only where the source ends."""


def is_plausible(start: bytes | memoryview, expected_offset: int | None) -> bool:
    """Say whether bytes may be the header of a batch at or behind an offset; the CRC is not looked at."""
    if len(start) < HEADER_BYTES:
        return False
    header = BatchHeader.decode(start)
    return (
        header.magic == MAGIC
        and header.size_bytes >= HEADER_BYTES
        and header.base_offset >= (expected_offset or 0)
        and has_possible_offsets(header)
        and header.record_count >= 0
        and 0 <= header.attributes <= _KNOWN_ATTRIBUTES
        and header.attributes & 0x07 <= _LAST_CODEC
    )


class BatchSearch:
    """A search through one source; what it may spend is spent over all its calls."""

    def __init__(self, source: ByteSource, largest_bytes: int) -> None:
        self._source = source
        self._largest_bytes = largest_bytes
        self._candidates_left = _MOST_CANDIDATES
        self._bytes_left = _MOST_SUMMED_BYTES

    def next_batch(self, at: int, expected_offset: int | None) -> int | None:
        """Return where the next batch with a valid CRC begins, None where none is found."""
        while at + HEADER_BYTES <= self._source.size_bytes:
            window = bytes(self._source.read(at, _WINDOW_BYTES))
            found = self._in_window(window, at, expected_offset)
            # A short window is a file that was cut meanwhile.
            if found is not None or self._is_used_up() or len(window) < HEADER_BYTES:
                return found
            at += len(window) - HEADER_BYTES + 1
        return None

    def _in_window(self, window: bytes, at: int, expected_offset: int | None) -> int | None:
        index = window.find(_MAGIC, _MAGIC_AT)
        while index != -1 and not self._is_used_up():
            start = index - _MAGIC_AT
            self._candidates_left -= 1
            header = window[start : start + HEADER_BYTES]
            if is_plausible(header, expected_offset) and self._is_sound(header, at + start):
                return at + start
            index = window.find(_MAGIC, index + 1)
        return None

    def _is_sound(self, start: bytes, at: int) -> bool:
        size = BatchHeader.decode(start).size_bytes
        if size > self._largest_bytes or at + size > self._source.size_bytes:
            return False
        self._bytes_left -= size
        return has_valid_crc(self._source.read(at, size))

    def _is_used_up(self) -> bool:
        return self._candidates_left <= 0 or self._bytes_left <= 0
