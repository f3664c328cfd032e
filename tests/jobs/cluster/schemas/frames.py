"""Values as producers with a registry write them."""

import io
import json
from typing import Any

from fastavro import parse_schema, schemaless_writer

from jobs.cluster.schemas.decoder import SchemaDecoder
from jobs.cluster.schemas.named import SchemaRegistry
from tests.jobs.cluster.schemas.registry_server import RegistryServer


def decoder_of(server: RegistryServer, **more: Any) -> SchemaDecoder:
    return SchemaDecoder(SchemaRegistry("main", server.url), **more)


def framed(schema_id: int, body: bytes) -> bytes:
    return b"\x00" + schema_id.to_bytes(4, "big") + body


def avro(schema: Any, value: Any) -> bytes:
    stream = io.BytesIO()
    schemaless_writer(stream, parse_schema(schema), value)
    return stream.getvalue()


def decoded(server: RegistryServer, schema: Any, value: Any) -> Any:
    """Return what becomes of a value of Avro on the way through a topic."""
    schema_id = server.add(json.dumps(schema))
    return decoder_of(server).decode(framed(schema_id, avro(schema, value)))
