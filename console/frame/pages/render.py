"""One URL, two answers: the whole page, or only what changes by itself when htmx asks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.cache import patch_vary_headers


def is_partial(request: HttpRequest) -> bool:
    """Say whether htmx asks for a part of the page."""
    return request.headers.get("HX-Request") == "true" and "HX-Boosted" not in request.headers


def render_page(
    request: HttpRequest,
    template: str,
    context: Mapping[str, Any] | None = None,
    *,
    is_live: bool = False,
) -> HttpResponse:
    """Render `template`.

    Of a live page htmx gets the heading, the buttons, the tabs and the content: base.html leaves out
    the rest, and patch.js puts each of them where it belongs.
    """
    is_part = is_live and is_partial(request)
    response = render(request, template, {**(context or {}), "is_part": is_part})
    patch_vary_headers(response, ["HX-Request"])
    if is_partial(request):
        response["Cache-Control"] = "no-store"
    return response
