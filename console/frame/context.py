"""What every template knows: the rail, the theme, the version."""

from __future__ import annotations

from functools import partial
from typing import Any

from django.http import HttpRequest
from django.utils import timezone

from console.frame.access import can
from console.frame.navigation import list_places, list_switches
from jobs.version import VERSION

THEMES = ("auto", "light", "dark")
CLOCKS = ("utc", "local")


def frame(request: HttpRequest) -> dict[str, Any]:
    """Return the frame's part of the context; a query only where the template asks for `switches`."""
    user = getattr(request, "user", None)
    return {
        "places": list_places(request),
        # Asked only by pages that have the rail.
        "switches": partial(list_switches, request),
        "theme": _chosen(request, "theme", THEMES),
        "clock": _chosen(request, "clock", CLOCKS),
        "version": VERSION,
        "now": timezone.now(),
        "can_operate": can(user, "operate"),
        "can_administer": can(user, "administer"),
    }


def _chosen(request: HttpRequest, cookie: str, known: tuple[str, ...]) -> str:
    """Return what the browser remembers, so that the first byte already has the right theme and clock."""
    value = request.COOKIES.get(cookie, "")
    return value if value in known else known[0]
