"""Write any message of a schema table from JSON values: the way back from `jobs.wire.messages.reader`.

Raises ValueError for a field that the version does not have, and for a value that does not fit its field.
"""

from __future__ import annotations

import base64
import struct
from collections.abc import Iterable, Mapping
from typing import Any

from jobs.wire.messages.reader import is_default
from jobs.wire.messages.schema import Field, Kind, MessageSchema, plain_fields, tagged_fields
from jobs.wire.values import uuid_bytes

_LONGEST_STRING = 32767
_MORE = 0x80
_FORMS = {
    Kind.BOOL: ">?",
    Kind.INT8: ">b",
    Kind.INT16: ">h",
    Kind.UINT16: ">H",
    Kind.INT32: ">i",
    Kind.INT64: ">q",
    Kind.FLOAT64: ">d",
}


def encode_message(
    schema: MessageSchema,
    version: int,
    data: Mapping[str, Any],
    foreign_tags: Mapping[int, bytes] | None = None,
) -> bytes:
    """Return the bytes of a message; what `data` leaves out has its default. Raises ValueError.

    `foreign_tags` go into the tagged section of the message itself, as a newer writer's would.
    """
    if not schema.oldest <= version <= schema.latest:
        raise ValueError(f"{schema.name} has no version {version}")
    is_compact = version >= schema.compact_since
    return _struct(schema.fields, version, data, foreign_tags or {}, is_compact=is_compact)


def encode_uvarint(value: int) -> bytes:
    """Return an unsigned integer in its shortest form."""
    encoded = bytearray()
    while value >= _MORE:
        encoded.append(value & 0x7F | _MORE)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)


def _struct(
    fields: tuple[Field, ...],
    version: int,
    data: Mapping[str, Any],
    foreign_tags: Mapping[int, bytes],
    *,
    is_compact: bool,
) -> bytes:
    unknown = set(data) - {field.name for field in fields if field.is_in(version)}
    if unknown:
        raise ValueError(f"version {version} has no field {', '.join(sorted(unknown))}")
    parts = [
        _value(field, version, data.get(field.name, field.default), is_compact=is_compact)
        for field in plain_fields(fields, version)
    ]
    if is_compact:
        tags = dict(foreign_tags)
        for tag, field in tagged_fields(fields, version).items():
            value = data.get(field.name, field.default)
            if not is_default(field, value):
                tags[tag] = _value(field, version, value, is_compact=is_compact)
        parts.append(_tag_section(tags.items()))
    return b"".join(parts)


def _tag_section(tags: Iterable[tuple[int, bytes]]) -> bytes:
    ordered = sorted(tags)
    parts = [encode_uvarint(len(ordered))]
    for tag, content in ordered:
        parts += [encode_uvarint(tag), encode_uvarint(len(content)), content]
    return b"".join(parts)


def _value(field: Field, version: int, value: Any, *, is_compact: bool) -> bytes:
    if not field.is_array:
        return _one(field, version, value, is_compact=is_compact)
    if value is None:
        return _null(field, ">i", is_compact=is_compact)
    element = Field(field.name, field.kind, fields=field.fields)
    parts = [_one(element, version, one, is_compact=is_compact) for one in value]
    return _length(len(parts), ">i", is_compact=is_compact) + b"".join(parts)


def _one(field: Field, version: int, value: Any, *, is_compact: bool) -> bytes:
    if field.kind is Kind.STRUCT:
        return _struct(field.fields, version, value or {}, {}, is_compact=is_compact)
    if field.kind in (Kind.STRING, Kind.BYTES):
        return _text_or_bytes(field, value, is_compact=is_compact)
    if field.kind is Kind.UUID:
        return uuid_bytes(value)
    try:
        return struct.pack(_FORMS[field.kind], _number(field.kind, value))
    except (struct.error, TypeError):
        raise ValueError(f"{field.name} cannot be {value!r}") from None


def _number(kind: Kind, value: Any) -> Any:
    return float(value) if kind is Kind.FLOAT64 else value


def _text_or_bytes(field: Field, value: str | None, *, is_compact: bool) -> bytes:
    form = ">h" if field.kind is Kind.STRING else ">i"
    if value is None:
        return _null(field, form, is_compact=is_compact)
    if field.kind is Kind.BYTES:
        content = base64.b64decode(value, validate=True)
    else:
        content = value.encode("utf-8")
        if len(content) > _LONGEST_STRING:
            raise ValueError(f"{field.name} has {len(content)} bytes, more than {_LONGEST_STRING}")
    return _length(len(content), form, is_compact=is_compact) + content


def _null(field: Field, form: str, *, is_compact: bool) -> bytes:
    if not field.nullable:
        raise ValueError(f"{field.name} is never null")
    return b"\x00" if is_compact else struct.pack(form, -1)


def _length(length: int, form: str, *, is_compact: bool) -> bytes:
    return encode_uvarint(length + 1) if is_compact else struct.pack(form, length)
