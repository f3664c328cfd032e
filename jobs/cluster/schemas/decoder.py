"""Values behind the frame of a registry's clients, as values of JSON; each fault has a name."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from jobs.cluster.schemas.avro import RECORD_FAULTS, avro_reader
from jobs.cluster.schemas.client import PROTOBUF, FetchedSchema, RegistryClient
from jobs.cluster.schemas.errors import BadFrame, BadRecord, BadSchema, SchemaFault, SchemaGone
from jobs.cluster.schemas.named import SchemaRegistry
from jobs.cluster.schemas.protobuf import protobuf_reader

FRAME_BYTES = 5

Reader = Callable[[bytes], Any]


class SchemaDecoder:
    """Decodes values by the schemas of one registry, for one thread.

    Schemas, and ids that are gone or cannot be used, are kept for the life of the decoder: one request each.
    """

    def __init__(
        self, registry: SchemaRegistry, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._client = RegistryClient(registry, clock)
        self._readers: dict[int, Reader] = {}
        self._refused: dict[int, tuple[type[SchemaFault], str]] = {}

    def decode(self, data: bytes) -> Any:
        """Return a value as dict, list and scalars of JSON: bytes as base64, times as ISO text.

        Raises `BadFrame`, `SchemaGone`, `BadSchema`, `BadRecord` and `RegistryUnreachable`.
        """
        if len(data) < FRAME_BYTES or data[0]:
            raise BadFrame("The bytes do not begin with a zero and the id of a schema.")
        schema_id = int.from_bytes(data[1:FRAME_BYTES], "big")
        read = self._readers.get(schema_id) or self._loaded(schema_id)
        try:
            return read(data[FRAME_BYTES:])
        except RECORD_FAULTS as error:
            text = f"The bytes do not fit schema {schema_id} ({type(error).__name__})."
            raise BadRecord(text) from None

    def _loaded(self, schema_id: int) -> Reader:
        if schema_id not in self._refused:
            try:
                self._readers[schema_id] = _reader(schema_id, self._client.fetch(schema_id))
                return self._readers[schema_id]
            except (SchemaGone, BadSchema) as fault:
                self._refused[schema_id] = type(fault), str(fault)
        fault_type, text = self._refused[schema_id]
        raise fault_type(text)


def _reader(schema_id: int, fetched: FetchedSchema) -> Reader:
    import orjson
    from fastavro.schema import SchemaParseException, UnknownType

    known: dict[str, Callable[[FetchedSchema], Reader]] = {
        "AVRO": avro_reader,
        PROTOBUF: protobuf_reader,
        "JSON": lambda _: orjson.loads,
    }
    try:
        return known[fetched.type](fetched)
    except (*RECORD_FAULTS, AttributeError, SchemaParseException, UnknownType) as error:
        text = f"Schema {schema_id} ({fetched.type}) cannot be used ({type(error).__name__})."
        raise BadSchema(text) from None
