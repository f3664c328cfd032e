"""What people and programs see when a request leads nowhere."""

from __future__ import annotations

import re
import sys

from django.db import OperationalError
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.template.loader import get_template
from django.views.debug import SafeExceptionReporterFilter

from console.frame.errors import ActionRefused

API = "/api/"
RETRY_AFTER_S = 10
_HIDDEN = SafeExceptionReporterFilter.hidden_settings
_NO_PAGE = "There is no page at this address. What it showed may have been deleted or renamed."


class HiddenAddresses(SafeExceptionReporterFilter):
    """Leaves out of Django's page about an error (DEBUG) also the addresses that may hold a password."""

    hidden_settings = re.compile(
        f"{_HIDDEN.pattern}|DATABASE_URL|REDIS_URL|REGISTRIES", re.IGNORECASE
    )


def bad_request(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    """Answer 400."""
    return _answer(
        request,
        400,
        "bad_request",
        "That request makes no sense",
        "Something in the address or the form is malformed.",
    )


def permission_denied(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    """Answer 403 with the reason that the guard gave."""
    detail = str(exception or "") or "Your account may not do this."
    return _answer(request, 403, "permission_denied", "Not allowed", detail)


def refused(request: HttpRequest, refusal: ActionRefused) -> HttpResponse:
    """Answer 409 with the reason of an action that was not done."""
    return _answer(request, 409, refusal.code, "This was not done", refusal.message)


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    """Answer 403 when a form came from elsewhere, or from a page that was open for too long."""
    detail = (
        "The form is too old or came from another site. Go back, reload the page and send it again."
    )
    return _answer(request, 403, "csrf_failed", "The form was not accepted", detail)


def not_found(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    """Answer 404, with what the page said about what is missing."""
    is_said = type(exception) is Http404 and exception.args
    detail = str(exception) if is_said else _NO_PAGE
    return _answer(request, 404, "not_found", "Nothing is here", detail)


def server_error(request: HttpRequest) -> HttpResponse:
    """Answer 500 without asking the database or knowing the person: either may be what broke.

    A database that is away or locked is no mistake and passes: 503, with when to come again.
    """
    if isinstance(sys.exception(), OperationalError):
        return _database_is_busy(request)
    if request.path.startswith(API):
        detail = "crosslog made a mistake. Its log has the details at this moment."
        return JsonResponse({"code": "error", "detail": detail, "fields": {}}, status=500)
    return HttpResponse(get_template("errors/500.html").render(), status=500)


def _database_is_busy(request: HttpRequest) -> HttpResponse:
    detail = (
        "The database does not answer, or takes no writes, at this moment. Try it again soon; "
        "after a change, look first how much of it was made."
    )
    if request.path.startswith(API):
        content = {"code": "database_busy", "detail": detail, "fields": {}}
        answer: HttpResponse = JsonResponse(content, status=503)
    else:
        text = get_template("errors/503.html").render({"detail": detail})
        answer = HttpResponse(text, status=503)
    answer["Retry-After"] = str(RETRY_AFTER_S)
    return answer


def _answer(request: HttpRequest, status: int, code: str, title: str, detail: str) -> HttpResponse:
    if request.path.startswith(API):
        return JsonResponse({"code": code, "detail": detail, "fields": {}}, status=status)
    context = {"status": status, "title": title, "detail": detail}
    return render(request, "errors/_error.html", context, status=status)
