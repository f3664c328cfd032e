"""Schemas of a registry by id, with all that they refer to; requests are bounded, faults have names.

The client library is imported at the first request: it takes half a second.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from jobs.cluster.schemas.errors import RegistryUnreachable, SchemaGone, faults
from jobs.cluster.schemas.named import SchemaRegistry
from jobs.cluster.untrusted_text import register_secret

if TYPE_CHECKING:
    from confluent_kafka.schema_registry import Schema, SchemaRegistryClient

PROTOBUF = "PROTOBUF"
# Seconds for one answer, and for the second try.
_BOUNDS = {"timeout": 5, "max.retries": 1, "retries.wait.ms": 200}
# After a request without an answer the next one waits so long; until then the fault is the same.
PAUSE_S = 5.0
# A topic with other bytes looks like one with many ids: after so many without a schema no new one is sent.
MOST_GONE = 1000
_SIGN_IN = {401, 403}
# Error codes of a registry for what is not there: a subject, a version, a schema. Other 404 are wrong paths.
_GONE = {40401: "what it refers to", 40402: "what it refers to", 40403: "its id"}
_REGISTRY = -1


class FetchedSchema(NamedTuple):
    """A schema: `type` is AVRO, PROTOBUF or JSON; texts are base64 for Protobuf; those it uses by name."""

    type: str
    text: str
    references: dict[str, str]


class RegistryClient:
    """Requests to one registry, for one thread; `clock` gives seconds that only grow."""

    def __init__(self, registry: SchemaRegistry, clock: Callable[[], float]) -> None:
        register_secret(registry.password)
        self._registry = registry
        self._clock = clock
        # When a request may be sent again, and why not before: of an id, or of the registry.
        self._pauses: dict[int, tuple[float, str]] = {}
        self._gone = 0

    def fetch(self, schema_id: int) -> FetchedSchema:
        """Return a schema; raises `SchemaGone` and `RegistryUnreachable`."""
        for key in (_REGISTRY, schema_id):
            until, text = self._pauses.get(key, (float("-inf"), ""))
            if self._clock() < until:
                raise RegistryUnreachable(text)
        if schema_id not in self._pauses and self._gone + len(self._pauses) >= MOST_GONE:
            text = f"Schema {schema_id} was not requested: {MOST_GONE} others got none."
            raise RegistryUnreachable(text)
        client = self._client
        from confluent_kafka.schema_registry import SchemaRegistryError

        try:
            return self._fetched(client, schema_id)
        except SchemaRegistryError as error:
            if error.error_code in _GONE:
                self._gone += 1
                unknown = f"{self._registry.name} does not know {_GONE[error.error_code]}"
                raise SchemaGone(f"Schema {schema_id} is gone: {unknown}.") from None
            key = _REGISTRY if error.http_status_code in _SIGN_IN else schema_id
            raise self._paused(key, f"HTTP {error.http_status_code}") from None
        except faults() as error:
            # The server was not reached, or it is no registry.
            raise self._paused(_REGISTRY, type(error).__name__) from None

    def _paused(self, key: int, why: str) -> RegistryUnreachable:
        text = f"Schema registry {self._registry.name} ({self._registry.url}): {why}."
        self._pauses[key] = self._clock() + PAUSE_S, text
        return RegistryUnreachable(text)

    @cached_property
    def _client(self) -> SchemaRegistryClient:
        with warnings.catch_warnings():
            # It puts its own warnings before all filters; one that comes later has to stand before it.
            import authlib.deprecate  # noqa: F401

            warnings.filterwarnings("ignore", "The httpx module is deprecated")
            from confluent_kafka.schema_registry import SchemaRegistryClient
        user = f"{self._registry.username}:{self._registry.password}"
        address = {"url": self._registry.url, "basic.auth.user.info": user}
        return SchemaRegistryClient({**address, **_BOUNDS})

    def _fetched(self, client: SchemaRegistryClient, schema_id: int) -> FetchedSchema:
        schema, form = client.get_schema(schema_id), None
        if schema.schema_type == PROTOBUF:
            form = "serialized"
            # The client keeps one text of an id, whatever its form.
            client.clear_caches()  # type: ignore[no-untyped-call] # it has no types
            schema = client.get_schema(schema_id, fmt=form)
        found: dict[str, str] = {}

        def add_references(of: Schema) -> None:
            for one in of.references or ():
                name, version = str(one.name), one.version or 0
                if name not in found:
                    used = client.get_version(str(one.subject), version, fmt=form).schema
                    add_references(used)
                    found[name] = used.schema_str or ""

        add_references(schema)
        return FetchedSchema(schema.schema_type or "", schema.schema_str or "", found)
