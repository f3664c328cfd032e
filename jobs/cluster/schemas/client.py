"""Schemas of a registry by id, with all that they refer to; requests are bounded, faults have names.

The client library is imported at the first request: it takes half a second.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from jobs.cluster.schemas.errors import RegistryUnreachable, SchemaGone
from jobs.cluster.schemas.named import SchemaRegistry
from jobs.cluster.untrusted_text import register_secret

if TYPE_CHECKING:
    from confluent_kafka.schema_registry import Schema, SchemaRegistryClient

PROTOBUF = "PROTOBUF"
TIMEOUT_S = 5.0
RETRIES = 1
# After a request without an answer the next one waits so long; until then the fault is the same.
PAUSE_S = 5.0
# A topic with other bytes looks like one with many ids: after so many without a schema no new one is sent.
MOST_GONE = 1000
_NOT_FOUND = 404
_SIGN_IN = {401, 403}
_REGISTRY = -1
# Error codes of a registry: subject, version or schema not found. Another 404 is a wrong path.
_NO_SCHEMA = 40403
_GONE_CODES = {40401, 40402, _NO_SCHEMA}


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
        import httpx
        from confluent_kafka.schema_registry import SchemaRegistryError

        try:
            return self._fetched(client, schema_id)
        except SchemaRegistryError as error:
            if error.http_status_code == _NOT_FOUND and error.error_code in _GONE_CODES:
                self._gone += 1
                what = "its id" if error.error_code == _NO_SCHEMA else "what it refers to"
                text = f"Schema {schema_id} is gone: {self._registry.name} does not know {what}."
                raise SchemaGone(text) from None
            key = _REGISTRY if error.http_status_code in _SIGN_IN else schema_id
            raise self._paused(key, f"HTTP {error.http_status_code}") from None
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise self._paused(_REGISTRY, type(error).__name__) from None
        except (LookupError, TypeError, ValueError, AttributeError, RecursionError):
            raise self._paused(schema_id, "no answer of a schema registry") from None

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
        values: dict[str, Any] = {
            "url": self._registry.url, "timeout": TIMEOUT_S, "max.retries": RETRIES, "retries.wait.ms": 200
        }  # fmt: skip
        if self._registry.username:
            values["basic.auth.user.info"] = f"{self._registry.username}:{self._registry.password}"
        return SchemaRegistryClient(values)

    def _fetched(self, client: SchemaRegistryClient, schema_id: int) -> FetchedSchema:
        schema = client.get_schema(schema_id)
        form = "serialized" if schema.schema_type == PROTOBUF else None
        # The client keeps one text of an id, whatever its form.
        _clear(client)
        if form:
            schema = client.get_schema(schema_id, fmt=form)
        found: dict[str, str] = {}
        _add_references(client, schema, form, found, set())
        _clear(client)
        return FetchedSchema(schema.schema_type or "", schema.schema_str or "", found)


def _clear(client: SchemaRegistryClient) -> None:
    client.clear_caches()  # type: ignore[no-untyped-call] # it has no types


def _add_references(
    client: SchemaRegistryClient,
    schema: Schema,
    form: str | None,
    found: dict[str, str],
    seen: set[str],
) -> None:
    """Add what a schema refers to, what a reference needs before it."""
    for one in schema.references or ():
        name = str(one.name)
        if name not in seen:
            seen.add(name)
            used = client.get_version(str(one.subject), one.version or "latest", fmt=form).schema
            _add_references(client, used, form, found, seen)
            found[name] = used.schema_str or ""
