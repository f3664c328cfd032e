"""What holds for every answer: headers against foreign code, and how the address of a page may be asked."""

from __future__ import annotations

from collections.abc import Callable
from http import HTTPStatus
from typing import Any

from django.http import HttpRequest, HttpResponseBase
from django.shortcuts import redirect
from django.urls import is_valid_path

from console.frame.pages.error_pages import API, bad_request

CONTENT_SECURITY_POLICY = "; ".join(
    [
        "default-src 'self'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data:",
        "object-src 'none'",
        "base-uri 'none'",
        "form-action 'self'",
        "frame-ancestors 'none'",
    ]
)
PERMISSIONS_POLICY = "camera=(), geolocation=(), microphone=(), payment=(), usb=()"


class SecurityHeaders:
    """Set the content security policy and its companions on every answer that has none of its own.

    Static files do not come by here.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Answer the request, then add the headers."""
        response = self.get_response(request)
        response.headers.setdefault("Content-Security-Policy", CONTENT_SECURITY_POLICY)
        response.headers.setdefault("Permissions-Policy", PERMISSIONS_POLICY)
        # The next person at this browser, and a proxy, must find no page of the last one.
        response.headers.setdefault("Cache-Control", "no-store")
        return response


class PageMethods:
    """Let every page answer HEAD as GET, and redirect a GET of an action to the page above it.

    A refused confirmation is shown at the address of its action; a reload of it, a bookmark or the return
    from the sign-in sends GET there. The API keeps its 405.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Answer the request; the server sends no body for HEAD."""
        asked = request.method
        if asked not in {"GET", "HEAD"} or request.path.startswith(API):
            return self.get_response(request)
        request.method = "GET"
        response = self.get_response(request)
        request.method = asked
        if response.status_code != HTTPStatus.METHOD_NOT_ALLOWED:
            return response
        return redirect(page_above(request.path))

    def process_view(
        self, request: HttpRequest, view: Any, args: Any, kwargs: Any
    ) -> HttpResponseBase | None:
        """Refuse an address with a NUL: nothing has such a name, and PostgreSQL refuses to look for it.

        The API names the parameter.
        """
        if request.path.startswith(API):
            return None
        is_odd = "\0" in request.path or "%00" in request.META.get("QUERY_STRING", "")
        return bad_request(request) if is_odd else None


def page_above(path: str) -> str:
    """Return the nearest address above `path` that exists: the address of an action is below its page."""
    above = path.rstrip("/")
    while above:
        above = above.rpartition("/")[0]
        if is_valid_path(f"{above}/"):
            break
    return f"{above}/"
