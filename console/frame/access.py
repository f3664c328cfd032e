"""Who may do what: the only place that decides it, for pages and API alike."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, Literal

from django.conf import settings
from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import resolve_url
from rest_framework.permissions import SAFE_METHODS, BasePermission
from rest_framework.request import Request

Action = Literal["view", "operate", "administer"]
Page = Callable[..., HttpResponseBase]

_LEVEL_OF_ROLE = {"viewer": 1, "operator": 2, "admin": 3}
_LEVEL_OF_ACTION: dict[Action, int] = {"view": 1, "operate": 2, "administer": 3}
_REFUSALS: dict[Action, str] = {
    "view": "Your account may not look at this page.",
    "operate": "This needs the role operator. Ask an administrator of crosslog for it.",
    "administer": "This needs the role admin. Ask an administrator of crosslog for it.",
}


def can(user: Any, action: Action) -> bool:
    """Say whether this person (or anonymous) may do this; an unknown role may do nothing."""
    if not getattr(user, "is_authenticated", False) or not user.is_active:
        return False
    level = 3 if user.is_superuser else _LEVEL_OF_ROLE.get(user.role, 0)
    return level >= _LEVEL_OF_ACTION[action]


def page(action: Action) -> Callable[[Page], Page]:
    """Guard a page function: anonymous people are sent to the login, others without the right get a 403."""

    def guard(view: Page) -> Page:
        @wraps(view)
        def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
            if not request.user.is_authenticated:
                return _ask_to_log_in(request)
            if not can(request.user, action):
                raise PermissionDenied(_REFUSALS[action])
            return view(request, *args, **kwargs)

        return guarded

    return guard


class Allowed(BasePermission):
    """DRF permission: reads need `view`, writes need `operate` unless the view says otherwise.

    A view overrides per DRF action or for all its writes:
    `access = {"write": "administer", "check": "operate"}`.
    """

    def has_permission(self, request: Request, view: Any) -> bool:
        """Decide by method, then by what the view declares."""
        action = action_of(view, request.method or "")
        self.message = _REFUSALS[action]
        return can(request.user, action)


def action_of(view: Any, method: str) -> Action:
    """Return what a request with this method to this API view needs."""
    declared: dict[str, Action] = getattr(view, "access", {})
    name = getattr(view, "action", None) or ""
    kind = "read" if method in SAFE_METHODS else "write"
    default: Action = "view" if kind == "read" else "operate"
    return declared.get(name) or declared.get(kind) or default


def _ask_to_log_in(request: HttpRequest) -> HttpResponseBase:
    if request.headers.get("HX-Request"):
        # A redirect would put the login form into a panel of the page.
        return HttpResponse(status=401, headers={"HX-Redirect": resolve_url(settings.LOGIN_URL)})
    return redirect_to_login(request.get_full_path())
