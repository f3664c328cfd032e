"""The OpenAPI schema says what the frame does for every route: parameters, headers, errors."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

from drf_spectacular.openapi import AutoSchema
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse

from console.frame.rest import etag
from console.frame.rest.serializers import ErrorSerializer
from console.frame.rest.viewset import ApiViewSet

IF_NONE_MATCH = OpenApiParameter(
    "If-None-Match",
    OpenApiTypes.STR,
    OpenApiParameter.HEADER,
    description="The `ETag` of an answer that you have: 304 without a body while it is still right.",
)
IF_MATCH = OpenApiParameter(
    etag.IF_MATCH,
    OpenApiTypes.STR,
    OpenApiParameter.HEADER,
    description="The `ETag` of the answer that this change was made for: 412, and nothing is changed, when a "
    "read answers something else by now.",
)
IDEMPOTENCY_KEY = OpenApiParameter(
    "Idempotency-Key",
    {"type": "string", "minLength": 1, "maxLength": 255, "pattern": "^[!-~]{1,255}$"},
    OpenApiParameter.HEADER,
    description="Your own name for this request: sent again within 24 h, it is not done again.",
)
_OF_ALL = {
    "400": "A parameter or a field is wrong; `fields` names it.",
    "401": "The request is not signed in.",
    "403": "The account or token may not do this.",
    "404": "Nothing is here under this name.",
    "406": "The answer exists only as JSON.",
    "429": "Too many requests; `Retry-After` says for how many seconds.",
    "503": "A Kafka cluster or the database does not answer at this moment; `code` says which.",
}
_OF_WRITES = {
    "409": "Understood and refused; `code` says why.",
    "413": "The body is too large.",
    "415": "The body is not declared as JSON.",
    "422": "The idempotency key belongs to another request.",
}


class ApiSchema(AutoSchema):
    """Describe a route with what `ApiViewSet` does for it."""

    def get_summary(self) -> str | None:
        """Return the first line of the action's docstring."""
        return str(super().get_summary() or self._lines()[0]).rstrip(".")

    def get_description(self) -> str:  # type: ignore[override]  # as in drf-spectacular itself
        """Return what the docstring says beyond its first line."""
        return "\n".join(self._lines()[1:]).strip()

    def get_override_parameters(self) -> list[Any]:
        """Return the parameters that the view declares, and the headers of the frame."""
        declared: list[Any] = list(super().get_override_parameters())
        if isinstance(self.view, ApiViewSet):
            parameters = self.view.parameters_of(self.view.action)
            declared += [parameters] if parameters().fields else []
            declared += [IF_NONE_MATCH] if self.method == "GET" else []
            declared += [IF_MATCH] if self.method in etag.WRITES else []
            declared += [IDEMPOTENCY_KEY] if self.method == "POST" else []
        return declared

    def _get_response_bodies(
        self, direction: Literal["request", "response"] = "response"
    ) -> dict[str, Any]:
        bodies: dict[str, Any] = super()._get_response_bodies(direction)
        if self.method == "GET":
            bodies["304"] = {"description": "Nothing changed since the answer with this `ETag`."}
        told = _OF_ALL if self.method == "GET" else {**_OF_ALL, **_OF_WRITES}
        if self.method in etag.WRITES:
            told = {**told, "412": "`If-Match` names an `ETag` that a read does not have any more."}
        for code, text in told.items():
            error = OpenApiResponse(ErrorSerializer, text)
            bodies[code] = self._get_response_for_code(error, code, direction=direction)  # type: ignore[no-untyped-call]  # the library is untyped there
        return {code: bodies[code] for code in sorted(bodies)}

    def _lines(self) -> list[str]:
        return str(super().get_description() or "").strip().splitlines() or [""]


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
