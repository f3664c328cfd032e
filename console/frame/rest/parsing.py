"""Bodies of requests: JSON, in UTF-8, of a size that a form can have."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import IO, Any

from rest_framework import exceptions, status
from rest_framework.parsers import BaseParser

LARGEST_BODY_BYTES = 1024 * 1024


class BodyTooLarge(exceptions.APIException):
    """More than any of our routes can mean."""

    status_code = status.HTTP_413_REQUEST_ENTITY_TOO_LARGE
    default_code = "body_too_large"
    default_detail = f"The body is larger than {LARGEST_BODY_BYTES} bytes."


class JsonParser(BaseParser):
    """Read a JSON object. Everything that is not one is the client's mistake, however it is broken.

    Whatever charset the client declares: JSON is UTF-8 (RFC 8259, section 8.1).
    """

    media_type = "application/json"

    def parse(
        self,
        stream: IO[Any],
        media_type: str | None = None,
        parser_context: Mapping[str, Any] | None = None,
    ) -> dict[str, Any]:
        """Return the object; raises `ParseError` or `BodyTooLarge`."""
        body = stream.read(LARGEST_BODY_BYTES + 1)
        if len(body) > LARGEST_BODY_BYTES:
            raise BodyTooLarge
        try:
            value = json.loads(body.decode("utf-8"), parse_constant=_refuse)
            # A lone half of a pair (\\ud800) is valid JSON and no text, 1e999 valid JSON and no number:
            # nothing could store them.
            json.dumps(value, ensure_ascii=False, allow_nan=False).encode("utf-8")
        except (ValueError, RecursionError) as problem:
            raise exceptions.ParseError(f"The body is not JSON: {_told(problem)}.") from None
        if not isinstance(value, dict):
            raise exceptions.ParseError("The body is not a JSON object.")
        return value


def _refuse(name: str) -> None:
    raise ValueError(f"{name} is not a number of JSON")


def _told(problem: Exception) -> str:
    if isinstance(problem, RecursionError):
        return "it is nested too deeply"
    if isinstance(problem, UnicodeError):
        return "it is not UTF-8"
    return str(problem)
