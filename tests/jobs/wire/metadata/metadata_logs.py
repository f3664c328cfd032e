"""Metadata logs made up by hypothesis: every record type and version, foreign tags, compression, damage."""

import base64
from typing import Any

from hypothesis import strategies as st

from jobs.wire.batches.record_batch import Codec
from jobs.wire.batches.records import PlacedRecord, encode_batch
from jobs.wire.messages.schema import Field, Kind
from jobs.wire.metadata.records import encode_metadata_record
from jobs.wire.metadata.schema import SCHEMA_BY_TYPE

BULK = ["PARTITION_RECORD", "PARTITION_CHANGE_RECORD"]
TEXT = st.text(st.characters(codec="utf-8"), max_size=4)
NUMBERS = {
    Kind.BOOL: st.booleans(),
    Kind.INT8: st.integers(-2, 3),
    Kind.INT16: st.integers(-3, 300),
    Kind.UINT16: st.integers(0, 2**16 - 1),
    Kind.INT32: st.integers(-2, 9) | st.integers(-(2**31), 2**31 - 1),
    Kind.INT64: st.integers(-1, 9) | st.integers(-(2**63), 2**63 - 1),
    Kind.FLOAT64: st.floats(0, 9),
    Kind.STRING: TEXT,
    Kind.BYTES: st.binary(max_size=4).map(lambda content: base64.b64encode(content).decode()),
    Kind.UUID: st.binary(min_size=16, max_size=16).map(
        lambda content: base64.urlsafe_b64encode(content).decode().rstrip("=")
    ),
}


def one_value(field: Field, version: int) -> st.SearchStrategy[Any]:
    if field.kind is Kind.STRUCT:
        return st.fixed_dictionaries(
            {inner.name: a_value(inner, version) for inner in field.fields if inner.is_in(version)}
        )
    return NUMBERS[field.kind]


def a_value(field: Field, version: int) -> st.SearchStrategy[Any]:
    found = one_value(field, version)
    if field.is_array:
        found = st.lists(found, max_size=3)
    return st.none() | found if field.nullable else found


@st.composite
def values(draw: st.DrawFn) -> bytes:
    """One record value, now and then with a foreign tag, a few bytes changed, or nothing of a record."""
    schema = SCHEMA_BY_TYPE[draw(st.sampled_from(BULK) | st.sampled_from(sorted(SCHEMA_BY_TYPE)))]
    version = draw(st.integers(schema.oldest, schema.latest))
    told, tagged = {}, {}
    for field in schema.fields:
        if field.is_in(version):
            (told if field.tag is None else tagged)[field.name] = a_value(field, version)
    data = draw(st.fixed_dictionaries(told, optional=tagged))
    foreign = draw(st.dictionaries(st.integers(9, 200), st.binary(max_size=3), max_size=2))
    value = bytearray(encode_metadata_record(schema.type, version, data, foreign))
    for place in draw(
        st.lists(st.integers(0, 2**16), max_size=2) if draw(st.booleans()) else st.just([])
    ):
        value[place % len(value)] = draw(st.integers(0, 255))
    return bytes(value) if draw(st.integers(0, 9)) else bytes(value[: draw(st.integers(0, 9))])


VALUES = values() | st.binary(max_size=6)
CONTROL = st.tuples(
    st.binary(max_size=3)
    | st.integers(-1, 9).map(lambda kind: b"\0\0" + kind.to_bytes(2, "big", signed=True)),
    st.none() | st.binary(max_size=12),
)


@st.composite
def batches(draw: st.DrawFn, offset: int) -> tuple[bytes, int]:
    is_control = draw(st.integers(0, 7)) == 0
    contents = (
        draw(st.lists(CONTROL, max_size=3))
        if is_control
        else [(None, value) for value in draw(st.lists(VALUES, max_size=5))]
    )
    records = [
        PlacedRecord(offset + index, draw(st.integers(0, 9)), key, value)
        for index, (key, value) in enumerate(contents)
    ]
    codec = draw(st.sampled_from([Codec.NONE] * 4 + [Codec.LZ4, Codec.ZSTD]))
    made = encode_batch(
        records,
        codec=codec,
        base_offset=offset,
        last_offset=offset + max(len(records) - 1, 0),
        partition_leader_epoch=draw(st.integers(0, 3)),
        is_control=is_control,
    )
    return made, offset + max(len(records), 1)


@st.composite
def logs(draw: st.DrawFn) -> bytes:
    """A log whose offsets begin anywhere and may have a gap."""
    offset, parts = draw(st.integers(0, 300)), []
    for _ in range(draw(st.integers(0, 5))):
        made, offset = draw(batches(offset))
        offset += draw(st.sampled_from([0] * 8 + [1, 5]))
        parts.append(made)
    return b"".join(parts)


@st.composite
def damaged_logs(draw: st.DrawFn) -> bytes:
    """A log with flipped bits, cut off, or with zeros behind it."""
    log = bytearray(draw(logs()))
    for place in draw(st.lists(st.integers(0, 2**16), max_size=3)):
        if log:
            log[place % len(log)] ^= 1 << draw(st.integers(0, 7))
    if draw(st.booleans()):
        del log[draw(st.integers(0, len(log))) :]
    return bytes(log) + bytes(draw(st.sampled_from([0] * 5 + [7, 80])))
