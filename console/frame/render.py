"""One URL, two answers: the whole page, or only its live part when htmx asks."""

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
    partial: str | None = None,
) -> HttpResponse:
    """Render `template`, or `partial` (the part inside `data-refresh`) when htmx asks for it."""
    name = partial if partial and is_partial(request) else template
    response = render(request, name, dict(context or {}))
    patch_vary_headers(response, ["HX-Request"])
    if is_partial(request):
        response["Cache-Control"] = "no-store"
    return response
