import contextlib
from base64 import b64encode

import pytest
from google.protobuf.descriptor_pb2 import FieldDescriptorProto, FileDescriptorProto
from hypothesis import given, settings
from hypothesis import strategies as st

from jobs.cluster.schemas.errors import BadFrame, BadRecord, BadSchema
from tests.jobs.cluster.schemas.frames import decoder_of, framed
from tests.jobs.cluster.schemas.registry_server import RegistryServer, registry_server

NUMBER, TEXT, BYTES, MESSAGE = (
    FieldDescriptorProto.TYPE_INT64,
    FieldDescriptorProto.TYPE_STRING,
    FieldDescriptorProto.TYPE_BYTES,
    FieldDescriptorProto.TYPE_MESSAGE,
)


def file_of(package: str, dependencies: tuple[str, ...] = ()) -> FileDescriptorProto:
    return FileDescriptorProto(
        name="default", package=package, syntax="proto3", dependency=dependencies
    )


def add_field(message, name: str, number: int, kind: int, type_name: str = "") -> None:
    message.field.add(name=name, number=number, type=kind, type_name=type_name or None, label=1)


def register(server: RegistryServer, file: FileDescriptorProto, **more) -> int:
    text = b64encode(file.SerializeToString()).decode()
    return server.add("message ... in its own language", "PROTOBUF", serialized=text, **more)


def order_schema(server: RegistryServer) -> int:
    """Register `First`, and `Order` with a message inside it that refers to another subject."""
    used = file_of("n")
    add_field(used.message_type.add(name="Item"), "code", 1, TEXT)
    register(server, used, subject="items")
    main = file_of("n", ("n/item.proto", "google/protobuf/timestamp.proto", "confluent/meta.proto"))
    add_field(main.message_type.add(name="First"), "first_number", 1, NUMBER)
    order = main.message_type.add(name="Order")
    inside = order.nested_type.add(name="Part")
    add_field(inside, "item", 1, MESSAGE, ".n.Item")
    add_field(inside, "at", 2, MESSAGE, ".google.protobuf.Timestamp")
    add_field(inside, "raw", 3, BYTES)
    add_field(order, "again", 4, MESSAGE, ".n.Order")
    return register(server, main, references={"n/item.proto": "items"})


ITEM = b"\x0a\x03\x0a\x01a" + b"\x12\x02\x08\x07" + b"\x1a\x01\xff"
PART = {"item": {"code": "a"}, "at": "1970-01-01T00:00:07Z", "raw": "/w=="}


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        pytest.param(b"\x00\x08\x05", {"first_number": "5"}, id="no index is the first message"),
        pytest.param(b"\x02\x00\x08\x05", {"first_number": "5"}, id="index 0"),
        pytest.param(b"\x00", {"first_number": "0"}, id="a field without presence has its default"),
        pytest.param(b"\x02\x02", {}, id="second message"),
        pytest.param(b"\x04\x02\x00" + ITEM, PART, id="message inside the second"),
    ],
)
def test_the_indexes_name_the_message(server: RegistryServer, body: bytes, expected):
    assert decoder_of(server).decode(framed(order_schema(server), body)) == expected


@pytest.mark.parametrize(
    ("body", "fault"),
    [
        pytest.param(b"", BadFrame, id="no indexes"),
        pytest.param(b"\x02", BadFrame, id="fewer indexes than counted"),
        pytest.param(b"\x80\x80\x80\x80\x80\x80\x01", BadFrame, id="number without an end"),
        pytest.param(b"\xfe\xff\x03", BadFrame, id="more indexes than a frame has"),
        pytest.param(b"\x01", BadFrame, id="count below zero"),
        pytest.param(b"\x02\x08", BadRecord, id="index of no message"),
        pytest.param(b"\x02\x01", BadFrame, id="index below zero"),
        pytest.param(b"\x00\x08", BadRecord, id="truncated message"),
        pytest.param(b"\x02\x02" + b"\x23" * 1000, BadRecord, id="groups without an end"),
        pytest.param(b"\x04\x02\x00\x12\x0a\x08" + b"\xff" * 8 + b"\x7f", BadRecord, id="time after all times"),
    ],
)  # fmt: skip
def test_what_does_not_fit_has_a_named_fault(server: RegistryServer, body: bytes, fault):
    schema_id = order_schema(server)
    with pytest.raises(fault):
        decoder_of(server).decode(framed(schema_id, body))


@pytest.mark.parametrize(
    "serialized",
    [
        pytest.param('syntax = "proto3";', id="the language instead of the serialized form"),
        pytest.param("AAAA", id="no file descriptor"),
        pytest.param(
            b64encode(file_of("n", ("elsewhere.proto",)).SerializeToString()).decode(),
            id="a file that is no reference",
        ),
    ],
)
def test_a_schema_that_cannot_be_read_is_a_bad_schema_once(server: RegistryServer, serialized: str):
    schema_id = server.add("...", "PROTOBUF", serialized=serialized)
    decoder = decoder_of(server)
    for _ in range(3):
        with pytest.raises(BadSchema, match=f"^Schema {schema_id} cannot be used"):
            decoder.decode(framed(schema_id, b"\x00"))
    assert server.requests == [
        f"/schemas/ids/{schema_id}",
        f"/schemas/ids/{schema_id}?format=serialized",
    ]


@pytest.fixture(scope="module")
def shared():
    with registry_server() as found:
        schema_id = order_schema(found)
        yield decoder_of(found), schema_id


@given(st.binary(max_size=200))
@settings(deadline=None)
def test_any_bytes_are_decoded_or_have_a_named_fault(shared, body):
    decoder, schema_id = shared
    with contextlib.suppress(BadFrame, BadRecord):
        assert isinstance(decoder.decode(framed(schema_id, body)), dict)
