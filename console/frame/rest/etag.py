"""Reads that did not change cost no bytes, writes that were prepared on an old read are refused.

ETag, If-None-Match and If-Match: RFC 9110, section 13.
"""

from __future__ import annotations

import copy
from hashlib import sha256
from typing import Any

from django.http import HttpResponseBase
from django.utils.cache import get_conditional_response, patch_cache_control, patch_vary_headers
from django.utils.http import parse_etags
from rest_framework import exceptions, status
from rest_framework.request import Request
from rest_framework.response import Response

IF_MATCH = "If-Match"
WRITES = frozenset({"PATCH", "PUT", "DELETE"})


class PreconditionFailed(exceptions.APIException):
    """What is to be changed is not what the caller has read."""

    status_code = status.HTTP_412_PRECONDITION_FAILED
    default_code = "precondition_failed"
    default_detail = (
        "This is not what you have read any more: its ETag is another one. Read it again, and send the "
        "change with the new ETag as If-Match."
    )


def check_if_match(request: Request) -> None:
    """Raise `PreconditionFailed` when a write names ETags with If-Match and none is that of a read now.

    Where a read of the same address is refused or finds nothing, the write itself says so.
    """
    wanted = request.headers.get(IF_MATCH)
    if request.method not in WRITES or wanted is None:
        return
    tags = parse_etags(wanted)
    answer = _read(request)
    if answer.status_code == status.HTTP_200_OK:
        # A weak tag never matches here: the comparison of If-Match is the strong one.
        if tags != ["*"] and answer.headers.get("ETag") not in tags:
            raise PreconditionFailed
    elif answer.status_code == status.HTTP_405_METHOD_NOT_ALLOWED:
        raise PreconditionFailed(
            "This address has no read, so nothing has an ETag: leave If-Match out."
        )


def _read(request: Request) -> HttpResponseBase:
    """Answer a GET of the address of another request, of the same caller."""
    asked: Any = copy.copy(request._request)  # noqa: SLF001  DRF has no other door to it
    asked.method = "GET"
    dropped = {"HTTP_IF_MATCH", "HTTP_IF_NONE_MATCH", "CONTENT_LENGTH", "CONTENT_TYPE"}
    asked.META = {name: value for name, value in asked.META.items() if name not in dropped}
    asked.__dict__.pop("headers", None)
    match = asked.resolver_match
    answer: HttpResponseBase = match.func(asked, *match.args, **match.kwargs)
    return answer.render() if isinstance(answer, Response) else answer


def add_etag(request: Request, response: HttpResponseBase) -> None:
    """Give a read its ETag once it is rendered; the one that the client has already becomes a 304.

    The tag is the hash of the whole answer, so it changes with any part of it and needs no query. What is
    streamed has none.
    """
    if request.method not in {"GET", "HEAD"} or response.status_code != status.HTTP_200_OK:
        return
    if not isinstance(response, Response):
        return
    # The answer depends on the person and the token: no shared cache may keep it.
    patch_cache_control(response, private=True, no_cache=True)
    patch_vary_headers(response, ["Authorization", "Cookie"])
    response.add_post_render_callback(lambda rendered: _tagged(request, rendered))


def _tagged(request: Request, response: Response) -> HttpResponseBase | None:
    etag = f'"{sha256(response.content).hexdigest()[:32]}"'
    response["ETag"] = etag
    return get_conditional_response(request._request, etag, None, response)  # noqa: SLF001  DRF has no other door to it
