"""Why a value could not be decoded: each reason is its own class, and no message has content of a record."""

from __future__ import annotations

import struct
from functools import cache


class SchemaFault(Exception):
    """A value was not decoded; `code` is stable and machine-readable."""

    code = "schema_fault"


class BadFrame(SchemaFault):
    """The bytes do not begin with the zero, the schema id and the message indexes of a registry's client."""

    code = "bad_frame"


class SchemaGone(SchemaFault):
    """The registry has no schema with this id, or one that it refers to is gone."""

    code = "schema_gone"


class BadSchema(SchemaFault):
    """The registry has the schema, and it cannot be used; no record with this id can be decoded."""

    code = "bad_schema"


class BadRecord(SchemaFault):
    """The frame is right, and the bytes behind it do not fit the schema."""

    code = "bad_record"


class RegistryUnreachable(SchemaFault):
    """The registry gave no usable answer: whether the schema exists is unknown."""

    code = "registry_unreachable"


@cache
def faults() -> tuple[type[Exception], ...]:
    """Return what libraries raise for no answer, a wrong schema or wrong bytes (too deep: RecursionError)."""
    import httpx
    from fastavro.schema import SchemaParseException, UnknownType
    from google.protobuf import json_format, message

    return (
        ArithmeticError, AttributeError, EOFError, ImportError, LookupError, MemoryError, RecursionError,
        TypeError, ValueError, struct.error, SchemaParseException, UnknownType, json_format.Error,
        message.Error, httpx.HTTPError, httpx.InvalidURL,
    )  # fmt: skip
