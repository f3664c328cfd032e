"""Who asks at this moment: the request that the current thread answers, its name and its address."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponseBase

from console.frame.errors import ActionRefused
from console.frame.pages.error_pages import refused
from jobs.cluster.errors import InvalidFields

REQUEST_ID = "X-Request-ID"
_current: ContextVar[HttpRequest | None] = ContextVar("request", default=None)


def current_request() -> HttpRequest | None:
    """Return the request that is being answered; None in a background task or a command."""
    return _current.get()


def current_username() -> str:
    """Return the name of the person who asks; empty in a background task or a command."""
    user: Any = getattr(current_request(), "user", None)
    return user.get_username() if user is not None and user.pk else ""


def request_id_of(request: HttpRequest | None) -> str:
    """Return the id of a request: X-Request-ID of its answer, and in the audit trail."""
    return str(getattr(request, "request_id", ""))


def address_of(request: HttpRequest | None) -> str:
    """Return the address that the request came from, as the outermost trusted proxy saw it.

    Each of TRUSTED_PROXIES proxies adds one entry at the end of X-Forwarded-For; entries
    before those were written by the client and are ignored.
    """
    if request is None:
        return ""
    seen = [part.strip() for part in request.META.get("HTTP_X_FORWARDED_FOR", "").split(",")]
    trusted = settings.TRUSTED_PROXIES
    if trusted and len(seen) >= trusted and seen[-trusted]:
        return str(seen[-trusted])[:64]
    return str(request.META.get("REMOTE_ADDR", ""))[:64]


class CurrentRequestMiddleware:
    """Give every request a name of its own and make it known while it is answered."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        request.request_id = uuid.uuid4().hex  # type: ignore[attr-defined]  # ours
        token = _current.set(request)
        try:
            response = self.get_response(request)
        finally:
            _current.reset(token)
        response.headers[REQUEST_ID] = request_id_of(request)
        return response

    def process_exception(
        self, request: HttpRequest, exception: Exception
    ) -> HttpResponseBase | None:
        """Say an action's refusal, or unusable settings, that a page did not say by itself."""
        if isinstance(exception, InvalidFields):
            exception = ActionRefused("invalid_settings", f"Settings are not usable: {exception}")
        return refused(request, exception) if isinstance(exception, ActionRefused) else None
