"""A visitor of the running console: logs in over HTTP and uses pages and API, as a browser does."""

from __future__ import annotations

import json
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Mapping
from http.cookiejar import CookieJar
from typing import Any

TIMEOUT_S = 30.0
NOT_FOUND = 404


class Refused(Exception):
    """The console said no; `status` is HTTP's, the message what it said."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class DemoClient:
    """One session at one console; `url` ends with a slash."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._cookies = CookieJar()
        self._opener = urllib.request.build_opener(
            urllib.request.ProxyHandler({}), urllib.request.HTTPCookieProcessor(self._cookies)
        )

    def log_in(self, username: str, password: str) -> None:
        """Log in through the login form; raises `Refused` when the console does not accept it."""
        with self._open(urllib.request.Request(self.url)) as page:  # noqa: S310  our own http://
            login = page.geturl()
        form = {"username": username, "password": password, "csrfmiddlewaretoken": self._csrf()}
        body = urllib.parse.urlencode(form).encode()
        request = urllib.request.Request(login, body, {"Referer": login})  # noqa: S310  the same
        with self._open(request) as page:
            if page.geturl() == login:
                raise Refused(page.status, f"The console did not accept the login {username}.")

    def get(self, path: str) -> Any:
        """Return the JSON of an API route."""
        return self._ask(path, None, "GET")

    def post(self, path: str, values: Mapping[str, object] | None = None) -> Any:
        """Post JSON to an API route and return its answer."""
        return self._ask(path, dict(values or {}), "POST")

    def patch(self, path: str, values: Mapping[str, object]) -> Any:
        """Change an object of an API route and return its answer."""
        return self._ask(path, dict(values), "PATCH")

    def page(self, path: str) -> str:
        """Return a page's HTML."""
        request = urllib.request.Request(urllib.parse.urljoin(self.url, path))  # noqa: S310  the same
        with self._open(request) as answer:
            return str(answer.read().decode("utf-8"))

    def _ask(self, path: str, values: Mapping[str, object] | None, method: str) -> Any:
        headers = {"Accept": "application/json", "Referer": self.url}
        body = None
        if values is not None:
            headers |= {"Content-Type": "application/json", "X-CSRFToken": self._csrf()}
            body = json.dumps(values).encode()
        url = urllib.parse.urljoin(self.url, path)
        request = urllib.request.Request(url, body, headers, method=method)  # noqa: S310  the same
        with self._open(request) as answer:
            return json.load(answer)

    def _open(self, request: urllib.request.Request) -> Any:
        try:
            return self._opener.open(request, timeout=TIMEOUT_S)
        except urllib.error.HTTPError as error:
            raise Refused(error.code, _sentence(error)) from None

    def _csrf(self) -> str:
        found = [cookie.value for cookie in self._cookies if "csrf" in cookie.name]
        return found[0] or "" if found else ""


def _sentence(error: urllib.error.HTTPError) -> str:
    """Return what the API says of an error, else HTTP's own words."""
    text = error.read().decode("utf-8", errors="replace")
    try:
        answer = json.loads(text)
    except ValueError:
        return f"{error.code} {error.reason} at {error.url}"
    fields = answer.get("fields") or {}
    told = "; ".join(f"{name}: {' '.join(texts)}" for name, texts in fields.items())
    return f"{answer.get('detail', error.reason)} {told}".strip()
