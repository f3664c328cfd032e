"""Reads that did not change cost no bytes: ETag and If-None-Match."""

from __future__ import annotations

from hashlib import sha256

from django.http import HttpResponseBase
from django.utils.cache import get_conditional_response, patch_cache_control, patch_vary_headers
from rest_framework import status
from rest_framework.request import Request
from rest_framework.response import Response


def add_etag(request: Request, response: Response) -> None:
    """Give a read its ETag once it is rendered; the one that the client has already becomes a 304.

    The tag is the hash of the whole answer, so it changes with any part of it and needs no query.
    """
    if request.method not in {"GET", "HEAD"} or response.status_code != status.HTTP_200_OK:
        return
    # Another person, another token, another answer: nobody between may keep it.
    patch_cache_control(response, private=True, no_cache=True)
    patch_vary_headers(response, ["Authorization", "Cookie"])
    response.add_post_render_callback(lambda rendered: _tagged(request, rendered))


def _tagged(request: Request, response: Response) -> HttpResponseBase | None:
    etag = f'"{sha256(response.content).hexdigest()[:32]}"'
    response["ETag"] = etag
    return get_conditional_response(request._request, etag, None, response)  # noqa: SLF001  DRF has no other door to it
