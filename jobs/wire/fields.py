"""Kafka's primitive fields: big-endian integers and short strings, read with bounds checks.

Source: org.apache.kafka.common.protocol.types.Type.
"""

from __future__ import annotations

import struct

from jobs.wire.errors import RecordFormatError

_INT8 = struct.Struct(">b")
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

    @property
    def left(self) -> int:
        """How many bytes have not been read yet."""
        return len(self._content) - self._at

    def int8(self) -> int:
        return self._integer(_INT8)

    def int16(self) -> int:
        return self._integer(_INT16)

    def int32(self) -> int:
        return self._integer(_INT32)

    def int64(self) -> int:
        return self._integer(_INT64)

    def string(self) -> str:
        """Read a STRING: an INT16 length that is never negative, then UTF-8."""
        found = self.nullable_string()
        if found is None:
            raise self.error("a string has the length -1")
        return found

    def nullable_string(self) -> str | None:
        """Read a NULLABLE_STRING: the length -1 is None."""
        length = self.int16()
        if length == -1:
            return None
        if length < 0:
            raise self.error(f"a string has the length {length}")
        return self.text(length)

    def nullable_bytes(self) -> bytes:
        """Read NULLABLE_BYTES: the length -1 is read as no bytes."""
        length = self.int32()
        if length < -1:
            raise self.error(f"bytes have the length {length}")
        return self.take(max(length, 0))

    def text(self, length: int) -> str:
        """Read UTF-8 of a length in bytes."""
        if length < 0:
            raise self.error(f"a text has the length {length}")
        try:
            return self.take(length).decode("utf-8")
        except UnicodeDecodeError as error:
            raise self.error(f"a text is not UTF-8: {error.reason}") from None

    def count(self, least_bytes: int) -> int:
        """Read an INT32 that counts elements of at least so many bytes; all of them must still be there."""
        count = self.int32()
        if count < 0 or count * least_bytes > self.left:
            raise self.error(f"{count} elements are announced with {self.left} bytes left")
        return count

    def integers(self, form: str, count: int) -> tuple[int, ...]:
        """Read many integers of one form of `struct` ("i", "q")."""
        packed = struct.Struct(f">{count}{form}")
        return packed.unpack(self.take(packed.size))

    def end(self) -> None:
        """Refuse bytes behind the last field."""
        if self.left:
            raise self.error(f"{self.left} bytes are left behind the last field")

    def error(self, problem: str) -> RecordFormatError:
        """Return the error of these bytes, to be raised."""
        return RecordFormatError(self._kind, problem)

    def _integer(self, form: struct.Struct) -> int:
        value: int = form.unpack(self.take(form.size))[0]
        return value

    def take(self, size: int) -> bytes:
        """Read bytes as they are."""
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
