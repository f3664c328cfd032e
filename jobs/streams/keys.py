"""The bytes of a key as its producer wrote them, from what a person types.

Source: the serializers of org.apache.kafka.common.serialization (integers big-endian, UUIDs as text), and the
header of Confluent's serializers: a zero byte and the schema id as INT32, before what was written.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from enum import StrEnum
from functools import partial

_INT32, _INT64 = 4, 8
_MAGIC = b"\0"
_SEVEN_BITS, _MORE = 0x7F, 0x80


class KeyFormat(StrEnum):
    """How a key is written."""

    UTF_8 = "utf-8"
    HEX = "hex"
    INT32 = "int32"
    INT64 = "int64"
    UUID = "uuid"
    CONFLUENT = "confluent"
    CONFLUENT_AVRO_STRING = "confluent-avro-string"
    CONFLUENT_JSON = "confluent-json"


class BadKey(ValueError):
    """A text that is no key of its format; the message says what is expected."""


def key_bytes(text: str, format_: KeyFormat = KeyFormat.UTF_8) -> bytes:
    """Return the bytes of a key; raises `BadKey`.

    Confluent's formats are written `SCHEMA_ID:REST`, where the rest is hex (`confluent`), the text of an
    Avro string, or JSON as it was written.
    """
    return _READERS[format_](text)


def _hex(text: str) -> bytes:
    digits = "".join(text.split()).removeprefix("0x")
    try:
        return bytes.fromhex(digits)
    except ValueError:
        raise BadKey("Enter pairs of hexadecimal digits, for example 00 0a ff.") from None


def _integer(text: str, size: int) -> bytes:
    bound = 1 << (8 * size - 1)
    try:
        return int(text.strip()).to_bytes(size, "big", signed=True)
    except (ValueError, OverflowError):
        raise BadKey(f"Enter a whole number from {-bound} to {bound - 1}.") from None


def _uuid(text: str) -> bytes:
    try:
        return str(uuid.UUID(text.strip())).encode("ascii")
    except ValueError:
        raise BadKey("Enter a UUID, for example 0f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f0.") from None


def _framed(text: str) -> tuple[bytes, str]:
    number, colon, rest = text.partition(":")
    try:
        header = _MAGIC + int(number.strip()).to_bytes(_INT32, "big")
    except (ValueError, OverflowError):
        header = b""
    if not colon or not header:
        raise BadKey("Enter the schema id, a colon and the rest, for example 42:abc.")
    return header, rest


def _confluent(text: str) -> bytes:
    header, rest = _framed(text)
    return header + _hex(rest)


def _confluent_avro_string(text: str) -> bytes:
    header, rest = _framed(text)
    written = rest.encode("utf-8")
    return header + _zigzag(len(written)) + written


def _confluent_json(text: str) -> bytes:
    header, rest = _framed(text)
    return header + rest.encode("utf-8")


def _zigzag(number: int) -> bytes:
    """Return a length that is not negative as Avro's zigzag variable-length integer."""
    left, found = number << 1, bytearray()
    while left > _SEVEN_BITS:
        found.append(left & _SEVEN_BITS | _MORE)
        left >>= 7
    found.append(left)
    return bytes(found)


_READERS: Mapping[KeyFormat, Callable[[str], bytes]] = {
    KeyFormat.UTF_8: str.encode,
    KeyFormat.HEX: _hex,
    KeyFormat.INT32: partial(_integer, size=_INT32),
    KeyFormat.INT64: partial(_integer, size=_INT64),
    KeyFormat.UUID: _uuid,
    KeyFormat.CONFLUENT: _confluent,
    KeyFormat.CONFLUENT_AVRO_STRING: _confluent_avro_string,
    KeyFormat.CONFLUENT_JSON: _confluent_json,
}
