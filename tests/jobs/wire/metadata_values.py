"""Random contents for every message of a schema table, and logs made of records."""

import base64
from collections.abc import Sequence
from typing import Any

from hypothesis import strategies as st

from jobs.wire.batches.records import PlacedRecord, encode_batch
from jobs.wire.messages.reader import json_number, uuid_text
from jobs.wire.messages.schema import Field, Kind, MessageSchema, plain_fields, tagged_fields
from jobs.wire.metadata.control_records import encode_control_record
from jobs.wire.metadata.records import encode_metadata_record
from jobs.wire.metadata.schema import METADATA_SCHEMAS

TIME = 1_700_000_000_000
NO_OP = encode_metadata_record("NO_OP_RECORD", 0, {})


def whole(bits: int, *, signed: bool = True) -> st.SearchStrategy[int]:
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
    return st.one_of(st.sampled_from([low, high, 0, 1, high // 2]), st.integers(low, high))


texts = st.text(st.characters(codec="utf-8"), max_size=12)
SCALARS: dict[Kind, st.SearchStrategy[Any]] = {
    Kind.BOOL: st.booleans(),
    Kind.INT8: whole(8),
    Kind.INT16: whole(16),
    Kind.UINT16: whole(16, signed=False),
    Kind.INT32: whole(32),
    Kind.INT64: whole(64),
    Kind.FLOAT64: st.floats().map(json_number),
    Kind.UUID: st.binary(min_size=16, max_size=16).map(uuid_text),
    Kind.STRING: texts,
    Kind.BYTES: st.binary(max_size=20).map(lambda content: base64.b64encode(content).decode()),
}


def values(field: Field, version: int) -> st.SearchStrategy[Any]:
    one = structs(field.fields, version) if field.kind is Kind.STRUCT else SCALARS[field.kind]
    found = st.lists(one, max_size=3) if field.is_array else one
    return st.none() | found if field.nullable else found


def structs(fields: tuple[Field, ...], version: int) -> st.SearchStrategy[dict[str, Any]]:
    """Every plain field, and any of the tagged ones; a tagged one with its default is left out."""
    plain = {field.name: values(field, version) for field in plain_fields(fields, version)}
    tagged = {
        field.name: values(field, version).filter(differs_from(field))
        for field in tagged_fields(fields, version).values()
    }
    return st.fixed_dictionaries(plain, optional=tagged)


def differs_from(field: Field):
    default = list(field.default) if isinstance(field.default, tuple) else field.default
    return lambda value: value != default or isinstance(value, bool) != isinstance(default, bool)


def every_version(schemas: Sequence[MessageSchema]) -> list[tuple[MessageSchema, int]]:
    return [(s, version) for s in schemas for version in range(s.oldest, s.latest + 1)]


@st.composite
def metadata_values(draw) -> tuple[str, int, dict[str, Any]]:
    """Type, version and fields of any metadata record."""
    schema, version = draw(st.sampled_from(every_version(METADATA_SCHEMAS)))
    return schema.type, version, draw(structs(schema.fields, version))


def data_batch(offset: int, records: Sequence[bytes], **fields: Any) -> bytes:
    """One batch of record values, as a leader appends it."""
    epoch = fields.pop("partition_leader_epoch", 7)
    placed = [PlacedRecord(offset + at, TIME, None, value) for at, value in enumerate(records)]
    return encode_batch(placed, partition_leader_epoch=epoch, **fields)


def control_batch(offset: int, *records: tuple[str, dict[str, Any]], epoch: int = 7) -> bytes:
    """One control batch."""
    placed = [
        PlacedRecord(offset + at, TIME, *encode_control_record(*record))
        for at, record in enumerate(records)
    ]
    return encode_batch(placed, partition_leader_epoch=epoch, is_control=True)


def log_of(start: int, count: int, *, each: int = 2) -> list[bytes]:
    """Batches of NoOp records, `each` of them in one."""
    return [data_batch(start + at * each, [NO_OP] * each) for at in range(count)]
