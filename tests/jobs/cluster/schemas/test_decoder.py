import contextlib
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jobs.cluster.schemas import client
from jobs.cluster.schemas.decoder import SchemaDecoder
from jobs.cluster.schemas.errors import (
    BadFrame,
    BadRecord,
    BadSchema,
    RegistryUnreachable,
    SchemaFault,
    SchemaGone,
)
from jobs.cluster.schemas.named import SchemaRegistry
from tests.jobs.cluster.schemas.frames import decoder_of, framed
from tests.jobs.cluster.schemas.registry_server import (
    PASSWORD,
    USER,
    RegistryServer,
    registry_server,
)


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def fault_of(decoder: SchemaDecoder, schema_id: int) -> SchemaFault:
    with pytest.raises(SchemaFault) as caught:
        decoder.decode(framed(schema_id, b"\x00"))
    return caught.value


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"", id="no byte"),
        pytest.param(b'{"id": 1}', id="plain JSON"),
        pytest.param(b"\x00\x00\x00\x01", id="truncated id"),
        pytest.param(b"\x01\x00\x00\x00\x01", id="another first byte"),
    ],
)
def test_bytes_without_a_frame_are_a_bad_frame_and_no_request(server: RegistryServer, data: bytes):
    with pytest.raises(BadFrame):
        decoder_of(server).decode(data)
    assert server.requests == []


def test_json_stands_behind_the_frame_as_it_is(server: RegistryServer):
    schema_id = server.add('{"type": "object"}', "JSON")
    assert decoder_of(server).decode(framed(schema_id, b'{"a": [1, null]}')) == {"a": [1, None]}


@pytest.mark.parametrize(
    "body", [pytest.param(b"{", id="broken"), pytest.param(b"[" * 100_000, id="too deep")]
)
def test_json_that_is_wrong_is_a_bad_record(server: RegistryServer, body: bytes):
    schema_id = server.add("{}", "JSON")
    with pytest.raises(BadRecord):
        decoder_of(server).decode(framed(schema_id, body))


def test_a_schema_is_requested_once(server: RegistryServer):
    schema_id = server.add('"long"')
    decoder = decoder_of(server)
    assert [decoder.decode(framed(schema_id, bytes([one]))) for one in (2, 4, 6)] == [1, 2, 3]
    assert server.requests == [f"/schemas/ids/{schema_id}"]


def test_an_id_that_is_gone_is_requested_once(server: RegistryServer):
    decoder = decoder_of(server)
    faults = [fault_of(decoder, 77) for _ in range(3)]
    assert {(type(one), str(one)) for one in faults} == {
        (SchemaGone, "Schema 77 is gone: main does not know its id.")
    }
    assert len(server.requests) == 1


def test_a_reference_that_is_gone_is_said(server: RegistryServer):
    schema_id = server.add('"n.Other"', references={"n.Other": "elsewhere"})
    assert str(fault_of(decoder_of(server), schema_id)) == (
        f"Schema {schema_id} is gone: main does not know what it refers to."
    )


def test_bytes_that_look_like_many_ids_do_not_become_as_many_requests(server: RegistryServer):
    decoder = decoder_of(server)
    faults = [fault_of(decoder, 1000 + place) for place in range(client.MOST_GONE + 20)]
    assert [one.code for one in faults[-21:]] == ["schema_gone", *["registry_unreachable"] * 20]
    assert len(server.requests) == client.MOST_GONE


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        pytest.param("AVRO", "{", id="broken JSON"),
        pytest.param("AVRO", '"n.Unknown"', id="unknown type"),
        pytest.param("AVRO", '{"type": "record"}', id="record without a name"),
        pytest.param("AVRO", "[" * 100_000, id="too deep"),
        pytest.param("THRIFT", "struct", id="unknown kind"),
    ],
)
def test_a_schema_that_cannot_be_used_is_a_bad_schema(server: RegistryServer, kind, text):
    assert isinstance(fault_of(decoder_of(server), server.add(text, kind)), BadSchema)


@pytest.mark.parametrize(
    ("status", "body", "said"),
    [
        pytest.param(500, b'{"error_code": 50001, "message": "hidden"}', "HTTP 500", id="error"),
        pytest.param(404, b"<html>", "HTTP 404", id="another server"),
        pytest.param(200, b"<html>", "JSONDecodeError", id="a page"),
        pytest.param(200, b"[]", "TypeError", id="another JSON"),
    ],
)
def test_another_answer_says_nothing_about_the_schema(server: RegistryServer, status, body, said):
    schema_id = server.add('"long"')
    server.faults[schema_id] = status, body
    fault = fault_of(decoder_of(server), schema_id)
    assert isinstance(fault, RegistryUnreachable)
    assert str(fault) == f"Schema registry main ({server.url}): {said}."


def test_a_fault_of_one_schema_leaves_the_others(server: RegistryServer):
    wrong, right = server.add('"long"'), server.add('"int"')
    server.faults[wrong] = 422, b"{}"
    decoder = decoder_of(server)
    fault_of(decoder, wrong)
    assert decoder.decode(framed(right, b"\x02")) == 1


def test_an_unreachable_registry_is_requested_again_after_five_seconds():
    clock = Clock()
    with registry_server() as server:
        server.needs_sign_in = True
        schema_id = server.add('"long"')
        decoder = decoder_of(server, clock=clock)
        for clock.now in (100.0, 101.0, 104.9):
            assert str(fault_of(decoder, schema_id)).endswith("HTTP 401.")
        assert len(server.requests) == 1
        server.needs_sign_in, clock.now = False, 105.0
        assert decoder.decode(framed(schema_id, b"\x02")) == 1


def test_a_server_that_is_not_there_is_unreachable():
    with registry_server() as server:
        url = server.url
    fault = fault_of(SchemaDecoder(SchemaRegistry("main", url)), 1)
    assert str(fault) == f"Schema registry main ({url}): ConnectError."


def test_a_server_that_does_not_answer_is_unreachable(server: RegistryServer):
    server.open.clear()
    fault = fault_of(decoder_of(server), 1)
    assert str(fault) == f"Schema registry main ({server.url}): ReadTimeout."


def test_user_and_password_are_sent_and_shown_nowhere(server: RegistryServer):
    server.needs_sign_in = True
    schema_id = server.add('"long"')
    registry = SchemaRegistry("main", server.url, USER, PASSWORD)
    assert SchemaDecoder(registry).decode(framed(schema_id, b"\x02")) == 1
    assert PASSWORD not in repr(registry)


@pytest.fixture(scope="module")
def shared():
    with registry_server() as found:
        found.add(json.dumps(["null", "string"]))
        found.add("{}", "JSON")
        yield decoder_of(found)


@given(st.binary(max_size=40) | st.builds(framed, st.integers(0, 4), st.binary()))
@settings(deadline=None)
def test_any_bytes_are_decoded_or_have_a_named_fault(shared, data):
    with contextlib.suppress(BadFrame, BadRecord, SchemaGone):
        shared.decode(data)
