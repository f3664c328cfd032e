"""How long a session lives: not longer than SESSION_HOURS, nor SESSION_IDLE_MIN without use."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from django.conf import settings
from django.contrib.auth import logout
from django.contrib.sessions.backends.base import UpdateError
from django.http import HttpRequest, HttpResponseBase

from console.frame.brief_writes import write_or_leave

BEGAN, USED = "began_at_s", "used_at_s"
# A write for each request would cost more than the minute that this may be wrong.
WRITE_EVERY_S = 60


class SessionLimits:
    """End sessions that are too old or were not used.

    A page that refreshes itself in the background is not use: otherwise a forgotten screen would
    keep its session for ever.
    """

    def __init__(
        self,
        get_response: Callable[[HttpRequest], HttpResponseBase],
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.get_response = get_response
        self._clock = clock

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Look at the session, then answer."""
        if settings.SESSION_COOKIE_NAME in request.COOKIES and request.user.is_authenticated:
            self._check(request)
        return self.get_response(request)

    def _check(self, request: HttpRequest) -> None:
        now, session = int(self._clock()), request.session
        began, used = session.get(BEGAN, 0), session.get(USED, 0)
        is_old = now - began > settings.SESSION_HOURS * 3600
        if is_old or now - used > settings.SESSION_IDLE_MIN * 60:
            logout(request)
        elif now - used > WRITE_EVERY_S and not _is_refresh(request):
            session[USED] = now
            # A session that ended meanwhile stays modified: Django's own middleware says what that means.
            with suppress(UpdateError):
                write_or_leave("when a session was last used", session.save)
                # Saved or not: the answer does not wait for it again.
                session.modified = False


def begin(request: HttpRequest, clock: Callable[[], float] = time.time, **_: Any) -> None:
    """Begin a session's time; Django calls this at every sign-in."""
    request.session[BEGAN] = request.session[USED] = int(clock())


def _is_refresh(request: HttpRequest) -> bool:
    """Say whether the page asked by itself (static/js/refresh.js), and not its reader."""
    return (
        request.headers.get("HX-Target") == "live" and request.headers.get("HX-Trigger") == "live"
    )
