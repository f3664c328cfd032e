import contextlib
import json
import uuid
from datetime import UTC, date, datetime, time
from decimal import Decimal

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from jobs.cluster.schemas.errors import BadRecord, BadSchema
from tests.jobs.cluster.schemas.frames import avro, decoded, decoder_of, framed
from tests.jobs.cluster.schemas.registry_server import RegistryServer, registry_server

LOGICAL = [
    pytest.param({"type": "bytes"}, b"\x00\xff", "AP8=", id="bytes"),
    pytest.param({"type": "fixed", "name": "F", "size": 2}, b"ab", "YWI=", id="fixed"),
    pytest.param({"type": "long", "logicalType": "timestamp-millis"}, datetime(2026, 1, 2, 3, tzinfo=UTC), "2026-01-02T03:00:00+00:00", id="timestamp"),
    pytest.param({"type": "int", "logicalType": "date"}, date(2026, 1, 2), "2026-01-02", id="date"),
    pytest.param({"type": "int", "logicalType": "time-millis"}, time(3, 4, 5), "03:04:05", id="time"),
    pytest.param({"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}, Decimal("-12.50"), "-12.50", id="decimal"),
    pytest.param({"type": "string", "logicalType": "uuid"}, uuid.UUID(int=7), str(uuid.UUID(int=7)), id="uuid"),
    pytest.param("double", float("inf"), None, id="no number of JSON"),
    pytest.param({"type": "enum", "name": "E", "symbols": ["A", "B"]}, "B", "B", id="enum"),
    pytest.param({"type": "map", "values": ["null", "long"]}, {"a": None, "b": 1}, {"a": None, "b": 1}, id="map of a union"),
    pytest.param("string", "alone", "alone", id="a schema that is a name"),
]  # fmt: skip
NODE = {"type": "record", "name": "Node", "fields": [{"name": "next", "type": ["null", "Node"]}]}
TREE = {
    "type": "record",
    "name": "Tree",
    "fields": [{"name": "children", "type": {"type": "array", "items": "Tree"}}],
}
EMPTY = {"type": "record", "name": "Empty", "fields": []}
HOLDER = {"type": "record", "name": "Holder", "fields": [{"name": "empty", "type": EMPTY}]}
ENDLESS = [
    pytest.param("null", id="null"),
    pytest.param({"type": "null", "name": "x"}, id="null with a name"),
    pytest.param(EMPTY, id="record without fields"),
    pytest.param(HOLDER, id="record of a record without fields"),
    pytest.param({"type": "fixed", "name": "F", "size": 0}, id="fixed of no byte"),
]


@pytest.mark.parametrize(("schema", "value", "expected"), LOGICAL)
def test_values_are_those_of_json(server: RegistryServer, schema, value, expected):
    assert decoded(server, schema, value) == expected


def test_a_schema_may_use_types_of_other_subjects_that_use_others(server: RegistryServer):
    inner = {"type": "record", "name": "n.Inner", "fields": [{"name": "x", "type": "int"}]}
    outer = {"type": "record", "name": "n.Outer", "fields": [{"name": "i", "type": "n.Inner"}]}
    server.add(json.dumps(inner), subject="inner")
    server.add(json.dumps(outer), subject="outer", references={"n.Inner": "inner"})
    schema_id = server.add('["null", "n.Outer"]', references={"n.Outer": "outer"})
    assert decoder_of(server).decode(framed(schema_id, b"\x02\x0e")) == {"i": {"x": 7}}


def test_a_type_inside_itself_is_decoded(server: RegistryServer):
    value = {"children": [{"children": []}, {"children": [{"children": []}]}]}
    assert decoded(server, TREE, value) == value


def test_a_record_that_is_too_deep_is_a_bad_record(server: RegistryServer):
    schema_id = server.add(json.dumps(NODE))
    with pytest.raises(BadRecord, match=f"^The bytes do not fit schema {schema_id} \\(Recursion"):
        decoder_of(server).decode(framed(schema_id, b"\x02" * 1_000_000 + b"\x00"))


@pytest.mark.parametrize("items", ENDLESS)
def test_an_array_of_items_without_a_byte_is_refused_before_a_record_is_read(
    server: RegistryServer, items
):
    schema_id = server.add(json.dumps({"type": "array", "items": items}))
    two_to_the_31 = b"\x80\x80\x80\x80\x10"
    with pytest.raises(BadSchema):
        decoder_of(server).decode(framed(schema_id, two_to_the_31 + b"\x00"))


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(b"\x80\x80\x80\x80\x10", id="array longer than the record"),
        pytest.param(b"", id="no byte"),
        pytest.param(b"\x00\x00", id="bytes behind the end"),
        pytest.param(b"\xff" * 40, id="number without an end"),
    ],
)
def test_bytes_that_do_not_fit_are_a_bad_record(server: RegistryServer, body: bytes):
    schema_id = server.add('{"type": "array", "items": "string"}')
    with pytest.raises(BadRecord):
        decoder_of(server).decode(framed(schema_id, body))


def test_a_record_of_10_mb_is_decoded(server: RegistryServer):
    assert decoded(server, "string", "x" * 10_000_000) == "x" * 10_000_000


FIELDS = [
    {"name": "id", "type": "long"},
    {"name": "note", "type": ["null", "string"]},
    {"name": "tags", "type": {"type": "map", "values": "double"}},
    {"name": "steps", "type": {"type": "array", "items": {"type": "record", "name": "Step", "fields": [{"name": "done", "type": "boolean"}]}}},
    {"name": "at", "type": {"type": "long", "logicalType": "timestamp-micros"}},
    {"name": "price", "type": {"type": "bytes", "logicalType": "decimal", "precision": 20}},
    {"name": "key", "type": {"type": "string", "logicalType": "uuid"}},
]  # fmt: skip
ORDER = {"type": "record", "name": "Order", "fields": FIELDS}
PLAIN = {"type": "record", "name": "Plain", "fields": FIELDS[:4]}
VALUES = st.fixed_dictionaries(
    {
        "id": st.integers(-(2**63), 2**63 - 1),
        "note": st.none() | st.text(),
        "tags": st.dictionaries(st.text(), st.floats(allow_nan=False, allow_infinity=False)),
        "steps": st.lists(st.fixed_dictionaries({"done": st.booleans()})),
    }
)


@pytest.fixture(scope="module")
def shared():
    """A decoder of one registry for many examples, and the ids of its schemas by name."""
    with registry_server() as found:
        ids = {one["name"]: found.add(json.dumps(one)) for one in (PLAIN, ORDER, NODE, TREE)}
        yield decoder_of(found), ids


@given(VALUES)
@settings(deadline=None)
def test_what_avro_writes_is_what_is_decoded(shared, value):
    decoder, ids = shared
    assert decoder.decode(framed(ids["Plain"], avro(PLAIN, value))) == value


@given(st.sampled_from(["Plain", "Order", "Node", "Tree"]), st.binary(max_size=200))
@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_any_bytes_are_decoded_or_have_a_named_fault(shared, name, body):
    decoder, ids = shared
    with contextlib.suppress(BadRecord):
        json.dumps(decoder.decode(framed(ids[name], body)), allow_nan=False)
