"""Hostile requests to every operation of docs/openapi.yaml, at a database with data.

Values come from the schema and from a pool of unusual ones, by a seed; each kind of caller asks the same.
What counts is that nothing is a 5xx: `broke` names the operation, the seed gives the request again.
"""

import json
import os
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import yaml

ROOT = Path(__file__).resolve().parent.parent
METHODS = ("get", "post", "put", "patch", "delete")
CALLERS = ("anonymous", "viewer", "operator", "admin")
DEPTH = 6
ODD: tuple[Any, ...] = (
    None, True, 0, -1, 1.5, 2**31, 2**63, -(2**63) - 1, 10**400, 1e308, "", " ", "\0", "a\nb", "\ud800",
    "\u202e", "9" * 5000, "x" * 100_000, "%00", "../../etc/passwd", "' OR 1=1 --", "{{7*7}}", "<script>",
    "NaN", "Infinity", "1970-01-01T00:00:00Z", "9999-12-31T23:59:59.999999Z", "0001-01-01T00:00:00+14:00",
    "(a+)+$", "(", "[]", "\u0663", "1e999", "-0", "0x10", "east,west", "env:HOME", "file:../../x", [], {},
    [[]], [None], [{}], {"": None}, {"a": {"b": {"c": [1, 2, {"d": None}]}}}, ["x"] * 5000,
)  # fmt: skip
KNOWN = (
    "east",
    "west",
    "dark",
    "orders",
    "topic-00000",
    "group-00000",
    "1",
    "2",
    "apply",
    "json",
    "600",
)


class Asker:
    """Makes requests out of the schema."""

    def __init__(self, document: dict[str, Any], seed: int) -> None:
        self.document, self.random = document, random.Random(seed)

    def operations(self) -> Iterator[tuple[str, str, dict[str, Any]]]:
        for path, entry in self.document["paths"].items():
            for method in METHODS:
                if method in entry:
                    shared = {"parameters": entry.get("parameters", [])}
                    operation = entry[method]
                    shared["parameters"] = shared["parameters"] + operation.get("parameters", [])
                    yield method, path, operation | shared

    def request(self, path: str, operation: dict[str, Any]) -> tuple[str, dict[str, str], str]:
        """Return an address, headers and a body."""
        query, headers = [], {}
        for parameter in map(self._resolved, operation["parameters"]):
            value = self._text(self._value(parameter.get("schema", {})))
            if parameter["in"] == "path":
                path = path.replace(f"{{{parameter['name']}}}", value or "x")
            elif self.random.random() < 0.4:
                if parameter["in"] == "query":
                    query.append(f"{parameter['name']}={value}")
                else:
                    headers[parameter["name"]] = quote(value)[:500]
        return f"{path}?{'&'.join(query)}", headers, self._body(operation)

    def _body(self, operation: dict[str, Any]) -> str:
        content = self._resolved(operation.get("requestBody", {})).get("content", {})
        schema = content.get("application/json", {}).get("schema", {})
        chance = self.random.random()
        if chance < 0.05:
            return self.random.choice(
                ["", "{", "[" * 5000, "null", "\0", '{"a":NaN}', '{"a":1e999}']
            )
        return json.dumps(self._value(schema) if chance < 0.95 else self.random.choice(ODD))

    def _text(self, value: Any) -> str:
        chance = self.random.random()
        if chance < 0.5:
            value = self.random.choice(KNOWN)
        text = value if isinstance(value, str) else json.dumps(value)
        return quote(text.encode("utf-8", "surrogatepass")[:2000], safe="")

    def _value(self, schema: dict[str, Any], depth: int = 0) -> Any:
        """Return a value of the schema, and now and then none of it."""
        schema = self._resolved(schema)
        if self.random.random() < 0.12 or depth > DEPTH:
            return self.random.choice(ODD)
        for several in ("oneOf", "anyOf", "allOf"):
            if several in schema:
                return self._value(self.random.choice(schema[several]), depth + 1)
        if schema.get("enum"):
            return self.random.choice(schema["enum"])
        kind = schema.get("type", "string")
        return self._of_kind(
            self.random.choice(kind) if isinstance(kind, list) else kind, schema, depth
        )

    def _of_kind(self, kind: str, schema: dict[str, Any], depth: int) -> Any:
        if kind == "object":
            fields = {
                name: self._value(inner, depth + 1)
                for name, inner in schema.get("properties", {}).items()
                if name in schema.get("required", ()) or self.random.random() < 0.5
            }
            if self.random.random() < 0.1:
                fields["surprise"] = self.random.choice(ODD)
            return fields
        if kind == "array":
            inner = schema.get("items", {})
            return [self._value(inner, depth + 1) for _ in range(self.random.randrange(4))]
        if kind in {"integer", "number"}:
            return self.random.choice(
                [0, 1, 2, 5, 100, schema.get("minimum", -1), schema.get("maximum", 10**9)]
            )
        return self.random.random() < 0.5 if kind == "boolean" else self.random.choice(KNOWN)

    def _resolved(self, part: dict[str, Any]) -> dict[str, Any]:
        while "$ref" in part:
            found: Any = self.document
            for step in part["$ref"].removeprefix("#/").split("/"):
                found = found[step]
            part = found
        return part


