"""Fields of values that a schema registry describes."""

import json
import uuid
from collections.abc import Iterator

import pytest

from jobs.cluster.errors import InvalidFields
from jobs.cluster.schemas.named import VARIABLE
from jobs.spark.analyses.tracing.extracting import extraction_of
from tests.jobs.cluster.schemas.frames import avro, framed
from tests.jobs.cluster.schemas.registry_server import RegistryServer, registry_server
from tests.jobs.spark.analyses.records.given_records import reader_of, record

ORDER = {
    "type": "record",
    "name": "Order",
    "fields": [
        {"name": "id", "type": "string"},
        {"name": "steps", "type": {"type": "array", "items": "string"}},
    ],
}
EXTRACTOR = {
    "name": "orders",
    "registry": "main",
    "fields": {"id": "value:/id", "steps": "value:/steps"},
}


@pytest.fixture
def registry(monkeypatch: pytest.MonkeyPatch) -> Iterator[RegistryServer]:
    with registry_server() as server:
        monkeypatch.setenv(VARIABLE, f"main={server.url}")
        yield server


def extraction(*values: bytes):  # type: ignore[no-untyped-def]
    """Extract by an extractor of its own: a task keeps those that it made for a minute."""
    reader = reader_of([record(n, b"k", value) for n, value in enumerate(values)])
    return extraction_of(
        {"extractor": {**EXTRACTOR, "name": uuid.uuid4().hex}}, reader.chunks[0], reader.span
    )


def test_fields_of_avro_are_read_beside_those_of_json(registry):
    schema = registry.add(json.dumps(ORDER))
    value = framed(schema, avro(ORDER, {"id": "a-1", "steps": ["pay", "ship"]}))
    found = extraction(value, b'{"id": "a-2"}')
    assert [found.texts("id").text(n) for n in range(2)] == ["a-1", "a-2"]
    assert found.texts("steps").text(0) == '["pay","ship"]'


def test_a_schema_that_is_gone_is_a_problem_of_its_records_and_one_request(registry):
    found = extraction(framed(77, b"x"), framed(77, b"y"), b'{"id": "a-2"}')
    assert [found.texts("id").text(n) for n in range(3)] == [None, None, "a-2"]
    (problem,) = [text for text in found.problems if text.startswith("id:")]
    assert "77" in problem
    assert len(registry.requests) == 1


def test_a_registry_that_the_environment_does_not_name_is_refused(monkeypatch):
    monkeypatch.setenv(VARIABLE, "other=http://127.0.0.1:1")
    with pytest.raises(InvalidFields, match="There is no schema registry main"):
        extraction(b"{}")
