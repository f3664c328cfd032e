"""Read any message of a schema table into JSON values, byte by byte with bounds.

Source: KIP-482 and the readers that Kafka's message generator makes (ByteBufferAccessor, ByteUtils). Values
are what upstream's JSON converters print: uuids as base64 text without padding, bytes as base64, tagged
fields only where they differ from their default, and "NaN" or "Infinity" for numbers that JSON lacks.
"""

from __future__ import annotations

import base64
import math
import struct
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

from jobs.wire.errors import RecordFormatError
from jobs.wire.messages.schema import Field, Kind, MessageSchema, plain_fields, tagged_fields
from jobs.wire.values import UUID_BYTES, uuid_text

Read = Callable[["MessageReader"], Any]

# In all lists and tags of one message: far above any real one. An element of 3 bytes becomes one of 200.
MOST_ELEMENTS = 1 << 17

_LONGEST_STRING = 32767
_UVARINT_BYTES = 5
_MORE = 0x80
_INT16, _INT32 = struct.Struct(">h"), struct.Struct(">i")
_FORMS = {
    Kind.BOOL: struct.Struct(">?"),
    Kind.INT8: struct.Struct(">b"),
    Kind.INT16: _INT16,
    Kind.UINT16: struct.Struct(">H"),
    Kind.INT32: _INT32,
    Kind.INT64: struct.Struct(">q"),
}
_FLOAT64 = struct.Struct(">d")


class UnknownBytes(NamedTuple):
    """Bytes that no schema here explains: a foreign tag of the struct at `path` ("" is the message itself).

    Without a `tag` they are a whole body, that of an unknown record. They may hold secrets: not for display.
    """

    path: str
    tag: int | None
    content: bytes


class MessageReader:
    """A place in bytes, and the foreign tags that were met on the way."""

    __slots__ = ("at", "content", "elements_left", "kind", "unknown")

    def __init__(self, kind: str, content: bytes, at: int = 0) -> None:
        self.kind = kind
        self.content = content
        self.at = at
        self.unknown: list[UnknownBytes] = []
        self.elements_left = MOST_ELEMENTS

    def take(self, size: int) -> bytes:
        """Return the next `size` bytes; raises `RecordFormatError` when fewer are left."""
        start = self.at
        if size > len(self.content) - start:
            left = len(self.content) - start
            raise self.problem(f"{size} bytes are needed at byte {start}, {left} are left")
        self.at = start + size
        return self.content[start : self.at]

    def uvarint(self) -> int:
        """Return an unsigned INT32; raises `RecordFormatError` where it has no end within 5 bytes."""
        start = self.at
        if start < len(self.content) and self.content[start] < _MORE:
            self.at = start + 1
            return self.content[start]
        value = 0
        for index in range(_UVARINT_BYTES):
            if self.at >= len(self.content):
                raise self.problem(f"the varint before byte {self.at} has no end")
            byte = self.content[self.at]
            self.at += 1
            value |= (byte & 0x7F) << 7 * index
            if byte < _MORE:
                return value & 0xFFFFFFFF
        raise self.problem(f"the varint before byte {self.at} is too long")

    def spend(self, elements: int) -> None:
        """Count elements that are about to be made; raises `RecordFormatError` for too many of them."""
        self.elements_left -= elements
        if self.elements_left < 0:
            raise self.problem(f"it has more than {MOST_ELEMENTS} elements at byte {self.at}")

    def problem(self, text: str) -> RecordFormatError:
        """Return the error that says what is wrong with this message."""
        return RecordFormatError(self.kind, text)


def decode_message(
    schema: MessageSchema, version: int, content: bytes, at: int = 0
) -> tuple[dict[str, Any], tuple[UnknownBytes, ...]]:
    """Return a message that fills `content` from byte `at` on, and its foreign tags.

    Raises `RecordFormatError`, also for bytes behind it. The version must be one of the schema's.
    """
    reader = MessageReader(schema.name, content, at)
    found: dict[str, Any] = _message_reader(schema, version)(reader)
    if reader.at != len(content):
        left = len(content) - reader.at
        raise reader.problem(f"{left} bytes are left behind it at byte {reader.at}")
    return found, tuple(reader.unknown)


