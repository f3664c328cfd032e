"""What drf-spectacular leaves in an OpenAPI 3.1 document that generated clients cannot read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

_SCHEMAS = "#/components/schemas/"
_BLANK, _NULL = {"$ref": f"{_SCHEMAS}BlankEnum"}, {"$ref": f"{_SCHEMAS}NullEnum"}


def join_enums(result: dict[str, Any], generator: Any, **_: Any) -> dict[str, Any]:
    """Replace unions with an enum of nothing but "" or null.

    A value that may be empty gets a named enum with "" as its last value, because most generators
    cannot name the values of a union of two enums; null becomes the type of JSON Schema.
    """
    schemas: dict[str, Any] = result["components"]["schemas"]
    for union in list(_unions(result)):
        members = union["oneOf"]
        if _BLANK in members:
            members.remove(_BLANK)
            members[0] = _with_blank(schemas, members[0]["$ref"])
        members[:] = [{"type": "null"} if member == _NULL else member for member in members]
        if len(members) == 1:
            union.update(union.pop("oneOf")[0])
    for name in ("BlankEnum", "NullEnum"):
        schemas.pop(name, None)
    result["components"]["schemas"] = dict(sorted(schemas.items()))
    return result


def _with_blank(schemas: dict[str, Any], reference: str) -> dict[str, str]:
    name = reference.removeprefix(_SCHEMAS)
    values = schemas[name]
    schemas[f"{name}OrEmpty"] = {**values, "enum": [*values["enum"], ""]}
    return {"$ref": f"{reference}OrEmpty"}


def _unions(node: Any) -> Iterator[dict[str, Any]]:
    if isinstance(node, dict):
        if _BLANK in node.get("oneOf", ()) or _NULL in node.get("oneOf", ()):
            yield node
        for inner in node.values():
            yield from _unions(inner)
    elif isinstance(node, list):
        for inner in node:
            yield from _unions(inner)