def measure(say: Callable[[str], None], *, quick: bool, seed: int = 1) -> dict[str, Any]:
    """Ask every operation 16 times as every caller (quick: twice); every request is rolled back."""
    sys.path.insert(0, str(ROOT))
    with tempfile.TemporaryDirectory() as home:
        os.environ |= {"DJANGO_SETTINGS_MODULE": "tests.settings", "CROSSLOG_HOME": home}
        import django

        django.setup()
        from django.conf import settings
        from django.test.utils import get_runner, setup_test_environment

        setup_test_environment()
        runner = get_runner(settings)(verbosity=0)
        databases = runner.setup_databases()
        try:
            told = _asked(seed, 2 if quick else 16)
        finally:
            runner.teardown_databases(databases)
    say(f"hostile: {told['requests']} requests, {len(told['broke'])} broke something")
    return told


def _asked(seed: int, each: int) -> dict[str, Any]:
    import logging

    from django.db import transaction
    from django.test import Client

    from tests.console.safety.world import bearer, make_person, make_token, make_world

    logging.disable(logging.CRITICAL)
    make_world()
    asker = Asker(yaml.safe_load((ROOT / "docs/openapi.yaml").read_text()), seed)
    statuses: dict[str, Counter[int]] = {who: Counter() for who in CALLERS}
    headers = {
        who: {} if who == "anonymous" else bearer(make_token(make_person(who, who), who)[1])
        for who in CALLERS
    }
    client, broke, slowest, begun = (
        Client(raise_request_exception=False),
        [],
        (0.0, ""),
        time.monotonic(),
    )
    for method, path, operation in list(asker.operations()):
        for number in range(each):
            address, more, body = asker.request(path, operation)
            for who in CALLERS:
                start = time.monotonic()
                with transaction.atomic():
                    answer = client.generic(
                        method.upper(),
                        address,
                        body,
                        content_type="application/json",
                        headers=more | headers[who],
                    )
                    _ = b"".join(answer.streaming_content) if answer.streaming else b""
                    transaction.set_rollback(True)
                statuses[who][answer.status_code] += 1
                slowest = max(slowest, (round(time.monotonic() - start, 3), f"{method} {path}"))
                if answer.status_code >= 500 and answer.status_code != 503:
                    broke.append(f"{who}: {method} {address[:300]} {body[:300]} ({number})")
    return {
        "seed": seed,
        "requests": sum(sum(counted.values()) for counted in statuses.values()),
        "statuses": {who: dict(sorted(counted.items())) for who, counted in statuses.items()},
        "broke": broke,
        "slowest_s": slowest,
        "seconds": round(time.monotonic() - begun, 1),
    }
