"""Lets libraries that speak through a `requests` session call out only through the guard."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import requests
from requests.adapters import BaseAdapter
from requests.structures import CaseInsensitiveDict

from console.frame.security.outbound import Outbound


class GuardedAdapter(BaseAdapter):
    """Sends a prepared request through `Outbound`; mount it for both `http://` and `https://`."""

    def __init__(self, guard: Outbound) -> None:
        super().__init__()
        self.guard = guard

    def send(
        self,
        request: requests.PreparedRequest,
        stream: bool = False,  # noqa: FBT001, FBT002  the signature of requests
        timeout: Any = None,
        verify: bool | str = True,  # noqa: FBT001, FBT002  the same
        cert: Any = None,
        proxies: Mapping[str, str] | None = None,
    ) -> requests.Response:
        """Return the answer; the guard's own limits and trust count, not the session's."""
        body = request.body.encode() if isinstance(request.body, str) else request.body
        if body is not None and not isinstance(body, bytes):
            raise TypeError("only bodies that are complete can be sent")
        answer = self.guard.call(
            request.method or "GET",
            request.url or "",
            headers={name: str(value) for name, value in request.headers.items()}
            | {"Accept-Encoding": "identity"},
            body=body,
        )
        response = requests.Response()
        response.status_code = answer.status
        response.headers = CaseInsensitiveDict(answer.headers)
        response._content = answer.body  # noqa: SLF001  requests has no other door for a complete body
        response.url = request.url or ""
        response.request = request
        response.encoding = "utf-8"
        return response

    def close(self) -> None:
        """Nothing is kept open."""


def guarded_session(session: requests.Session, guard: Outbound) -> requests.Session:
    """Send all calls of a session through the guard, without proxies, and without redirects."""
    for prefix in list(session.adapters):
        del session.adapters[prefix]
    adapter = GuardedAdapter(guard)
    session.mount("https://", adapter)
    session.mount("http://", adapter)
    session.trust_env = False
    session.max_redirects = 0
    return session
