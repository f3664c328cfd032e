"""Kafka's primitive fields: big-endian integers and short strings, read with bounds checks.

Source: org.apache.kafka.common.protocol.types.Type.
"""

from __future__ import annotations

import struct

from jobs.wire.errors import RecordFormatError

_INT16 = struct.Struct(">h")
_INT32 = struct.Struct(">i")
_INT64 = struct.Struct(">q")
LONGEST_STRING = 32767


class FieldReader:
    """Reads fields one after the other; raises `RecordFormatError` where the bytes end too early."""

    def __init__(self, kind: str, content: bytes) -> None:
        self._kind = kind
        self._content = content
        self._at = 0

    def int16(self) -> int:
        """Read an INT16."""
        return self._integer(_INT16)

    def int32(self) -> int:
        """Read an INT32."""
        return self._integer(_INT32)

    def int64(self) -> int:
        """Read an INT64."""
        return self._integer(_INT64)

    def string(self) -> str:
        """Read a STRING: an INT16 length that is never negative, then UTF-8."""
        length = self.int16()
        if length < 0:
            raise RecordFormatError(self._kind, f"a string has the length {length}")
        try:
            return self._take(length).decode("utf-8")
        except UnicodeDecodeError as error:
            raise RecordFormatError(self._kind, f"a string is not UTF-8: {error.reason}") from None

    def _integer(self, form: struct.Struct) -> int:
        value: int = form.unpack(self._take(form.size))[0]
        return value

    def _take(self, size: int) -> bytes:
        end = self._at + size
        if end > len(self._content):
            have = len(self._content) - self._at
            raise RecordFormatError(
                self._kind, f"{size} bytes are needed at byte {self._at}, {have} are left"
            )
        taken = self._content[self._at : end]
        self._at = end
        return taken


def encode_int16(value: int) -> bytes:
    """Return an INT16; raises struct.error outside its range."""
    return _INT16.pack(value)


def encode_int32(value: int) -> bytes:
    """Return an INT32; raises struct.error outside its range."""
    return _INT32.pack(value)


def encode_int64(value: int) -> bytes:
    """Return an INT64; raises struct.error outside its range."""
    return _INT64.pack(value)


def encode_string(value: str) -> bytes:
    """Return a STRING; raises ValueError when its UTF-8 is longer than 32767 bytes."""
    content = value.encode("utf-8")
    if len(content) > LONGEST_STRING:
        raise ValueError(f"a string of {len(content)} bytes is longer than {LONGEST_STRING}")
    return _INT16.pack(len(content)) + content
