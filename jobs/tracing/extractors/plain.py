"""What an extractor finds in one record: for pages, for single reads, and as the oracle of `columns`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import orjson

from jobs.tracing.extractors.extractor import Extractor
from jobs.tracing.extractors.fields import Field, Place
from jobs.tracing.extractors.forms import BadValue, Value, checked_ms, moment_ms
from jobs.tracing.extractors.roles import ROLES, RoleType

# Gets bytes that begin with byte 0 and returns the JSON value that a schema says they are; raises `BadValue`.
Decode = Callable[[bytes], Any]
NOT_JSON = "It is no JSON."
NOT_A_NUMBER = "It is no whole number."
# Of a number role: what is beyond is not exact in JSON, and sums of it leave 64 bits.
MOST = 2**53
TOO_LARGE = "It is a number beyond 2^53."
_ATTRIBUTES = {Place.TIMESTAMP: "timestamp_ms"}


class PlainRecord(NamedTuple):
    """A record; `timestamp_ms` None: it has none."""

    topic: str
    partition: int
    offset: int
    timestamp_ms: int | None
    key: bytes | None
    value: bytes | None
    headers: Sequence[tuple[str, bytes | None]]


@dataclass(slots=True)
class Extracted:
    """What was found: values by role, those absent left out, and sentences by role about what is wrong."""

    values: dict[str, Value] = field(default_factory=dict)
    problems: dict[str, str] = field(default_factory=dict)


def extract(extractor: Extractor, record: PlainRecord, decode: Decode | None = None) -> Extracted:
    """Return what an extractor finds in a record; `decode`: see `document_of`."""
    found = Extracted()
    documents: dict[Place, Any] = {}
    for role, fields in extractor.fields.items():
        for one in fields:
            try:
                value = in_role(role, _read(one, record, documents, decode, role))
            except BadValue as problem:
                found.problems.setdefault(role, str(problem))
                continue
            if value is not None:
                found.values[role] = value
                found.problems.pop(role, None)
                break
    return found


def in_role(role: str, value: Value) -> Value:
    """Return a value as its role has it: a list of one for a text, the first of a list; raises `BadValue`."""
    type_ = ROLES[role].type
    if value is None:
        return None
    if type_ is RoleType.LIST:
        return value if isinstance(value, list) else [str(value)]
    first = (value[0] if value else None) if isinstance(value, list) else value
    if first is None or (type_ is RoleType.TEXT and first == ""):
        return None
    if type_ is RoleType.TEXT:
        return str(first)
    if isinstance(first, str):
        raise BadValue(NOT_A_NUMBER)
    if type_ is RoleType.TIME:
        checked_ms(first)
    elif abs(first) > MOST:
        raise BadValue(TOO_LARGE)
    return first


def read_form(one: Field, role: str, raw: Any) -> Value:
    """Return bytes or a JSON value as a field reads it: for numbers and times without a form, as such."""
    if one.form == "text" and raw is not None:
        if ROLES[role].type is RoleType.TIME:
            return moment_ms(raw)
        if ROLES[role].type is RoleType.NUMBER:
            return Field(one.place, form="int").read(raw)
    return one.read(raw)


def document_of(content: bytes | memoryview, decode: Decode | None = None) -> Any:
    """Return the value of JSON, or of bytes that `decode` knows the schema of; raises `BadValue`."""
    if decode is not None and content[:1] == b"\0":
        return decode(bytes(content))
    try:
        return orjson.loads(content)
    except orjson.JSONDecodeError:
        raise BadValue(NOT_JSON) from None


def _read(
    one: Field,
    record: PlainRecord,
    documents: dict[Place, Any],
    decode: Decode | None,
    role: str,
) -> Value:
    raw = _raw(one, record)
    if one.pointer is not None and raw is not None:
        if one.place is Place.HEADER:
            raw = one.pick(document_of(raw, decode))
        else:
            if one.place not in documents:
                documents[one.place] = document_of(raw, decode)
            raw = one.pick(documents[one.place])
    return read_form(one, role, raw)


def _raw(one: Field, record: PlainRecord) -> Any:
    """Return what is at a place: bytes, or a number or text that is no content."""
    if one.place is Place.HEADER:
        return next((value for name, value in reversed(record.headers) if name == one.name), None)
    if one.place is Place.CONST:
        return one.name
    return getattr(record, _ATTRIBUTES.get(one.place, one.place.value))