# One entry for each version of each message; schemas are constants.
_READERS: dict[tuple[int, str, int], Read] = {}


def _message_reader(schema: MessageSchema, version: int) -> Read:
    key = (schema.number, schema.name, version)
    found = _READERS.get(key)
    if found is None:
        found = _struct_reader(schema.fields, version, is_compact=version >= schema.compact_since)
        _READERS[key] = found
    return found


def _struct_reader(fields: tuple[Field, ...], version: int, *, is_compact: bool) -> Read:
    plain = tuple(
        (field.name, _field_reader(field, version, is_compact=is_compact))
        for field in plain_fields(fields, version)
    )
    tagged = {
        tag: (field, _field_reader(field, version, is_compact=is_compact))
        for tag, field in tagged_fields(fields, version).items()
    }

    order = [field.name for field in fields if field.is_in(version)]
    by_tag = [name for name, _ in plain] + [tagged[tag][0].name for tag in sorted(tagged)]

    def read(reader: MessageReader) -> dict[str, Any]:
        found = {name: read_field(reader) for name, read_field in plain}
        if is_compact and (count := reader.uvarint()):
            found |= _read_tags(reader, count, tagged)
            if order != by_tag:
                # JSON has the fields in the order of the schema, wherever they lie in the bytes.
                return {name: found[name] for name in order if name in found}
        return found

    return read


def _read_tags(
    reader: MessageReader, count: int, tagged: dict[int, tuple[Field, Read]]
) -> dict[str, Any]:
    if 2 * count > len(reader.content) - reader.at:
        raise reader.problem(f"{count} tags do not fit into the bytes left at byte {reader.at}")
    reader.spend(count)
    found: dict[str, Any] = {}
    for _ in range(count):
        tag, size = reader.uvarint(), reader.uvarint()
        if tag not in tagged:
            reader.unknown.append(UnknownBytes("", tag, reader.take(size)))
            continue
        field, read = tagged[tag]
        start = reader.at
        found[field.name] = read(reader)
        if reader.at - start != size:
            used = reader.at - start
            raise reader.problem(f"{field.name} has {used} bytes, its tag says {size}")
        if is_default(field, found[field.name]):
            del found[field.name]
    return found


def is_default(field: Field, value: Any) -> bool:
    """Say whether a tagged field with this value is left out, of bytes and of JSON alike."""
    if field.is_array and value is not None and field.default is not None:
        return not value
    return type(value) is type(field.default) and bool(value == field.default)


def _field_reader(field: Field, version: int, *, is_compact: bool) -> Read:
    if field.is_array:
        return _array_reader(field, version, is_compact=is_compact)
    if field.kind is Kind.STRUCT:
        return _nested(field.name, _struct_reader(field.fields, version, is_compact=is_compact))
    if field.kind is Kind.STRING:
        return _string_reader(field, is_compact=is_compact)
    if field.kind is Kind.BYTES:
        return _bytes_reader(field, is_compact=is_compact)
    return _scalar_reader(field.kind)


@cache
def _scalar_reader(kind: Kind) -> Read:
    if kind is Kind.UUID:
        return lambda reader: uuid_text(reader.take(UUID_BYTES))
    if kind is Kind.FLOAT64:
        return lambda reader: json_number(_FLOAT64.unpack(reader.take(_FLOAT64.size))[0])
    form = _FORMS[kind]

    def read(reader: MessageReader) -> Any:
        return form.unpack(reader.take(form.size))[0]

    return read


