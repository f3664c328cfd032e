"""Records of Avro: bytes that were made to be large or deep end as a fault, not as a process without memory.

The compiled reader follows a recursive schema until the stack of the process is full, which ends the process;
such schemas are read by the one in Python. Items that take no byte are endless in a few: those are refused.
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Callable, Iterator
from graphlib import CycleError, TopologicalSorter
from io import BytesIO
from typing import Any

from jobs.cluster.schemas.client import FetchedSchema

_ROOT = "crosslog_root_"


def avro_reader(fetched: FetchedSchema) -> Callable[[bytes], Any]:
    """Return what decodes the bytes behind a frame; raises `faults` for a schema that cannot be used."""
    import orjson
    from fastavro import _read_py, parse_schema, schemaless_reader

    named: dict[str, Any] = {}
    for text in fetched.references.values():
        parse_schema(json.loads(text), named_schemas=named)
    # A record around the schema takes no byte, and lets a union or a name alone be a schema.
    field = {"name": "value", "type": json.loads(fetched.text)}
    schema = parse_schema({"type": "record", "name": _ROOT, "fields": [field]}, named_schemas=named)
    inner = {name: list(_nodes(known.get("fields"))) for name, known in named.items()}
    for one in (one for nodes in inner.values() for one in nodes):
        if isinstance(one, dict) and "items" in one and _takes_no_byte(one["items"], named):
            raise ValueError("an array has items that take no byte")
    read = schemaless_reader
    try:
        names = {k: {one for one in v if isinstance(one, str)} for k, v in inner.items()}
        TopologicalSorter(names).prepare()
    except CycleError:
        read = _read_py.schemaless_reader

    def decoded(data: bytes) -> Any:
        stream = BytesIO(data)
        value: Any = read(stream, schema, None)
        if stream.tell() != len(data):
            raise ValueError("bytes are left")
        return orjson.loads(orjson.dumps(value["value"], default=_as_text))

    return decoded


def _as_text(value: Any) -> str:
    return b64encode(value).decode() if isinstance(value, bytes) else str(value)


def _nodes(value: Any) -> Iterator[Any]:
    yield value
    for one in (
        value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    ):
        yield from _nodes(one)


def _takes_no_byte(schema: Any, named: dict[str, Any]) -> bool:
    """Return whether values of a type can be read from no byte."""
    from fastavro import _read_py

    untyped: Any = _read_py
    try:
        untyped.read_data(untyped.BinaryDecoder(BytesIO()), schema, {"writer": named, "reader": {}})
    except (EOFError, LookupError, RecursionError):
        return False
    return True
