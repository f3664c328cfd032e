"""Values behind the frame of a registry's clients, as values of JSON; each fault has a name."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any

from jobs.cluster.schemas.avro import avro_reader
from jobs.cluster.schemas.client import PROTOBUF, FetchedSchema, RegistryClient
from jobs.cluster.schemas.errors import (
    BadFrame,
    BadRecord,
    BadSchema,
    SchemaFault,
    SchemaGone,
    faults,
)
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

    def decode(self, data: bytes) -> Any:
        """Return a value as dict, list and scalars of JSON: bytes as base64, times as ISO text, NaN as None.

        Raises `BadFrame`, `SchemaGone`, `BadSchema`, `BadRecord` and `RegistryUnreachable`.
        """
        if len(data) < FRAME_BYTES or data[0]:
            raise BadFrame("The bytes do not begin with a zero and the id of a schema.")
        schema_id = int.from_bytes(data[1:FRAME_BYTES], "big")
        if schema_id not in self._readers:
            self._readers[schema_id] = self._reader(schema_id)
        try:
            return self._readers[schema_id](data[FRAME_BYTES:])
        except faults() as error:
            text = f"The bytes do not fit schema {schema_id} ({type(error).__name__})."
            raise BadRecord(text) from None

    def _reader(self, schema_id: int) -> Reader:
        try:
            fetched = self._client.fetch(schema_id)
            return _READERS[fetched.type](fetched)
        except SchemaGone as gone:
            return partial(_refuse, SchemaGone, str(gone))
        except faults() as error:
            text = f"Schema {schema_id} cannot be used ({type(error).__name__})."
            return partial(_refuse, BadSchema, text)


def _refuse(fault: type[SchemaFault], text: str, _: bytes) -> Any:
    raise fault(text)


def _json_reader(_: FetchedSchema) -> Reader:
    import orjson

    return orjson.loads


_READERS = {"AVRO": avro_reader, PROTOBUF: protobuf_reader, "JSON": _json_reader}
