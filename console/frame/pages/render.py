"""Context of every template; a page is rendered whole, or for htmx only its live parts."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.cache import patch_vary_headers
from django.utils.encoding import iri_to_uri

from console.frame.help.chapters import help_address
from console.frame.pages.addresses import own_path
from console.frame.pages.navigation import list_places, list_sections, list_switches
from console.frame.security.access import can, can_here
from console.frame.security.read_only import is_read_only
from jobs.version import VERSION


def is_partial(request: HttpRequest) -> bool:
    """Say whether htmx requests a part of the page."""
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


THEMES = ("auto", "light", "dark")
CLOCKS = ("utc", "local")


def frame(request: HttpRequest) -> dict[str, Any]:
    """Return the frame's part of the context; queries only where the template has the sidebar."""
    user = getattr(request, "user", None)
    return {
        # Evaluated only by pages that have the sidebar.
        "own_address": partial(_own_address, request),
        "places": partial(list_places, user, request.path),
        "sections": partial(list_sections, user),
        "switches": partial(list_switches, request),
        "help_address": partial(help_address, request.path),
        "theme": _chosen(request, "theme", THEMES),
        "clock": _chosen(request, "clock", CLOCKS),
        "version": VERSION,
        "now": timezone.now(),
        # About the subject of the page; `is_admin` and `sees_all` are everywhere.
        "can_operate": partial(can_here, request, "operate"),
        "can_administer": partial(can_here, request, "administer"),
        "is_admin": can(user, "administer"),
        "sees_all": can(user, "view"),
        "read_only": is_read_only(),
    }


def _own_address(request: HttpRequest) -> str:
    asked = request.META.get("QUERY_STRING", "")
    return f"{own_path(request)}?{iri_to_uri(asked)}" if asked else own_path(request)


def _chosen(request: HttpRequest, cookie: str, known: tuple[str, ...]) -> str:
    """Return what the browser remembers, so that the first byte already has the right theme and clock."""
    value = request.COOKIES.get(cookie, "")
    return value if value in known else known[0]
