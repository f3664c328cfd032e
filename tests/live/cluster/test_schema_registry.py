"""What a real registry answers; the registry of the other tests answers the same."""

import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from jobs.cluster.schemas.decoder import SchemaDecoder
from jobs.cluster.schemas.errors import BadSchema, RegistryUnreachable, SchemaGone
from jobs.cluster.schemas.named import SchemaRegistry
from jobs.lab.plan import ClusterPlan
from jobs.lab.ports import find_base_port
from tests.jobs.cluster.schemas.frames import framed
from tests.live.cluster.apicurio import apicurio


class Registry:
    def __init__(self, url: str) -> None:
        self.url = url
        self.decoder = SchemaDecoder(SchemaRegistry("main", url))

    def add(self, subject: str, text: str, **more: Any) -> int:
        answer = httpx.post(
            f"{self.url}/subjects/{subject}/versions", json={"schema": text, **more}
        )
        return int(answer.raise_for_status().json()["id"])


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Registry]:
    with apicurio(
        find_base_port(lambda base: [ClusterPlan("a", 1, base)]),
        tmp_path_factory.mktemp("registry"),
    ) as url:
        yield Registry(url)


def test_avro_with_a_type_of_another_subject_is_decoded(registry: Registry):
    inner = {"type": "record", "name": "n.Inner", "fields": [{"name": "x", "type": "int"}]}
    outer = {"type": "record", "name": "n.Outer", "fields": [{"name": "i", "type": "Inner"}]}
    registry.add("inner", json.dumps(inner))
    used = {"name": "n.Inner", "subject": "inner", "version": 1}
    schema_id = registry.add("outer", json.dumps(outer), references=[used])
    assert registry.decoder.decode(framed(schema_id, b"\x0e")) == {"i": {"x": 7}}


def test_json_is_decoded(registry: Registry):
    text = '{"$schema": "http://json-schema.org/draft-07/schema#", "type": "object"}'
    schema_id = registry.add("json", text, schemaType="JSON")
    assert registry.decoder.decode(framed(schema_id, b'{"a": 1}')) == {"a": 1}


def test_an_id_that_no_schema_has_is_gone(registry: Registry):
    with pytest.raises(SchemaGone):
        registry.decoder.decode(framed(99_999, b"\x00"))


def test_protobuf_has_no_serialized_form_here_and_is_a_bad_schema(registry: Registry):
    text = 'syntax = "proto3"; message Item { string code = 1; }'
    schema_id = registry.add("protobuf", text, schemaType="PROTOBUF")
    with pytest.raises(BadSchema):
        registry.decoder.decode(framed(schema_id, b"\x00"))


def test_another_path_of_the_server_says_nothing_about_a_schema(registry: Registry):
    decoder = SchemaDecoder(SchemaRegistry("main", f"{registry.url}/elsewhere"))
    with pytest.raises(RegistryUnreachable, match=r"HTTP 404\.$"):
        decoder.decode(framed(1, b"\x00"))
