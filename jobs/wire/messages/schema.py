"""What a message of Kafka's generated protocol is made of: fields, their kinds, versions, defaults and tags.

Source: KIP-482 and the schema language of Kafka's message generator (org.apache.kafka.message).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any

ZERO_UUID = "AAAAAAAAAAAAAAAAAAAAAA"


class Kind(Enum):
    """What a field is made of; of an array, what its elements are."""

    BOOL = "bool"
    INT8 = "int8"
    INT16 = "int16"
    UINT16 = "uint16"
    INT32 = "int32"
    INT64 = "int64"
    FLOAT64 = "float64"
    UUID = "uuid"
    STRING = "string"
    BYTES = "bytes"
    STRUCT = "struct"


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a struct, from version `since` on, to version `until` where it was taken out again.

    `name` is camelCase, as in JSON. With a `tag` the field is in the tagged section, in every version
    that has it (no schema so far tags a field later than it adds it), and its absence there means `default`.
    `default` is as in JSON: uuids as text, bytes as base64. `fields` are those of a STRUCT.
    """

    name: str
    kind: Kind
    is_array: bool = False
    since: int = 0
    nullable: bool = False
    default: Any = None
    tag: int | None = None
    fields: tuple[Field, ...] = ()
    until: int | None = None

    def is_in(self, version: int) -> bool:
        """Say whether messages of this version have the field at all."""
        return self.since <= version and (self.until is None or version <= self.until)


@dataclass(frozen=True, slots=True)
class MessageSchema:
    """A message with its versions, oldest to latest; `number` is the apiKey, of a control record its type.

    From version `compact_since` on lengths are compact and structs end with a tagged section (KIP-482).
    """

    number: int
    name: str
    type: str
    oldest: int
    latest: int
    fields: tuple[Field, ...]
    compact_since: int = 0

    def plain_fields(self, version: int) -> tuple[Field, ...]:
        """Return the fields of the body in their order, for this version."""
        return plain_fields(self.fields, version)

    def tagged_fields(self, version: int) -> dict[int, Field]:
        """Return the fields of the tagged section by tag, for this version."""
        return tagged_fields(self.fields, version)


def plain_fields(fields: tuple[Field, ...], version: int) -> tuple[Field, ...]:
    """Return those of a struct's fields that stand in its body in this version, in their order."""
    return tuple(field for field in fields if field.is_in(version) and field.tag is None)


def tagged_fields(fields: tuple[Field, ...], version: int) -> dict[int, Field]:
    """Return those of a struct's fields that stand in its tagged section in this version, by tag."""
    return {f.tag: f for f in fields if f.is_in(version) and f.tag is not None}
