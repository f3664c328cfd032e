"""Records of Avro: bytes that were made to be large or deep end as a fault, not as a process without memory.

The compiled reader follows a recursive schema until the stack of the process is full, which ends the process;
such schemas are read by the one in Python. Items that take no byte are endless in a few: those are refused.
"""

from __future__ import annotations

import json
import struct
from base64 import b64encode
from collections.abc import Callable
from datetime import date, time
from decimal import Decimal
from io import BytesIO
from math import isfinite
from typing import Any
from uuid import UUID

from jobs.cluster.schemas.client import FetchedSchema

# What bytes that do not fit a schema raise; RecursionError is a record that is too deep.
RECORD_FAULTS = (
    ArithmeticError, EOFError, LookupError, MemoryError, RecursionError, TypeError, ValueError, struct.error
)  # fmt: skip
_ROOT = "crosslog_root_"
_NAMED = {"record", "error", "enum", "fixed"}


def avro_reader(fetched: FetchedSchema) -> Callable[[bytes], Any]:
    """Return what decodes the bytes behind a frame; raises what `RECORD_FAULTS` says, a schema error too."""
    from fastavro import _read_py, parse_schema, schemaless_reader

    named: dict[str, Any] = {}
    for text in fetched.references.values():
        parse_schema(json.loads(text), named_schemas=named)
    # A record around the schema takes no byte, and lets a union or a name alone be a schema.
    field = {"name": "value", "type": json.loads(fetched.text)}
    root = {"type": "record", "name": _ROOT, "fields": [field]}
    schema = parse_schema(root, named_schemas=named)
    shape = _Shape(named)
    shape.is_weightless(_ROOT)
    if any(shape.is_weightless(one) for one in tuple(shape.items)):
        raise ValueError("an array has items that take no byte")
    read = _read_py.schemaless_reader if shape.is_recursive else schemaless_reader

    def decoded(data: bytes) -> Any:
        stream = BytesIO(data)
        value: Any = read(stream, schema, None)
        if stream.tell() != len(data):
            raise ValueError("bytes are left")
        return as_json(value["value"])

    return decoded


def as_json(value: Any) -> Any:
    """Return a value as JSON has it: bytes as base64, times as ISO text, NaN and decimals as text."""
    if isinstance(value, dict):
        return {key: as_json(one) for key, one in value.items()}
    if isinstance(value, list):
        return [as_json(one) for one in value]
    if isinstance(value, bytes):
        return b64encode(value).decode()
    if isinstance(value, date | time):
        return value.isoformat()
    is_text = isinstance(value, Decimal | UUID) or (
        isinstance(value, float) and not isfinite(value)
    )
    return str(value) if is_text else value


class _Shape:
    """What a schema with its names allows: types inside themselves, and the types of items of arrays."""

    def __init__(self, named: dict[str, Any]) -> None:
        self._named = named
        self._weightless: dict[str, bool] = {}
        self._open: set[str] = set()
        self.items: list[Any] = []
        self.is_recursive = False

    def is_weightless(self, schema: Any) -> bool:
        """Return whether values of a type take no byte."""
        if isinstance(schema, list):
            for one in schema:
                self.is_weightless(one)
            return False
        if isinstance(schema, str):
            return self._is_named_weightless(schema) if schema in self._named else schema == "null"
        if schema["type"] in {"array", "map"}:
            inner = schema.get("items", schema.get("values"))
            if schema["type"] == "array":
                self.items.append(inner)
            self.is_weightless(inner)
            return False
        return self.is_weightless(schema["name" if schema["type"] in _NAMED else "type"])

    def _is_named_weightless(self, name: str) -> bool:
        if name in self._open:
            self.is_recursive = True
        elif name not in self._weightless:
            self._open.add(name)
            known = self._named[name]
            inner = [self.is_weightless(one["type"]) for one in known.get("fields", ())]
            self._weightless[name] = all(inner) if "fields" in known else known.get("size") == 0
            self._open.discard(name)
        return self._weightless.get(name, True)