def _nested(path: str, read_struct: Read) -> Read:
    def read(reader: MessageReader) -> Any:
        before = len(reader.unknown)
        found = read_struct(reader)
        for index in range(before, len(reader.unknown)):
            inner = reader.unknown[index]
            reader.unknown[index] = inner._replace(path=_join(path, inner.path))
        return found

    return read


def _join(outer: str, inner: str) -> str:
    return f"{outer}.{inner}" if inner else outer


def _array_reader(field: Field, version: int, *, is_compact: bool) -> Read:
    read_length = _length_reader(field, _INT32, is_compact=is_compact)
    element = Field(field.name, field.kind, fields=field.fields)
    read_element = _field_reader(element, version, is_compact=is_compact)
    is_struct = field.kind is Kind.STRUCT
    smallest = smallest_bytes(element, version, is_compact=is_compact)

    def read(reader: MessageReader) -> list[Any] | None:
        length = read_length(reader)
        if length is None:
            return None
        left = len(reader.content) - reader.at
        if length * smallest > left:
            raise reader.problem(f"{field.name} has {length} elements, but {left} bytes are left")
        reader.spend(length)
        if is_struct:
            return [_at_index(reader, read_element, index) for index in range(length)]
        return [read_element(reader) for _ in range(length)]

    return read


def _at_index(reader: MessageReader, read_element: Read, index: int) -> Any:
    before = len(reader.unknown)
    found = read_element(reader)
    for at in range(before, len(reader.unknown)):
        name, dot, rest = reader.unknown[at].path.partition(".")
        reader.unknown[at] = reader.unknown[at]._replace(path=f"{name}[{index}]{dot}{rest}")
    return found


def smallest_bytes(field: Field, version: int, *, is_compact: bool) -> int:
    """Return the fewest bytes that a value of this field has, which bounds how many an array can hold."""
    if field.is_array:
        return 1 if is_compact else _INT32.size
    if field.kind is Kind.STRUCT:
        inner = plain_fields(field.fields, version)
        sizes = sum(smallest_bytes(one, version, is_compact=is_compact) for one in inner)
        return sizes + (1 if is_compact else 0)
    if field.kind in (Kind.STRING, Kind.BYTES):
        return 1 if is_compact else (_INT16 if field.kind is Kind.STRING else _INT32).size
    widths = {Kind.UUID: UUID_BYTES, Kind.FLOAT64: _FLOAT64.size}
    return widths.get(field.kind) or _FORMS[field.kind].size


def _length_reader(
    field: Field, form: struct.Struct, *, is_compact: bool
) -> Callable[[MessageReader], int | None]:
    def read(reader: MessageReader) -> int | None:
        length: int = reader.uvarint() - 1 if is_compact else form.unpack(reader.take(form.size))[0]
        if length >= 0:
            return length
        if length < -1:
            raise reader.problem(f"{field.name} has the length {length}")
        if not field.nullable:
            raise reader.problem(f"{field.name} is null, which it never is")
        return None

    return read


def _string_reader(field: Field, *, is_compact: bool) -> Read:
    read_length = _length_reader(field, _INT16, is_compact=is_compact)

    def read(reader: MessageReader) -> str | None:
        length = read_length(reader)
        if length is None:
            return None
        if length > _LONGEST_STRING:
            raise reader.problem(f"{field.name} has {length} bytes, more than {_LONGEST_STRING}")
        # As Java's decoder: what is no UTF-8 becomes a replacement character.
        return reader.take(length).decode("utf-8", errors="replace")

    return read


def _bytes_reader(field: Field, *, is_compact: bool) -> Read:
    read_length = _length_reader(field, _INT32, is_compact=is_compact)

    def read(reader: MessageReader) -> str | None:
        length = read_length(reader)
        return None if length is None else base64.b64encode(reader.take(length)).decode("ascii")

    return read


def json_number(value: float) -> float | str:
    """Return a double as Jackson writes it: what JSON has no number for is a text."""
    if math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
