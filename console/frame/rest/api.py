"""What all API routes share: one shape of errors, one way of paging, of queries and of what is in memory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from django.core.exceptions import PermissionDenied
from django.core.exceptions import ValidationError as ModelValidationError
from django.db.models import QuerySet
from django.http import Http404
from rest_framework import exceptions, status
from rest_framework.pagination import Cursor, CursorPagination
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import exception_handler

from console.frame.errors import ActionRefused
from console.frame.rest.parameters import LARGEST_PAGE, PAGE_SIZE
from console.frame.security.access import visible
from jobs.cluster.errors import ClusterFault, InvalidFields

_STATUS_OF_FAULT = {
    "unknown_topic_or_partition": status.HTTP_404_NOT_FOUND,
    "refused": status.HTTP_409_CONFLICT,
    "cluster_id_changed": status.HTTP_409_CONFLICT,
    "secret_missing": status.HTTP_409_CONFLICT,
}


def error_response(exc: Exception, context: dict[str, Any]) -> Response | None:
    """Answer every expected error as `{"code", "detail", "fields"}`; None lets the unexpected ones rise."""
    own = _own_error(exc)
    if own is not None:
        return own
    response = exception_handler(exc, context)
    if response is None:
        return None
    response.data = _shape(exc, response.data)
    return response


class Pagination(CursorPagination):
    """Pages of `limit` rows (50, at most 500) with links to the next and the one before.

    A view names its `ordering`.
    """

    page_size = PAGE_SIZE
    max_page_size = LARGEST_PAGE
    page_size_query_param = "limit"
    ordering = "pk"
    # Rows with an equal first column are skipped by number: DRF's own limit of 1000 would repeat them.
    offset_cutoff = 1_000_000

    def paginate_queryset(
        self, queryset: QuerySet[Any], request: Request, view: Any = None
    ) -> list[Any] | None:
        """Return the rows of a page; raises `ValidationError` for a cursor that is not one of ours."""
        queryset = visible(request.user, queryset)
        self._model = queryset.model
        self._first = self.get_ordering(request, queryset, view)[0].lstrip("-")
        return super().paginate_queryset(queryset, request, view)

    def get_paginated_response_schema(self, schema: dict[str, Any]) -> dict[str, Any]:
        """Describe a page; DRF's own description says `nullable`, which OpenAPI 3.1 does not know."""
        link = {"type": ["string", "null"], "format": "uri"}
        texts = {"next": "The page after this one.", "previous": "The page before this one."}
        links = {name: {**link, "description": text} for name, text in texts.items()}
        return {
            "type": "object",
            "required": ["next", "previous", "results"],
            "properties": {**links, "results": schema},
        }

    def decode_cursor(self, request: Request) -> Cursor | None:
        """Return where the page begins; its position must be a value of the column it sorts by."""
        try:
            cursor = super().decode_cursor(request)
            if cursor is not None and cursor.position is not None:
                self._read_position(cursor.position)
        except (exceptions.NotFound, ModelValidationError, ValueError, OverflowError):
            text = "Not a cursor of this list. Take it from `next` or `previous` of a page."
            raise exceptions.ValidationError({"cursor": [text]}) from None
        return cursor

    def _read_position(self, position: Any) -> None:
        options = self._model._meta
        field = options.pk if self._first == "pk" else options.get_field(self._first)
        field.run_validators(field.to_python(position))
        if "\0" in position:
            raise ValueError("no column holds this character")

    def get_ordering(self, request: Request, queryset: Any, view: Any) -> tuple[str, ...]:
        """Return the view's `ordering`, made unique by the primary key so that no row is skipped."""
        declared = getattr(view, "ordering", None) or self.ordering
        names = (declared,) if isinstance(declared, str) else tuple(declared)
        return names if names[-1].lstrip("-") in {"pk", "id"} else (*names, "pk")


def _own_error(exc: Exception) -> Response | None:
    if isinstance(exc, ActionRefused):
        return _answer(status.HTTP_409_CONFLICT, exc.code, exc.message, exc.fields)
    if isinstance(exc, InvalidFields):
        return _answer(status.HTTP_400_BAD_REQUEST, "invalid", "Some fields are wrong.", exc.errors)
    if isinstance(exc, ClusterFault):
        code = _STATUS_OF_FAULT.get(exc.code, status.HTTP_503_SERVICE_UNAVAILABLE)
        return _answer(code, exc.code, f"{exc} {exc.hint}", {})
    return None


def _answer(http_status: int, code: str, detail: str, fields: Mapping[str, str]) -> Response:
    listed = {name: [text] for name, text in fields.items()}
    return Response({"code": code, "detail": detail, "fields": listed}, status=http_status)


def _shape(exc: Exception, data: Any) -> dict[str, Any]:
    if isinstance(exc, exceptions.ValidationError):
        return _shape_of_validation(data)
    if isinstance(exc, Http404):
        return {"code": "not_found", "detail": "Nothing is here under this name.", "fields": {}}
    if isinstance(exc, PermissionDenied):
        return {
            "code": getattr(exc, "code", "permission_denied"),
            "detail": str(exc) or "You may not do this.",
            "fields": {},
        }
    codes = exc.get_codes() if isinstance(exc, exceptions.APIException) else "error"
    detail = data.get("detail", "") if isinstance(data, dict) else str(data)
    return {
        "code": codes if isinstance(codes, str) else "error",
        "detail": str(detail),
        "fields": {},
    }


def _shape_of_validation(data: Any) -> dict[str, Any]:
    fields: dict[str, list[str]] = {}
    for name, text in _sentences(data, ""):
        fields.setdefault(name, []).append(text)
    general = fields.pop("", []) + fields.pop("non_field_errors", [])
    detail = " ".join(general) or "Some fields are wrong."
    return {"code": "invalid", "detail": detail, "fields": fields}


def _sentences(data: Any, name: str) -> Iterator[tuple[str, str]]:
    """Yield (field, sentence) of DRF's nested errors; the field of a nested one is written with dots."""
    if isinstance(data, Mapping):
        for key, inner in data.items():
            yield from _sentences(inner, f"{name}.{key}" if name else str(key))
    elif isinstance(data, list):
        for inner in data:
            yield from _sentences(inner, name)
    else:
        yield name, str(data)


# Far behind the end of every sequence: a page there is empty.
_LAST_PLACE = 10_000_000


class SequencePagination(Pagination):
    """Pages of a sequence that is in memory; the cursor is a place in it."""

    offset_cutoff = _LAST_PLACE

    def paginate_queryset(
        self, queryset: Any, request: Request, view: Any = None
    ) -> list[Any] | None:
        """Return the page of a sequence; raises `ValidationError` for a cursor that is not one of ours."""
        rows: Sequence[Any] = queryset
        self.request, self.base_url = request, request.build_absolute_uri()
        size = self.get_page_size(request) or self.page_size
        cursor = self.decode_cursor(request)
        first = 0 if cursor is None else cursor.offset
        self._next = first + size if first + size < len(rows) else None
        self._previous = max(0, first - size) if first else None
        return list(rows[first : first + size])

    def get_next_link(self) -> str | None:
        """Return where the next page is; None behind the last one."""
        return self._link(self._next)

    def get_previous_link(self) -> str | None:
        """Return where the page before is; None before the first one."""
        return self._link(self._previous)

    def _link(self, first: int | None) -> str | None:
        return None if first is None else self.encode_cursor(Cursor(first, False, None))  # noqa: FBT003  a tuple

    def _read_position(self, position: Any) -> None:
        raise ValueError("a sequence has no positions")
