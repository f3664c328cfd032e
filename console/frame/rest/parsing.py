"""Bodies of requests: JSON, in UTF-8, of a size that a form can have."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import IO, Any

from rest_framework import exceptions, status
from rest_framework.parsers import BaseParser
from rest_framework.request import Request
from rest_framework.serializers import Serializer

from jobs.json_text import BadJson, parse_json

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
            value = parse_json(body.decode("utf-8"))
        except UnicodeError:
            raise exceptions.ParseError("The body is not UTF-8.") from None
        except BadJson as problem:
            raise exceptions.ParseError(f"The body is not what is wanted. {problem}") from None
        if not _can_be_kept(value):
            raise exceptions.ParseError(
                "The body holds half of a character, or a number that is too large."
            )
        if not isinstance(value, dict):
            raise exceptions.ParseError("The body is not a JSON object.")
        return value


def _can_be_kept(value: Any) -> bool:
    """Say whether a value can be stored: half of a pair (\\ud800) is no text, 1e999 no number."""
    try:
        json.dumps(value, ensure_ascii=False, allow_nan=False).encode("utf-8")
    except ValueError:
        return False
    return True


def body_of(
    shape: type[Serializer[Any]], request: Request, *, partial: bool = False
) -> dict[str, Any]:
    """Return the body of a request, checked; raises `ValidationError`."""
    read = shape(data=request.data, partial=partial)
    read.is_valid(raise_exception=True)
    return dict(read.validated_data)
