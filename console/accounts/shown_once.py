"""A new secret on its way from the form that made it to the page that shows it, once.

After a form the browser is sent on with a redirect, so that a reload makes no second secret. The server
keeps nothing: the secret travels in a signed cookie of this person and this page, for a minute at most.
"""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect

COOKIE = "crosslog_shown_once"
LASTS_S = 60


def redirect_with(request: HttpRequest, secret: str, page: str) -> HttpResponse:
    """Send the browser to `page`, which shows the secret."""
    response = redirect(page)
    response.set_signed_cookie(
        COOKIE,
        secret,
        salt=_salt(request, page),
        max_age=LASTS_S,
        path=page,
        httponly=True,
        secure=settings.SESSION_COOKIE_SECURE,
        samesite="Strict",
    )
    return _not_kept(response)


def take_secret(request: HttpRequest) -> str:
    """Return the secret that this page is to show; empty when there is none."""
    salt = _salt(request, request.path)
    return str(request.get_signed_cookie(COOKIE, "", salt=salt, max_age=LASTS_S))


def after_showing(request: HttpRequest, response: HttpResponse) -> HttpResponse:
    """Let the browser forget the secret, so that the next read of the page does not show it."""
    if COOKIE not in request.COOKIES:
        return response
    response.delete_cookie(COOKIE, path=request.path, samesite="Strict")
    return _not_kept(response)


def _salt(request: HttpRequest, page: str) -> str:
    user: Any = request.user
    return f"{COOKIE} {user.pk} {page}"


def _not_kept(response: HttpResponse) -> HttpResponse:
    response["Cache-Control"] = "no-store"
    return response
